"""Runs and Context in a real browser: failed model calls, deaths of workers, a run as it is written, prices, what a compaction
drops, what was cached.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Browser, expect

from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.schemas.errors import ModelOverloaded
from hibernaut.schemas.usage import Usage
from tests.browser.console import Held, Served, Visit, picture, serving, visiting
from tests.support.scripted_model import Streamed, says

PRICED = {
    "model": "gpt-4o-mini",
    "model_endpoint_type": "openai",
    "model_endpoint": "https://api.openai.com/v1",
    "provider_name": "openai",
    "context_window": 128_000,
}


def used(prompt: int, cached: int) -> ModelReply:
    """A reply whose prompt was cached to this extent."""
    usage = Usage(prompt_tokens=prompt, completion_tokens=5, total_tokens=prompt + 5, cached_input_tokens=cached)
    return replace(says("Noted."), usage=usage)


def test_a_run_tells_which_model_calls_failed_and_what_the_time_went_to(visit: Visit, served: Served) -> None:
    failures = [ModelOverloaded("The provider is overloaded.")]

    def busy(_: ModelRequest) -> ModelReply | Streamed:
        if failures:
            raise failures.pop()
        return used(1000, 250)

    served.director.when("busy", busy)
    agent = served.agent()
    served.say(agent, "busy now")
    [run] = served.get(f"runs/?agent_id={agent}")
    [step] = served.get(f"runs/{run['id']}/steps")
    page = visit.open(f"#/agents/{agent}/runs")
    page.get_by_role("button", name=re.compile("^completed")).click()
    row = page.get_by_role("region", name="Steps").get_by_role("row").last
    expect(row.get_by_role("cell").nth(5)).to_have_text("1")
    waited = step["failed_calls"][0]["waited"]
    expect(page.get_by_text(re.compile(rf"failed by llm_overloaded; called again after {waited:.1f} s"))).to_be_visible()
    timeline = page.get_by_role("list", name="Timeline")
    for name in ("Model", "Waiting", "Table"):
        expect(timeline.get_by_role("listitem").filter(has_text=name)).to_have_text(re.compile(r"[\d.]+ m?s"))
    expect(page.get_by_role("region", name="Taken up")).to_have_count(0)
    assert visit.violations() == []


def test_a_run_tells_under_which_conditions_it_was_taken_up_after_a_death(chromium: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "data", scripted=True) as first:
        agent = first.agent()
        stores = first.house.stores.of("default")
        held = Held(("one ", "two ", "three"), stop=1)
        first.director.when("long", held)
        run_id = first.post(f"agents/{agent}/messages/async", {"input": "long work"})["id"]
        assert held.arrived.wait(60)
        state = stores.runs.get(run_id)
        assert state is not None
        died = replace(state, lease=state.lease - 3_600_000, holder="another-process", attempt=state.attempt + 1, token="died")
        stores.writer.write(stores.runs.renew(state, died), token="died")
        first.house.engines.sweep.run(everything=True)
        held.go.set()
        with visiting(chromium, first.url) as visit:
            page = visit.open(f"#/agents/{agent}/runs")
            page.get_by_role("button", name=re.compile("^completed")).click()
            told = page.get_by_role("region", name="Taken up")
            expect(told.get_by_role("listitem")).to_contain_text("Step 1, attempt 3")
            expect(told).to_contain_text("the lease of the worker had run out")
            expect(told).to_contain_text("No reply was stored, so the model was asked again.")
            assert visit.violations() == []


def test_a_run_is_followed_while_it_is_written_and_found_by_its_end(visit: Visit, served: Served) -> None:
    held = Held(("The garden ", "is ", "green."))
    served.director.when("describe", held)
    agent = served.agent()
    asked = {"input": "describe it", "stream_tokens": True, "background": True}
    with served.http.stream("POST", f"/v1/agents/{agent}/messages/stream", json=asked) as answer:
        assert answer.status_code == 200, answer.read()
        assert held.arrived.wait(60)
    page = visit.open(f"#/agents/{agent}/runs")
    page.get_by_role("button", name=re.compile("^running")).click()
    live = page.get_by_role("log", name="The run as it is written")
    expect(live).to_contain_text("The garden")
    expect(live).not_to_contain_text("green.")
    assert visit.violations() == []
    held.go.set()
    expect(page.get_by_role("button", name=re.compile("^completed"))).to_be_visible()
    expect(live).to_have_count(0)
    ended = page.get_by_role("combobox", name="Ended by")
    ended.select_option("max steps")
    expect(page.get_by_text("There is no such run.")).to_be_visible()
    ended.select_option("end turn")
    expect(page.get_by_role("button", name=re.compile("^completed"))).to_be_visible()
    page.get_by_role("combobox", name="Show").select_option("failed")
    expect(page.get_by_text("There is no such run.")).to_be_visible()


def test_the_window_shows_prices_what_a_compaction_drops_and_what_was_cached(visit: Visit, served: Served) -> None:
    shares = iter(((1000, 0), (2000, 500), (4000, 3000)))
    served.director.when("count", lambda _: used(*next(shares)))
    agent = served.agent("Accountant", llm_config=PRICED)
    for word in ("first", "second", "third"):
        served.say(agent, f"count the {word}")
    window, plan = served.get(f"agents/{agent}/context"), served.get(f"agents/{agent}/context/compaction")
    assert window["price"]["input"] == 0.15
    page = visit.open(f"#/agents/{agent}/context")
    blocks = page.get_by_role("region", name="Parts of the window").get_by_role("row").filter(has_text="Blocks")
    cost = window["num_tokens_core_memory"] * 0.15 / 1e6
    expect(blocks).to_contain_text(re.compile(rf"\${float(f'{cost:.2g}'):.7f}".rstrip("0")))
    expect(page.get_by_text(re.compile(r"Each call with this prompt costs \$0\.\d+, or \$0\.\d+ if"))).to_be_visible()
    forecast = page.get_by_role("region", name="What a compaction would drop")
    expect(forecast).to_contain_text(f"The oldest {len(plan['dropped'])} of {plan['num_messages']} messages would leave")
    expect(forecast).to_contain_text(f"{plan['tokens_after']:,} tokens")
    first = forecast.get_by_role("region", name="Messages that would leave").get_by_role("row").nth(1)
    expect(first).to_contain_text("count the first")
    expect(first).to_contain_text(str(plan["dropped"][0]["tokens"]))
    cached = page.get_by_role("region", name="Cached share of the last runs")
    expect(cached.get_by_role("img")).to_have_accessible_name(re.compile("last 3 runs, oldest first: 0 %, 25 %, 75 %$"))
    expect(cached).to_contain_text("in all 50 % of 7,000 tokens")
    assert visit.violations() == []
    page.set_viewport_size({"width": 700, "height": 420})
    forecast.scroll_into_view_if_needed()
    page.evaluate("scrollTo(0, document.getElementById('forecast').getBoundingClientRect().top + scrollY - 110)")
    picture(page, "compaction", height=420)
    unknown = served.agent()
    visit.open(f"#/agents/{unknown}/context")
    expect(page.get_by_text("The price of this model is unknown")).to_be_visible()
    expect(page.get_by_text("Nothing could be dropped now")).to_be_visible()
    expect(page.get_by_text("No run of this agent has reported the tokens of a prompt.")).to_be_visible()
