"""The console's places in a real browser, on the demo model: first minutes, memory, keys, the keyboard, and accessibility."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from hibernaut.schemas.access.api_key import CreateApiKey
from tests.browser.chromium import Site
from tests.browser.console import Served, Visit, picture, serving, visiting
from tests.support.json_server import JsonServer
from tests.support.raw_mcp import RawMcp

SHOUT = '''def shout(text: str) -> str:
    """
    Shout.

    Args:
        text: What is shouted.
    """
    print("loud")
    return text.upper()
'''
WIDTHS = {"wide": 1440, "tablet": 768, "phone": 360}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("data")) as house:
        yield house


def block_of(page: Page, label: str) -> Locator:
    return page.get_by_role("article", name=f"Block {label}")


def test_a_newcomer_makes_an_agent_tells_it_something_and_finds_it_again(chromium: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "data") as served:
        with visiting(chromium, served.url) as visit:
            page = visit.page
            page.goto(served.url)
            expect(page).to_have_url(f"{served.url}/console/")
            expect(page.get_by_role("heading", name="Make your first agent")).to_be_visible()
            page.get_by_role("button", name="New agent").first.click()
            page.get_by_role("textbox", name="Name").fill("Garden guide")
            page.get_by_role("textbox", name="Who is it?").fill("I am a patient guide to gardens.")
            page.get_by_role("button", name="Create").click()
            visit.send("Please remember that my dog is called Rex.")
            log = page.get_by_role("log")
            expect(log.get_by_text("memory_insert")).to_be_visible()
            expect(log.get_by_role("article", name=re.compile("^Agent:"))).to_be_visible()
            expect(page.get_by_role("button", name="Stop")).to_have_count(0)
            page.get_by_role("link", name="Memory").click()
            expect(block_of(page, "human").get_by_text("Rex")).to_be_visible()
        with visiting(chromium, served.url) as visit:
            page = visit.open()
            expect(page.get_by_text(re.compile(r"[1-9][\d,]* tokens in \d+ steps"))).to_be_visible()
            page.get_by_role("link", name="Garden guide").click()
            visit.send("What do you know about me?")
            expect(page.get_by_role("log").get_by_role("article", name=re.compile("^Agent:")).nth(1)).to_contain_text("Rex")


def test_an_edit_that_somebody_overtook_is_not_saved_over_theirs(visit: Visit, served: Served) -> None:
    agent = served.agent()
    page = visit.open(f"#/agents/{agent}/memory")
    human = block_of(page, "human")
    for theirs, choice, kept in (("theirs", "Keep theirs", "theirs"), ("theirs again", "Replace it by mine", "mine")):
        human.get_by_role("button", name="Edit").click()
        human.get_by_role("textbox").fill("mine")
        served.http.patch(f"/v1/agents/{agent}/core-memory/blocks/human", json={"value": theirs})
        human.get_by_role("button", name="Save").click()
        expect(human.get_by_role("alert")).to_contain_text("Somebody changed this block while you edited it.")
        expect(human.get_by_role("alert")).to_contain_text(theirs)
        assert served.block(agent)["value"] == theirs
        human.get_by_role("button", name=choice).click()
        expect(human.get_by_role("region", name="Value of human")).to_have_text(kept)
        assert served.block(agent)["value"] == kept


def test_a_block_is_rolled_back_and_forth_by_its_history(visit: Visit, served: Served) -> None:
    agent = served.agent("Garden guide")
    for value in ("Lives in Oslo.\nHas a dog.", "Lives in Rome.\nHas a dog."):
        served.http.patch(f"/v1/agents/{agent}/core-memory/blocks/human", json={"value": value})
    page = visit.open(f"#/agents/{agent}/memory")
    human = block_of(page, "human")
    human.get_by_role("button", name="History").click()
    human.get_by_role("button", name=re.compile("^3 Changed by a person")).click()
    diff = human.get_by_role("region", name="Differences in value")
    expect(diff.locator(".gone")).to_have_text("-Lives in Oslo.")
    expect(diff.locator(".add")).to_have_text("+Lives in Rome.")
    picture(page, "memory", height=580)
    human.get_by_role("button", name=re.compile("^2 Changed")).click()
    human.get_by_role("button", name="Bring version 2 back").click()
    page.get_by_role("button", name="Undo").click()  # It is offered for some seconds only.
    expect(human.get_by_role("button", name=re.compile("^4 Rolled back to 2"))).to_be_visible()
    expect(human.get_by_role("button", name=re.compile("^5 Rolled back to 3"))).to_be_visible()
    expect(human.get_by_role("region", name="Value of human")).to_contain_text("Rome")
    assert served.block(agent)["value"].startswith("Lives in Rome.")


def test_a_run_is_shown_with_its_timeline_its_steps_and_what_it_changed(visit: Visit, served: Served) -> None:
    agent = served.agent("Guide of runs")
    served.say(agent, "Please remember that my dog is called Rex.")
    page = visit.open(f"#/agents/{agent}/runs")
    page.get_by_role("button", name=re.compile("^completed")).click()
    timeline = page.get_by_role("list", name="Timeline")
    expect(timeline.get_by_role("listitem").filter(has_text="Tools")).to_be_visible()
    expect(page.get_by_text("Block human, version 2: value")).to_be_visible()
    steps = page.get_by_role("region", name="Steps")
    expect(steps.get_by_role("row")).to_have_count(3)
    steps.get_by_role("button", name="Show").first.click()
    expect(
        page.get_by_role("region", name="Request").or_(page.get_by_text("The bodies of this step are not kept."))
    ).to_be_visible()
    picture(page, "runs", height=540)
    page.get_by_role("combobox", name="Show").select_option("failed")
    expect(page.get_by_text("There is no such run.")).to_be_visible()


def test_the_window_is_shown_by_its_parts_with_their_exact_text(visit: Visit, served: Served) -> None:
    agent = served.agent("Guide of windows")
    served.say(agent, "Please remember that my dog is called Rex.")
    page = visit.open(f"#/agents/{agent}/context")
    window = served.get(f"agents/{agent}/context")
    blocks = page.get_by_role("row").filter(has_text="Blocks")
    expect(blocks).to_contain_text(str(window["num_tokens_core_memory"]))
    expect(page.get_by_role("img", name=re.compile("Blocks .* %.*Messages .* %"))).to_be_visible()
    picture(page, "context", height=560)
    page.get_by_role("button", name="Show Blocks").click()
    expect(page.get_by_role("region", name="Text of Blocks")).to_contain_text("Rex")


def test_a_tool_is_written_tried_and_saved(visit: Visit, served: Served) -> None:
    page = visit.open("#/tools/new")
    source = page.get_by_role("textbox", name="Source")
    source.fill('def shout(text: str) -> str\n    """Shout."""\n')
    page.get_by_role("button", name="Go to line 1, column 28").click()
    assert page.evaluate("document.activeElement.selectionStart") == 27
    source.fill(SHOUT)
    expect(page.get_by_role("region", name="Schema")).to_contain_text("What is shouted.")
    page.get_by_role("textbox", name="Arguments").fill('{"text": "hello"')
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert")).to_contain_text("The arguments are no JSON")
    page.get_by_role("textbox", name="Arguments").fill('{"text": "hello"}')
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("region", name="Return")).to_have_text("HELLO")
    expect(page.get_by_role("region", name="Output")).to_contain_text("loud")
    expect(page.get_by_text(re.compile(r"The tool returned after [\d.]+ m?s"))).to_be_visible()
    assert served.get("tools/?name=shout") == [], "a test run stores nothing"
    page.get_by_role("switch", name="A person approves each call").check()
    page.get_by_role("spinbutton", name="Time limit in seconds").fill("5")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="shout")).to_be_visible()
    [saved] = served.get("tools/?name=shout")
    assert (saved["default_requires_approval"], saved["metadata_"]["timeout_seconds"]) == (True, 5)
    source.fill(SHOUT.replace("What is shouted", "What is said loudly").replace('"loud"', '"louder"'))
    with page.expect_response(lambda answer: answer.request.method == "PATCH"):
        page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The tool was saved.")).to_be_visible()
    changed = served.get(f"tools/{saved['id']}")
    assert "louder" in changed["source_code"]
    assert "loudly" in str(changed["json_schema"])
    assert changed["metadata_"]["timeout_seconds"] == 5
    expect(page.get_by_role("region", name="Schema")).to_contain_text("What is said loudly.")
    page.evaluate("scrollTo(0, 0)")
    picture(page, "tools", height=640)
    page.get_by_role("link", name="Tools").last.click()
    page.get_by_role("searchbox", name="Search tools by name").fill("shou")
    expect(page.get_by_role("listitem").filter(has_text="needs approval")).to_have_count(1)
    visit.open("#/tools/new")
    source.fill(SHOUT)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("There is a tool with the name shout already.")


def test_an_mcp_server_is_tested_added_read_and_deleted(visit: Visit, served: Served) -> None:
    page = visit.open("#/tools/servers")
    expect(page.get_by_text("There is no MCP server yet.")).to_be_visible()
    with RawMcp(lambda asked: asked.result({"tools": [{"name": "wingspan", "inputSchema": {"type": "object"}}]})) as birds:
        page.get_by_role("button", name="Add a server").click()
        page.get_by_role("textbox", name="Name", exact=True).fill("birds")
        address = page.get_by_role("textbox", name="Address")
        address.fill(f"{served.url}/nothing")
        page.get_by_label("Token").fill("planted-token")
        test = page.get_by_role("dialog").get_by_role("button", name="Test the connection")
        test.click()
        expect(page.get_by_role("alert")).to_contain_text("The MCP server birds cannot be used")
        expect(page.get_by_role("alert")).to_contain_text("POST /v1/tools/mcp/servers/test")
        address.fill(birds.url)
        test.click()
        expect(page.get_by_text("The server answers. Its tools: wingspan.")).to_be_visible()
        assert served.get("mcp-servers/") == []
        page.get_by_role("button", name="Add", exact=True).click()
        card = page.get_by_role("article", name="MCP server birds")
        expect(card).to_contain_text("token: ********")
        card.get_by_role("button", name="Show its tools").click()
        expect(card.get_by_role("link", name="wingspan")).to_be_visible()
    card.get_by_role("button", name="Test the connection").click()
    expect(card.get_by_role("alert")).to_contain_text("The MCP server birds cannot be used")
    card.get_by_role("button", name="Delete this server").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("There is no MCP server yet.")).to_be_visible()
    assert "planted-token" not in "".join(visit.addresses)


def test_the_keyboard_alone_reaches_an_agent_and_its_actions(visit: Visit, served: Served) -> None:
    agent = served.agent("Zanzibar")
    page = visit.open()
    page.get_by_role("link", name="Zanzibar").wait_for()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="To the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Command or agent")
    expect(box).to_be_focused()
    box.fill("zanzi")
    expect(page.get_by_role("option", name="Zanzibar")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Message to Zanzibar")).to_be_focused()
    page.keyboard.press("Control+k")
    box.fill("open mem")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"{agent}/memory$"))
    page.keyboard.press("Control+k")
    box.fill("light")
    page.keyboard.press("Enter")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("Control+k")
    box.fill("delete this")
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).press("Enter")
    expect(page.get_by_role("heading", name="Agents")).to_be_visible()
    expect(page.get_by_role("link", name="Zanzibar")).to_have_count(0)


def test_a_server_with_keys_asks_for_one_and_the_tab_forgets_it(chromium: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "data") as served:
        secret = served.house.access.keys_of("default").create(CreateApiKey.model_validate({"scope": "admin"})).key
        with visiting(chromium, served.url) as visit:
            page = visit.open()
            field = page.get_by_label("API key")
            field.fill("hib_wrong")
            page.get_by_role("button", name="Continue").click()
            expect(page.get_by_role("alert")).to_contain_text("status 401")
            field.fill(secret)
            page.get_by_role("button", name="Continue").click()
            expect(page.get_by_role("heading", name="Make your first agent")).to_be_visible()
            assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
            page.reload()
            expect(page.get_by_role("heading", name="Make your first agent")).to_be_visible()
            assert [address for address in visit.addresses if secret in address] == []
            other = page.context.new_page()
            other.goto(f"{served.url}/console/")
            expect(other.get_by_label("API key")).to_be_visible()


def test_keys_are_shown_once_and_revoked_and_budgets_show_what_is_used(chromium: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "data") as served, visiting(chromium, served.url) as visit:
        secret = served.house.access.keys_of("default").create(CreateApiKey.model_validate({"scope": "admin"})).key
        page = visit.open("#/settings/keys")
        page.get_by_label("API key").fill(secret)
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("button", name="New key").click()
        page.get_by_role("textbox", name="Name").fill("phone")
        page.get_by_role("button", name="Create", exact=True).click()
        made = page.get_by_role("dialog", name="Your new key").locator("code").inner_text()
        signed = {"authorization": f"Bearer {made}"}
        assert served.http.get("/v1/agents/", headers=signed).status_code == 200
        page.get_by_role("button", name="I have it").click()
        expect(page.get_by_text(made)).to_have_count(0)
        page.get_by_role("button", name="Revoke phone").click()
        page.get_by_role("dialog").get_by_role("button", name="Revoke", exact=True).click()
        expect(page.get_by_role("row").filter(has_text="phone")).to_contain_text("revoked")
        assert served.http.get("/v1/agents/", headers=signed).status_code == 401
        found = visit.violations()
        page.get_by_role("link", name="Budgets").click()
        expect(page.get_by_text("There is no budget")).to_be_visible()
        page.get_by_role("button", name="Set a budget").click()
        page.get_by_role("spinbutton", name="Tokens a day").fill("1000")
        page.get_by_role("button", name="Set", exact=True).click()
        expect(page.get_by_role("article", name="Budget of tenant")).to_contain_text("Tokens a day: 0 of 1,000")
        assert found + visit.violations() == []


def test_settings_show_models_providers_usage_and_policies(visit: Visit, served: Served) -> None:
    served.say(served.agent("Spender"), "Please remember that my dog is called Rex.")
    served.post("tool-policies", {"name": "No deletions", "action": "deny", "tools": ["delete_*"], "message": "Ask Ann."})
    page = visit.open("#/settings")
    expect(page.get_by_role("row").filter(has_text="hibernaut/demo")).to_be_visible()
    with closing(JsonServer(lambda *_: (200, {"data": [{"id": "mine-1"}]}))) as lab:
        page.get_by_role("button", name="Add a provider").click()
        page.get_by_role("textbox", name="Name").fill("lab")
        page.get_by_label("Key", exact=True).fill("planted-key")
        page.get_by_role("textbox", name="Address").fill(lab.address)
        page.get_by_role("button", name="Check the key").click()
        expect(page.get_by_text("Valid api key")).to_be_visible()
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.get_by_role("row").filter(has_text="lab/mine-1")).to_be_visible()
    card = page.get_by_role("article", name="Provider lab")
    card.get_by_role("button", name="Check the key").click()
    expect(card.get_by_role("alert")).to_contain_text("/check")
    card.get_by_role("button", name="Delete this provider").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(card).to_have_count(0)
    page.get_by_role("link", name="API keys").click()
    expect(page.get_by_text("hibernaut keys create --scope admin")).to_be_visible()
    page.get_by_role("link", name="Tool policies").click()
    expect(page.get_by_role("listitem").filter(has_text="No deletions")).to_contain_text("denies")
    page.get_by_role("link", name="Usage").click()
    used = served.get("usage")["total"]
    expect(page.get_by_role("img", name=re.compile("^Tokens by day"))).to_be_visible()
    expect(page.get_by_role("region", name="By model").get_by_role("row").last).to_contain_text(f"{used['total_tokens']:,}")
    page.reload()
    page.get_by_role("region", name="By model").wait_for()
    picture(page, "settings", height=640)


def test_a_page_of_another_origin_neither_frames_the_console_nor_reads_it(chromium: Browser, served: Served) -> None:
    served.agent("Secret")
    frame = f'<iframe src="{served.url}/console/"></iframe>'
    read = f'<script>fetch("{served.url}/v1/agents/").then(() => 1, () => 0).then((read) => {{ document.title = "read " + read; }});</script>'
    with closing(Site(frame + read)) as site:
        page = chromium.new_page()
        page.goto(f"http://evil.test:{site.port}/")
        expect(page).to_have_title("read 0")
        assert [one.url for one in page.frames[1:]] == ["chrome-error://chromewebdata/"]
        page.close()


@pytest.mark.parametrize(("theme", "width"), [("light", "wide"), ("dark", "tablet"), ("light", "phone")])
def test_every_place_is_accessible(chromium: Browser, served: Served, theme: str, width: str) -> None:
    agent = served.agent(f"Guide {theme} {width}", tags=["home"])
    served.say(agent, "Please remember that my dog is called Rex.")
    served.post(f"agents/{agent}/archival-memory", {"text": "The spare key hangs behind the clock.", "tags": ["house"]})
    size = {"width": WIDTHS[width], "height": 800}
    with visiting(chromium, served.url, color_scheme=theme, viewport=size) as visit:
        page = visit.open()
        page.get_by_role("link", name=f"Guide {theme} {width}").wait_for()
        found = visit.violations()
        visit.chat(agent)
        page.get_by_role("log").get_by_text("memory_insert").click()
        page.get_by_role("region", name="Arguments").wait_for()
        found += visit.violations()
        visit.open(f"#/agents/{agent}/memory")
        page.get_by_text("spare key").wait_for()
        block_of(page, "human").get_by_role("button", name="History").click()
        block_of(page, "human").get_by_role("button", name=re.compile("^2 ")).click()
        page.get_by_role("region", name="Differences in value").wait_for()
        found += visit.violations()
        visit.open(f"#/agents/{agent}/runs")
        page.get_by_role("button", name=re.compile("^completed")).click()
        page.get_by_role("list", name="Timeline").wait_for()
        found += visit.violations()
        visit.open(f"#/agents/{agent}/context")
        page.get_by_role("button", name="Show Blocks").click()
        found += visit.violations()
        visit.open("#/tools")
        page.get_by_role("link", name="memory_insert", exact=True).wait_for()
        found += visit.violations()
        visit.open("#/tools/new")
        page.get_by_role("region", name="Schema").get_by_text("greet").wait_for()
        page.get_by_role("button", name="Run").click()
        page.get_by_role("region", name="Return").wait_for()
        found += visit.violations()
        for part, heading in (("models", "Language models"), ("usage", "By model")):
            visit.open(f"#/settings/{part}")
            page.get_by_text(heading).first.wait_for()
            found += visit.violations()
        too_wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    assert found == []
    assert not too_wide


def test_dialogs_and_the_palette_are_accessible(visit: Visit) -> None:
    page = visit.open()
    page.get_by_role("button", name="New agent").first.click()
    page.get_by_role("dialog", name="New agent").wait_for()
    found = visit.violations()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.get_by_role("listbox", name="Commands").get_by_role("option").first.wait_for()
    assert found + visit.violations() == []
