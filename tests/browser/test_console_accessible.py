"""Settings and Tools for everybody: axe on every page and every dialog, in both themes and at three widths. No page shifts while
it loads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page, expect

from hibernaut.schemas.access.api_key import CreateApiKey
from tests.browser.console import Served, Visit, serving, visiting
from tests.support.json_server import JsonServer
from tests.support.oauth_server import OAuthDouble
from tests.support.raw_mcp import RawMcp

LARGEST_SHIFT = 0.01
"""The sum of layout shifts of a page: a tenth of what is called good."""
WIDTHS = {"wide": 1440, "tablet": 768, "phone": 360}
LOOKS = [("light", "wide"), ("light", "phone"), ("dark", "tablet"), ("dark", "phone")]
"""Each theme and each width at least once: colours do not depend on the width."""
WHOLE = (("light", "wide"), ("light", "phone"))
"""Where axe checks all; elsewhere it checks what depends on colours and sizes."""
SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) {
    if (!one.hadRecentInput) window.shifts.push([one.value, ...one.sources.map((source) => source.node?.outerHTML?.slice(0, 120) ?? "")]);
  }
}).observe({ type: "layout-shift", buffered: true });
"""


class Place(NamedTuple):
    """A page, and what it shows when it is complete: a role and a name."""

    address: str
    role: str
    name: str


PLACES = (
    Place("settings/models", "region", "Table of language models"),
    Place("settings/keys", "button", "Replace admin"),
    Place("settings/budgets", "article", "Budget of tenant"),
    Place("settings/usage", "region", "By model"),
    Place("settings/policies", "heading", "No deletions"),
    Place("settings/identities", "article", "Identity Ann"),
    Place("settings/audit", "region", "Records"),
    Place("tools", "link", "memory_insert"),
    Place("tools/new", "region", "Schema"),
    Place("tools/servers", "article", "MCP server birds"),
)
OF_AN_AGENT = (
    Place("home", "link", "Guide"),
    Place("agents/{agent}/memory", "region", "Archival memory"),
    Place("agents/{agent}/context", "region", "Parts of the window"),
    Place("agents/{agent}/runs", "heading", "Runs"),
)
DIALOGS = (
    ("settings/models", "Add a provider"),
    ("settings/models", "Replace the key"),
    ("settings/models", "Delete this provider"),
    ("settings/keys", "New key"),
    ("settings/keys", "Replace admin"),
    ("settings/keys", "Revoke admin"),
    ("settings/budgets", "Set a budget"),
    ("settings/budgets", "Change"),
    ("settings/policies", "New policy"),
    ("settings/policies", "Change"),
    ("settings/policies", "Test"),
    ("settings/policies", "Delete the policy No deletions"),
    ("settings/identities", "New identity"),
    ("settings/identities", "Erase this person"),
    ("settings/identities", "Delete this identity"),
    ("tools/servers", "Add a server"),
    ("tools/servers", "Change"),
    ("tools/servers", "Delete this server"),
)


class Furnished(NamedTuple):
    """A server with something on every page, the key of its administrator, and its agent."""

    served: Served
    secret: str
    agent: str


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Furnished]:
    with ExitStack() as stack:
        served = stack.enter_context(serving(tmp_path_factory.mktemp("data")))
        lab = stack.enter_context(JsonServer(lambda *_: (200, {"data": [{"id": "mine-1"}]})))
        birds = stack.enter_context(
            RawMcp(lambda asked: asked.result({"tools": [{"name": "wingspan", "inputSchema": {"type": "object"}}]}))
        )
        words = stack.enter_context(OAuthDouble())
        ann = served.post("identities/", {"name": "Ann", "identifier_key": "user-4711", "identity_type": "user"})["id"]
        agent = served.agent("Guide", identity_ids=[ann])
        served.say(agent, "Please remember that my dog is called Rex.")
        served.post(
            "tool-policies",
            {
                "name": "No deletions",
                "action": "deny",
                "tools": ["delete_*"],
                "message": "Ask Ann.",
                "arguments": [{"path": "file.name", "matches": ["*.txt"]}],
            },
        )
        served.post("providers/", {"name": "lab", "provider_type": "openai", "api_key": "k", "base_url": lab.address})
        for name, url in (("birds", birds.url), ("words", words.url)):
            served.post(
                "mcp-servers/", {"server_name": name, "config": {"mcp_server_type": "streamable_http", "server_url": url}}
            )
        keys = served.house.access.keys_of("default")
        made = keys.create(CreateApiKey.model_validate({"scope": "admin", "name": "admin"}))
        signed = {"authorization": f"Bearer {made.key}"}
        limits = {"tokens_per_day": 1000, "steps_per_month": 100, "concurrent_runs": 4}
        assert served.http.put("/v1/budgets/tenant", json=limits, headers=signed).status_code == 200
        yield Furnished(served, made.key, agent)


def arrive(page: Page, place: Place) -> None:
    """Go to a page by its address, and wait until it is complete."""
    page.evaluate("(address) => { location.hash = '#/' + address; }", place.address)
    expect(page.get_by_role(place.role, name=place.name).first).to_be_visible()  # type: ignore[arg-type]
    expect(page.get_by_text("adding up …")).to_have_count(0)
    expect(page.locator(".loading")).to_have_count(0)


def signed_in(visit: Visit, furnished: Furnished) -> Page:
    page = visit.open("#/home")
    page.get_by_label("API key").fill(furnished.secret)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("link", name="Guide")).to_be_visible()
    return page


def too_wide(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_every_page_and_dialog_of_settings_and_tools_is_accessible(
    chromium: Browser, furnished: Furnished, theme: str, width: str
) -> None:
    size = {"width": WIDTHS[width], "height": 800}
    by_looks = (theme, width) not in WHOLE
    found: dict[str, list[str]] = {}
    with visiting(chromium, furnished.served.url, color_scheme=theme, viewport=size) as visit:
        page = signed_in(visit, furnished)
        for place in PLACES:
            arrive(page, place)
            found[place.address] = visit.violations(by_looks=by_looks) + ["wider than the screen"] * too_wide(page)
            for _, opener in (each for each in DIALOGS if each[0] == place.address):
                page.get_by_role("button", name=opener, exact=True).first.click()
                dialog = page.get_by_role("dialog")
                dialog.wait_for()
                expect(dialog.locator(".loading")).to_have_count(0)
                found[f"{place.address}: {opener}"] = visit.violations(by_looks=by_looks)
                page.keyboard.press("Escape")
                expect(dialog).to_have_count(0)
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.parametrize(("theme", "width"), [("light", "wide"), ("dark", "phone")])
def test_what_opens_within_a_page_is_accessible(chromium: Browser, furnished: Furnished, theme: str, width: str) -> None:
    size = {"width": WIDTHS[width], "height": 800}
    found: list[str] = []
    with visiting(chromium, furnished.served.url, color_scheme=theme, viewport=size) as visit:
        page = signed_in(visit, furnished)
        arrive(page, Place("settings/audit", "region", "Records"))
        page.get_by_role("button", name="Verify all").click()
        page.get_by_role("link", name="Save the newest hashes").wait_for()
        page.get_by_role("button", name=re.compile("^Show changes of block")).first.click()
        page.get_by_role("list", name=re.compile("^Changes of block")).wait_for()
        found += visit.violations()
        arrive(page, Place("settings/identities", "article", "Identity Ann"))
        page.get_by_role("button", name="Its agents").first.click()
        page.get_by_role("list", name="Agents of Ann").wait_for()
        found += visit.violations()
        arrive(page, Place("tools/servers", "article", "MCP server birds"))
        birds = page.get_by_role("article", name="MCP server birds")
        birds.get_by_role("button", name="Show its tools").click()
        birds.get_by_role("link", name="wingspan").wait_for()
        found += visit.violations()
        words = page.get_by_role("article", name="MCP server words")
        words.get_by_role("button", name="Test the connection").click()
        words.get_by_role("alert").wait_for()
        found += visit.violations()
        words.get_by_role("button", name="Authorize").click()
        page.get_by_role("dialog").get_by_role("link", name="Open the page of").wait_for()
        found += visit.violations()
    assert found == []


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_shifts_while_it_loads(chromium: Browser, furnished: Furnished, width: str) -> None:
    size = {"width": WIDTHS[width], "height": 800}
    with visiting(chromium, furnished.served.url, viewport=size) as visit:
        page = signed_in(visit, furnished)
        page.add_init_script(SHIFTS)
        shifts = {}
        for place in (*PLACES, *OF_AN_AGENT):
            page.goto("about:blank")
            address = place.address.format(agent=furnished.agent)
            visit.open(f"#/{address}")
            arrive(page, place._replace(address=address))
            shifts[place.address] = page.evaluate(
                "new Promise((told) => requestAnimationFrame(() => setTimeout(() => told(shifts), 0)))"
            )
    assert {name: told for name, told in shifts.items() if sum(one[0] for one in told) > LARGEST_SHIFT} == {}


def test_both_themes_have_their_own_colours_whatever_the_system_says(chromium: Browser, furnished: Furnished) -> None:
    def colours(page: Page) -> list[str]:
        found: list[str] = page.evaluate(
            "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
        )
        return found

    seen: dict[str, list[str]] = {}
    for theme in ("light", "dark"):
        with visiting(chromium, furnished.served.url, color_scheme=theme) as visit:
            page = signed_in(visit, furnished)
            seen[theme] = colours(page)
            page.get_by_role("button", name=re.compile("theme|[Ll]ight|[Dd]ark")).first.click()
            seen[f"not {theme}"] = colours(page)
    assert seen["light"] != seen["dark"]
    assert (seen["not light"], seen["not dark"]) == (seen["dark"], seen["light"])
