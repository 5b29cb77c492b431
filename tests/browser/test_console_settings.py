"""The console's Settings and MCP servers in a real browser: the audit log, identities and erasures, keys, providers, budgets, and
OAuth.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from hibernaut.ports.storage.table import Delete
from hibernaut.schemas.access.api_key import CreateApiKey
from tests.browser.console import Served, Visit, picture, serving, visiting
from tests.support.json_server import JsonServer
from tests.support.oauth_server import OAuthDouble
from tests.support.raw_mcp import RawExchange, RawMcp

HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
LIMIT = 8000
"""Tokens a day."""
ADMIN = CreateApiKey.model_validate({"scope": "admin", "name": "admin"})


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path / "data") as house:
        yield house


def sign_in(visit: Visit, secret: str, place: str) -> Page:
    """Open a place of a server with keys."""
    page = visit.open(place)
    page.get_by_label("API key").fill(secret)
    page.get_by_role("button", name="Continue").click()
    return page


def verify(page: Page) -> None:
    """Verify all chains, and wait until the last page is checked."""
    with page.expect_response(lambda answer: "limit=100" in answer.url and answer.json()["next"] is None):
        page.get_by_role("button", name="Verify all").click()


def test_the_audit_log_shows_who_changed_what_and_names_a_broken_chain(visit: Visit, served: Served) -> None:
    agent = served.agent("Garden guide")
    served.say(agent, "Please remember that my dog is called Rex.")
    passage = served.post(f"agents/{agent}/archival-memory", {"text": "The spare key hangs behind the clock."})[0]
    block = served.block(agent)["id"]
    page = visit.open("#/settings/audit")
    records = page.get_by_role("region", name="Records")
    page.get_by_role("button", name=f"Changes of {block}").click()
    changes = page.get_by_role("list", name=f"Changes of {block}")
    expect(changes.get_by_role("listitem").first).to_contain_text("memory_insert")
    expect(changes.get_by_role("listitem").last).to_contain_text("1 created")
    picture(page, "audit", of=records)
    page.get_by_role("button", name=f"Changes of {passage['id']}").click()
    expect(page.get_by_role("list", name=f"Changes of {passage['id']}")).to_contain_text("by a request without a key")
    count = records.get_by_role("button").count()
    verify(page)
    expect(page.get_by_text(f"All {count} chains hold.")).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("link", name="Save the newest hashes").click()
    heads = {one["subject"]: one for one in json.loads(saved.value.path().read_text())}
    assert len(heads) == count
    assert heads[block] == {
        "kind": "block",
        "subject": block,
        "version": 2,
        "hash": served.get(f"blocks/{block}/versions")[0]["hash"],
    }
    served.house.table.write(Delete(served.house.stores.of("default").blocks.history(block).key(2)))
    verify(page)
    expect(page.get_by_text(f"1 of {count} chains are broken.")).to_be_visible()
    expect(page.get_by_role("region", name="Broken chains").get_by_role("row").last).to_contain_text(
        "version 2: the record names"
    )


def test_an_audit_of_several_pages_goes_through_all_of_them(visit: Visit, served: Served) -> None:
    for number in range(52):
        served.post("blocks/", {"label": "notes", "value": str(number)})
    page = visit.open("#/settings/audit")
    rows = page.get_by_role("region", name="Records").locator("tbody")
    expect(rows).to_have_count(50)
    page.get_by_role("button", name="More records").click()
    expect(rows).to_have_count(52)
    expect(page.get_by_role("button", name="More records")).to_have_count(0)


def test_an_identity_is_made_attached_and_erased_after_a_look_at_what_goes(visit: Visit, served: Served) -> None:
    own, shared = served.agent("Guide of Ann"), served.agent("Guide of both")
    bob = served.post("identities/", {"name": "Bob", "identifier_key": "user-2", "identity_type": "user"})["id"]
    served.http.patch(f"/v1/agents/{shared}/identities/attach/{bob}")
    page = visit.open("#/settings/identities")
    page.get_by_role("button", name="New identity").click()
    page.get_by_role("textbox", name="Name").fill("Ann")
    page.get_by_role("textbox", name="Its key in your application").fill("user-4711")
    page.get_by_role("button", name="Create", exact=True).click()
    card = page.get_by_role("article", name="Identity Ann")
    card.get_by_role("button", name="Its agents").click()
    agents = card.get_by_role("list", name="Agents of Ann")
    for agent, name in ((own, "Guide of Ann"), (shared, "Guide of both")):
        card.get_by_role("combobox", name="Attach an agent").fill(agent)
        card.get_by_role("button", name="Attach").click()
        expect(agents.get_by_role("link", name=name)).to_be_visible()
    [ann] = served.get("identities/?identifier_key=user-4711")
    assert sorted(ann["agent_ids"]) == sorted([own, shared])
    agents.get_by_role("button", name="Detach Guide of both").click()
    expect(agents.get_by_role("link", name="Guide of both")).to_have_count(0)
    assert served.get(f"agents/{shared}")["identity_ids"] == [bob]
    served.http.patch(f"/v1/agents/{shared}/identities/attach/{ann['id']}")
    card.get_by_role("button", name="Erase this person").click()
    dialog = page.get_by_role("dialog", name="Erase Ann?")
    expect(dialog.get_by_role("listitem").filter(has_text="Guide of Ann")).to_contain_text("whole")
    expect(dialog.get_by_role("listitem").filter(has_text="Guide of both")).to_contain_text("in parts")
    erase = dialog.get_by_role("button", name="Erase for good")
    expect(erase).to_be_disabled()
    picture(page, "identities", height=640, of=dialog)
    dialog.get_by_role("textbox").fill("user-4711")
    erase.click()
    expect(card).to_have_count(0)
    expect(page.get_by_role("article", name="Identity Bob")).to_be_visible()
    assert served.http.get(f"/v1/agents/{shared}").status_code == 200
    receipt = page.get_by_role("article", name="Erasure")
    expect(receipt).to_contain_text(re.compile("erased"))
    receipt.get_by_role("button", name="Receipt").click()
    expect(receipt.get_by_role("list", name="Receipt")).to_contain_text(own)


def test_a_key_is_replaced_and_the_old_one_ends_as_it_was_said(chromium: Browser, served: Served) -> None:
    keys = served.house.access.keys_of("default")
    secret = keys.create(ADMIN).key
    with visiting(chromium, served.url) as visit:
        phone = keys.create(CreateApiKey.model_validate({"scope": "write", "name": "phone"})).key
        page = sign_in(visit, secret, "#/settings/keys")
        page.get_by_role("button", name="Replace phone").click()
        dialog = page.get_by_role("dialog", name="Replace the key phone")
        expect(dialog.get_by_role("switch")).to_have_count(0)
        dialog.get_by_role("combobox", name="The old key still works for").select_option("no time at all")
        dialog.get_by_role("button", name="Replace", exact=True).click()
        fresh = page.get_by_role("dialog", name="Your new key").locator("code").inner_text()
        page.get_by_role("button", name="I have it").click()

        def status(key: str) -> int:
            return served.http.get("/v1/agents/", headers={"authorization": f"Bearer {key}"}).status_code

        assert (status(phone), status(fresh)) == (401, 200)
        page.get_by_role("button", name="Replace admin").click()
        dialog = page.get_by_role("dialog", name="Replace the key admin")
        expect(dialog.get_by_role("switch", name="This tab goes on with the new key")).to_be_checked()
        dialog.get_by_role("combobox").select_option("no time at all")
        dialog.get_by_role("button", name="Replace", exact=True).click()
        page.get_by_role("button", name="I have it").click()
        expect(page.get_by_role("row").filter(has_text="expired")).to_have_count(2)
        assert status(secret) == 401
        page.reload()
        expect(page.get_by_role("heading", name="API keys")).to_be_visible()
        expect(page.get_by_role("row").filter(has_text="in use")).to_have_count(2)


def test_a_providers_key_is_replaced_by_one_that_it_takes(visit: Visit, served: Served) -> None:
    taken = {"planted-old", "planted-new"}

    def answer(_path: str, headers: Mapping[str, str], _body: bytes) -> tuple[int, Any]:
        good = headers.get("authorization", "").removeprefix("Bearer ") in taken
        return (200, {"data": [{"id": "mine-1"}]}) if good else (401, {"error": {"message": "no such key"}})

    with closing(JsonServer(answer)) as lab:
        served.post("providers/", {"name": "lab", "provider_type": "openai", "api_key": "planted-old", "base_url": lab.address})
        page = visit.open("#/settings")
        card = page.get_by_role("article", name="Provider lab")
        taken.discard("planted-old")
        card.get_by_role("button", name="Check the key").click()
        expect(card.get_by_role("alert")).to_be_visible()
        card.get_by_role("button", name="Replace the key").click()
        dialog = page.get_by_role("dialog", name="Replace the key of lab")
        dialog.get_by_label("New key", exact=True).fill("planted-wrong")
        dialog.get_by_role("button", name="Replace", exact=True).click()
        expect(dialog.get_by_role("alert")).to_contain_text("POST /v1/providers/check")
        dialog.get_by_label("New key", exact=True).fill("planted-new")
        dialog.get_by_role("button", name="Replace", exact=True).click()
        expect(dialog).to_have_count(0)
        expect(card.get_by_role("alert")).to_have_count(0)
        card.get_by_role("button", name="Check the key").click()
        expect(card.get_by_text("Valid api key")).to_be_visible()
        assert "planted" not in page.content()


def test_a_budget_shows_its_days_beside_its_limit(chromium: Browser, served: Served) -> None:
    keys = served.house.access.keys_of("default")
    agent, idle = served.agent("Spender"), served.agent("Idle")
    secret = keys.create(ADMIN).key
    signed = {"authorization": f"Bearer {secret}"}
    for subject, limits in (("tenant", {"tokens_per_day": LIMIT, "steps_per_month": 100}), (idle, {"steps_per_day": 9})):
        assert served.http.put(f"/v1/budgets/{subject}", json=limits, headers=signed).status_code == 200
    said = {"input": "Please remember that my dog is called Rex."}
    assert served.http.post(f"/v1/agents/{agent}/messages", json=said, headers=signed).is_success
    used = served.http.get("/v1/usage", headers=signed).json()["total"]
    with visiting(chromium, served.url) as visit:
        page = sign_in(visit, secret, "#/settings/budgets")
        card = page.get_by_role("article", name="Budget of tenant")
        tokens = card.locator("figure").filter(has_text="Tokens by day")
        expect(tokens).to_contain_text(f"highest: {used['total_tokens']:,}, limit: {LIMIT:,}")
        expect(tokens.locator("rect.over")).to_have_count(int(used["total_tokens"] >= LIMIT))
        expect(tokens.locator("line.limit")).to_have_count(1)
        month = card.locator("figure").filter(has_text="Model calls this month")
        expect(month).to_contain_text(f"highest: {used['steps']}, limit: 100")
        picture(page, "budgets", height=720, of=page.locator("li.card").first)
        other = page.get_by_role("article", name=f"Budget of {idle}")
        other.get_by_text("Day by day").click()
        expect(other.locator("figure")).to_contain_text("highest: 0, limit: 9")


def policies(served: Served) -> list[tuple[str, bool]]:
    """The stored policies in their order: each with its name, and whether it is switched on."""
    return [(one["name"], one["enabled"]) for one in served.get("tool-policies")]


def test_a_tool_policy_is_made_changed_ordered_tested_and_deleted(visit: Visit, served: Served) -> None:
    page = visit.open("#/settings/policies")
    expect(page.get_by_text("There is no policy")).to_be_visible()
    dialog, add = page.get_by_role("dialog"), page.get_by_role("button", name="New policy")
    add.click()
    dialog.get_by_role("textbox", name="Name", exact=True).fill(HOSTILE)
    dialog.get_by_role("button", name="Make").click()
    expect(dialog.get_by_role("alert")).to_contain_text("POST /v1/tool-policies · status 422")
    dialog.get_by_role("textbox", name="Name", exact=True).fill("No other page")
    dialog.get_by_role("textbox", name="Tools").fill("fetch_webpage")
    dialog.get_by_role("textbox", name="What the model reads").fill("Read our wiki instead.")
    dialog.get_by_role("button", name="Make").click()
    other = page.get_by_role("article", name="Policy No other page")
    expect(other).to_contain_text("The model reads: Read our wiki instead.")
    add.click()
    dialog.get_by_role("textbox", name="Name", exact=True).fill("Our wiki")
    dialog.get_by_role("radio", name="allows").check()
    dialog.get_by_role("textbox", name="Tools").fill("fetch_*\nrun_code")
    dialog.get_by_role("textbox", name="Only of agents").fill("support")
    dialog.get_by_role("button", name="Add a condition").click()
    condition = dialog.get_by_role("group", name="Condition 1")
    condition.get_by_role("textbox", name="Argument").fill("url")
    condition.get_by_role("textbox", name="One of these values").fill("https://wiki.example.com/*")
    condition.get_by_role("checkbox").check()
    dialog.get_by_role("checkbox", name="Without an approval").check()
    dialog.get_by_role("spinbutton", name="At most so many calls").fill("10")
    dialog.get_by_role("button", name="Make").click()
    wiki = page.get_by_role("article", name="Policy Our wiki")
    expect(wiki).to_contain_text("at most 10 in 3600 s for each key")
    stored = served.get("tool-policies")[1]
    url = {"path": "url", "matches": ["https://wiki.example.com/*"], "negate": False, "ignore_case": True}
    assert (stored["tools"], stored["agent_tags"], stored["arguments"]) == (["fetch_*", "run_code"], ["support"], [url])
    assert (stored["waives_approval"], stored["rate"]) == (True, {"calls": 10, "seconds": 3600, "per": "key"})
    page.get_by_role("button", name="Compare Our wiki earlier").click()
    expect(page.get_by_role("article").first).to_have_attribute("aria-label", "Policy Our wiki")
    assert policies(served) == [("Our wiki", True), ("No other page", True)]
    expect(page.locator(".toast.hidden")).to_have_count(1)
    picture(page, "policies", height=620)
    page.get_by_role("button", name="Test").click()
    dialog.get_by_role("textbox", name="Tool", exact=True).fill("fetch_webpage")
    dialog.get_by_role("textbox", name="Arguments").fill("{url")
    dialog.get_by_role("button", name="Test").click()
    expect(dialog.get_by_role("alert")).to_contain_text("The arguments are no JSON")
    dialog.get_by_role("textbox", name="Arguments").fill('{"url": "https://example.org"}')
    dialog.get_by_role("button", name="Test").click()
    expect(dialog.get_by_role("status")).to_contain_text("The call is denied by No other page.")
    expect(dialog.get_by_role("status").get_by_role("listitem")).to_contain_text("Our wiki")
    dialog.get_by_role("button", name="Close", exact=True).last.click()
    other.get_by_role("button", name="Switch off").click()
    expect(other).to_contain_text("switched off")
    assert policies(served) == [("Our wiki", True), ("No other page", False)]
    wiki.get_by_role("button", name="Change").click()
    expect(dialog.get_by_role("textbox", name="One of these values")).to_have_value("https://wiki.example.com/*")
    dialog.get_by_role("button", name="Take condition 1 out").click()
    dialog.get_by_role("radio", name="asks a person").check()
    dialog.get_by_role("button", name="Save").click()
    expect(wiki).to_contain_text("asks a person")
    stored = served.get("tool-policies")[0]
    assert (stored["action"], stored["arguments"], stored["rate"], stored["waives_approval"]) == ("ask", [], None, False)
    assert (stored["tools"], stored["agent_tags"]) == (["fetch_*", "run_code"], ["support"])
    page.get_by_role("button", name="Delete the policy Our wiki").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(wiki).to_have_count(0)
    assert policies(served) == [("No other page", False)]


def test_an_mcp_server_is_changed_and_keeps_the_secrets_that_are_not_written_again(visit: Visit, served: Served) -> None:
    heard: list[str | None] = []

    def script(asked: RawExchange) -> None:
        heard.append(asked.headers.get("authorization"))
        asked.result({"tools": [{"name": "wingspan", "inputSchema": {"type": "object"}}]})

    with RawMcp(script) as birds:
        config = {"mcp_server_type": "streamable_http", "server_url": birds.url, "auth_token": "planted-token"}
        made = served.post("mcp-servers/", {"server_name": "birds", "config": config})["id"]
        page = visit.open("#/tools/servers")
        page.get_by_role("article", name="MCP server birds").get_by_role("button", name="Change").click()
        dialog = page.get_by_role("dialog", name="Change birds")
        dialog.get_by_role("textbox", name="Name", exact=True).fill("seabirds")
        dialog.get_by_role("textbox", name="Headers").fill("X-Colony: planted-header")
        dialog.get_by_role("switch", name="A person approves").check()
        dialog.get_by_role("button", name="Save").click()
        card = page.get_by_role("article", name="MCP server seabirds")
        expect(card).to_contain_text("X-Colony: ********")
        expect(card).to_contain_text("token: ********")
        card.get_by_role("button", name="Test the connection").click()
        expect(card.get_by_text("The server answers with 1 tool")).to_be_visible()
        assert heard[-1] == "Bearer planted-token"
        assert served.get(f"mcp-servers/{made}")["default_requires_approval"] is True
        card.get_by_role("button", name="Change").click()
        dialog = page.get_by_role("dialog", name="Change seabirds")
        dialog.get_by_role("textbox", name="Address").fill(f"{birds.url}/elsewhere")
        expect(dialog.get_by_text("write the token and the headers again")).to_be_visible()
        dialog.get_by_role("textbox", name="Address").fill(birds.url)
        dialog.get_by_role("switch", name="Remove the stored token").check()
        dialog.get_by_role("button", name="Save").click()
        expect(card).not_to_contain_text("token:")
        expect(card).to_contain_text("X-Colony: ********")
    assert "planted" not in page.content() + "".join(visit.addresses)


def test_an_mcp_server_is_authorized_in_the_browser(visit: Visit, served: Served) -> None:
    with OAuthDouble() as double:
        config = {"mcp_server_type": "streamable_http", "server_url": double.url}
        served.post("mcp-servers/", {"server_name": "words", "config": config})
        page = visit.open("#/tools/servers")
        card = page.get_by_role("article", name="MCP server words")
        card.get_by_role("button", name="Authorize").click()
        dialog = page.get_by_role("dialog", name="Authorize words")
        leads = dialog.get_by_role("link", name="Open the page of")
        expect(leads).to_have_attribute("rel", "noopener noreferrer")
        picture(page, "oauth", of=dialog)
        with page.context.expect_page() as opened:
            leads.click()
        expect(opened.value.get_by_text("You may close this window.")).to_be_visible()
        opened.value.close()
        expect(dialog.get_by_text("The server is connected. Its tools: secret_word.")).to_be_visible()
        dialog.get_by_role("button", name="Done").click()
        card.get_by_role("button", name="Show its tools").click()
        expect(card.get_by_role("link", name="secret_word")).to_be_visible()
        double.access.clear()
        double.refresh.clear()
        double.faults.add("denied")
        card.get_by_role("button", name="Authorize").click()
        with page.context.expect_page() as opened:
            leads.click()
        opened.value.wait_for_load_state()
        expect(dialog.get_by_role("alert")).to_contain_text("The authorization has failed")
        expect(dialog.get_by_role("button", name="Begin again")).to_be_visible()
