"""Hostile texts in every place of the console: names, descriptions and links do nothing, and are shown as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

from hibernaut.schemas.access.api_key import CreateApiKey
from tests.browser.console import Served, Visit, serving, visiting
from tests.support.raw_mcp import RawMcp
from tests.support.scripted_model import says

HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
QUOTED = 'x" onerror="window.hacked=1'
"""What a name may be that may not have angle brackets."""
LINKS = (
    "javascript:window.hacked=1",
    "JaVaScRiPt:window.hacked=1",
    " javascript:window.hacked=1",
    "java\tscript:window.hacked=1",
    "\x01javascript:window.hacked=1",
    "&#106;avascript:window.hacked=1",
    "vbscript:window.hacked=1",
    "data:text/html,<script>opener.hacked=1</script>",
    "data:text/html;base64,PHNjcmlwdD5vcGVuZXIuaGFja2VkPTE8L3NjcmlwdD4=",
    "blob:http://127.0.0.1/x",
    "file:///etc/passwd",
    "//evil.test/x",
    "http://evil.test/x",
    "https://user:word@evil.test/x",
)
HARMLESS = {"http:", "https:", "mailto:"}


def inert(page: Page) -> bool:
    """Whether no hostile text has become an element or has run."""
    made = page.locator("main img, main script, main iframe, main object, main embed, main base").count()
    return page.evaluate("window.hacked") is None and made == 0


def test_links_of_a_model_lead_to_the_web_alone_and_tell_the_other_page_nothing(visit: Visit, served: Served) -> None:
    lines = [f"[click {place}]({link}) ![see {place}]({link}) <{link}> {link}" for place, link in enumerate(LINKS)]
    served.director.when("links", lambda _: says("\n\n".join(lines)))
    agent = served.agent("Linker")
    served.say(agent, "links")
    page = visit.chat(agent)
    reply = page.get_by_role("log").get_by_role("article", name="Agent:")
    expect(reply).to_contain_text("click 0")
    links = reply.locator("a")
    found = links.evaluate_all("all => all.map((one) => [one.protocol, one.host, one.rel, one.target])")
    assert {protocol for protocol, *_ in found} <= HARMLESS
    assert {rel for _, host, rel, _ in found if host != visit.url.removeprefix("http://")} == {"noopener noreferrer"}
    assert any(host == "evil.test" for _, host, *_ in found), "links to the web are links"
    assert inert(page)


def test_names_and_texts_of_every_place_are_text(visit: Visit, served: Served) -> None:
    asked: Any = {"name": "sing", "description": HOSTILE, "inputSchema": {"type": "object", "description": HOSTILE}}
    agent = served.agent("Target", description=HOSTILE, tags=[HOSTILE])
    with RawMcp(lambda request: request.result({"tools": [asked]})) as mcp:
        config = {"mcp_server_type": "streamable_http", "server_url": f"{mcp.url}?x=<script>window.hacked=1</script>"}
        served.post("mcp-servers/", {"server_name": QUOTED, "config": config})
        folder = served.post("folders/", {"name": HOSTILE, "description": HOSTILE})["id"]
        served.http.patch(f"/v1/agents/{agent}/folders/attach/{folder}")
        named = {"file": (f"{HOSTILE.replace('/', '_')}.txt", HOSTILE.encode(), "text/plain")}
        assert served.http.post(f"/v1/folders/{folder}/upload", files=named).is_success
        served.post(f"agents/{agent}/archival-memory", {"text": HOSTILE, "tags": [QUOTED]})
        later = {"type": "one-time", "scheduled_at": 1_935_785_280_000}
        served.post(f"agents/{agent}/schedule", {"messages": [{"role": "user", "content": HOSTILE}], "schedule": later})
        served.post("identities/", {"name": HOSTILE, "identifier_key": HOSTILE, "identity_type": "user"})
        served.post("templates", {"type": "agent", "agent_id": agent, "name": "hostile"})
        served.post("tool-policies", {"name": "Hostile", "action": "deny", "tools": ["sing"], "message": HOSTILE})
        places = {
            "settings/policies": HOSTILE,
            "tools/servers": QUOTED,
            "teams/schedules": HOSTILE,
            "settings/identities": HOSTILE,
            f"agents/{agent}/memory": HOSTILE.replace("/", "_").replace('"', "%22"),
        }
        page = visit.open()
        for place, text in places.items():
            visit.open(f"#/{place}")
            expect(page.locator("main")).to_contain_text(text)
            assert inert(page), place
        visit.open("#/tools/servers")
        page.get_by_role("button", name="Show its tools").click()
        page.get_by_role("link", name="sing").click()
        expect(page.locator("main")).to_contain_text("onerror")
        assert inert(page)
        visit.open("#/home")
        page.get_by_role("button", name="From a template").click()
        expect(page.get_by_role("combobox", name="Template")).to_have_value("hostile")
        assert page.evaluate("window.hacked") is None
    assert page.locator("dialog img, dialog script").count() == 0


def test_a_page_of_another_origin_neither_frames_nor_reads_nor_acts(visit: Visit, served: Served) -> None:
    """Headers that a browser of today obeys, on the page and on what it fetches."""
    page = visit.open()
    answer = served.http.get("/console/", headers={"origin": "http://evil.test"})
    policy = answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "access-control-allow-origin" not in answer.headers
    refused = served.http.post("/v1/agents/", json={"name": "Planted"}, headers={"origin": "http://evil.test"})
    assert refused.status_code == 403
    expect(page.get_by_role("region", name="All agents")).not_to_contain_text("Planted")


def test_teams_tell_a_restricted_key_what_it_does_not_reach(chromium: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "data") as keyed:
        own = keyed.agent("Own")
        made = keyed.house.access.keys_of("default").create(
            CreateApiKey.model_validate({"scope": "write", "name": "one", "agent_ids": [own]})
        )
        with visiting(chromium, keyed.url) as visit:
            page = visit.open("#/home")
            page.get_by_label("API key").fill(made.key)
            page.get_by_role("button", name="Continue").click()
            expect(page.get_by_text("This key reaches some agents only.")).to_be_visible()
            for place, route in (("groups", "GET /v1/groups/"), ("sleep", "GET /v1/groups/"), ("schedules", "GET /v1/schedules")):
                visit.open(f"#/teams/{place}")
                alert = page.get_by_role("alert").first
                expect(alert).to_contain_text("This API key is restricted to some agents")
                expect(alert).to_contain_text(route)
                expect(alert).to_contain_text("status 403")
                expect(page.get_by_text("There is no schedule yet")).to_have_count(0)
                expect(page.get_by_text("Loading")).to_have_count(0)
