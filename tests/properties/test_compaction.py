"""What a compaction makes of any window, whatever the summariser says or does (invariant 9)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle

from hypothesis import event, given
from hypothesis import strategies as st

from hibernaut.adapters.clock import TimeOrderedIds
from hibernaut.adapters.signal import ProcessSignal
from hibernaut.domain.agents.agent_types import spec_of
from hibernaut.domain.turn.actor import Actor
from hibernaut.domain.window.compaction import Measures, chain, merged, split
from hibernaut.domain.window.window import cuts, is_input, narrowed, tokens
from hibernaut.ports.model import ModelReply
from hibernaut.schemas.agents.agent import AgentType
from hibernaut.schemas.agents.conversation import Head, Window
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.models.model_settings import CompactionMode, CompactionSettings
from hibernaut.services.host import Host
from hibernaut.services.models.model_retry import CancellationWatch, ModelRetry
from hibernaut.services.models.summarizer import Summarizer, SummaryBudget, SummarySubject
from hibernaut.services.turns.window_reduction import CompactionInput, CompactionResult, WindowReduction
from tests.support.clocks import ManualClock
from tests.support.replies import FAILURES, replies
from tests.support.scripted_model import ScriptedModels, fresh, says
from tests.support.settled import check_valid
from tests.support.windows import NOW, loaded, windows
from tests.support.world import NEVER, Inline

MODES: st.SearchStrategy[CompactionMode] = st.sampled_from(
    ["sliding_window", "all", "self_compact_sliding_window", "self_compact_all"]
)
SETTINGS = st.builds(
    CompactionSettings,
    mode=MODES,
    sliding_window_percentage=st.sampled_from([0.0, 0.3, 0.7, 1.0, -3.0, 9.0]),
    clip_chars=st.sampled_from([None, 0, 1, 50, 50_000]),
    prompt=st.sampled_from([None, "Write a haiku."]),
    prompt_acknowledgement=st.booleans(),
    model=st.sampled_from([None, "test/scripted", "openai/gpt-5-mini"]),
)
ANSWERS = st.one_of(
    FAILURES,
    replies(),
    st.sampled_from(["", " ", "they spoke of Oslo", "<summary>Oslo</summary> Bye!", "word " * 30_000, "x" * 5000, "\ud800"]).map(
        says
    ),
)
Answer = ModelReply | Exception
LIMIT = 6000
WINDOWS = windows(most=800)


def sight_of(rows: list[Message], settings: CompactionSettings, trigger: str, again: int, run_id: str | None) -> CompactionInput:
    config = LLMConfig(model="scripted", model_endpoint_type="openai", handle="test/scripted", context_window=LIMIT)
    actor = Actor("agent-1", None, run_id or "", spec_of(AgentType.LETTA_V1), config, (), (), frozenset(), "UTC")
    head = Head(id="agent-1", agent_id="agent-1", messages=len(rows), created_at=NOW)
    exceeded = trigger == "context_window_exceeded"
    measures = Measures.of(LIMIT, tokens(rows), 0, 1.0, exceeded=exceeded)
    return CompactionInput(tuple(rows), head, SummarySubject(actor, "Be kind.", settings), measures, trigger, run_id, again)


def a_host() -> Host:
    clock = ManualClock()
    return Host(clock, TimeOrderedIds(clock), Inline(), ProcessSignal(), "host:1", look=NEVER)


def smaller(answers: Callable[[], Answer]) -> WindowReduction:
    def script(*_: object) -> ModelReply:
        answer = answers()
        if isinstance(answer, Exception):
            raise fresh(answer)
        return answer

    host = a_host()
    models = ScriptedModels(script, context_window=LIMIT)
    return WindowReduction(host, Summarizer(models, host, ModelRetry(models, host)))


def unwatched() -> SummaryBudget:
    """What a summary may take that nobody can call off."""
    return SummaryBudget(CancellationWatch(a_host(), lambda: None), 1e9)


TRIGGERS = st.sampled_from(["context_window_limit", "context_window_exceeded"])


@given(WINDOWS, SETTINGS, TRIGGERS, st.integers(0, 3), st.lists(ANSWERS, min_size=1, max_size=6))
def test_a_compaction_always_gives_a_smaller_valid_window_or_none(
    rows: list[Message], settings: CompactionSettings, trigger: str, again: int, answers: list[Answer]
) -> None:
    run_id = rows[-1].run_id or "run-x"
    log = [row.model_copy(deep=True) for row in rows]
    next_answer = cycle(answers)
    made = smaller(lambda: next(next_answer)).reduce(sight_of(rows, settings, trigger, again, run_id), unwatched())
    assert rows == log, "the log is left alone"
    event("a summary" if made and made.summary else "dropped" if made else "nothing")
    if made is not None:
        check_made(rows, made, run_id)
        check_stored(rows, rows, first_window(rows), made)


def first_window(rows: list[Message]) -> Window:
    pins = [row.id for row in rows[:2] if row.role in ("system", "summary")]
    return Window(pinned=pins, cut=pins[-1])


def check_stored(log: list[Message], rows: list[Message], before: Window, made: CompactionResult) -> tuple[list[Message], Window]:
    """What is stored loads as the window that was made; the log and the stored window afterwards."""
    after = narrowed(before, rows, made.kept, made.summary.id if made.summary else None)
    grown = [*log, *([made.summary] if made.summary else [])]
    assert loaded(after, grown) == list(made.messages)
    return grown, after


def check_made(rows: list[Message], made: CompactionResult, run_id: str) -> None:
    window = list(made.messages)
    assert window[0] == rows[0]
    check_valid(window)
    assert tokens(window) < tokens(rows) or len(window) < len(rows)
    assert tokens(window) <= tokens(rows)
    inputs = [row for row in rows if is_input(row) and row.run_id == run_id]
    assert [row for row in window if row in inputs] == inputs, "what the run was sent stays"
    assert [row for row in window if row.role == "summary"] in ([], window[1:2]), (
        "one summary at most, and the earlier one is in it"
    )
    kept = [row for row in window[1:] if row.role != "summary"]
    assert kept == [row for row in rows if row in kept], "in order"
    if made.summary is not None:
        assert rows[1] not in window or rows[1].role != "summary", "the earlier summary is never shown again"


@given(WINDOWS, SETTINGS, TRIGGERS, st.data())
def test_compacting_again_and_again_comes_to_an_end(
    rows: list[Message], settings: CompactionSettings, trigger: str, data: st.DataObject
) -> None:
    run_id = rows[-1].run_id or "run-x"
    answers = data.draw(st.lists(ANSWERS, min_size=1, max_size=3))
    calls = iter(range(10**6))
    house = smaller(lambda: answers[next(calls) % len(answers)])
    window, log, stored = rows, rows, first_window(rows)
    for again in range(40):
        made = house.reduce(sight_of(window, settings, trigger, min(again, 3), run_id), unwatched())
        if made is None:
            return
        check_made(window, made, run_id)
        log, stored = check_stored(log, window, stored, made)
        window = list(made.messages)
        if trigger == "context_window_limit" and tokens(window) <= 0.9 * LIMIT:
            return
    raise AssertionError("it goes on for ever")


@given(windows(), MODES, st.floats(0, 1), st.integers(10, 2000), st.booleans())
def test_a_window_is_divided_where_calls_and_returns_stay_together(
    rows: list[Message], mode: CompactionMode, share: float, limit: int, in_run: bool
) -> None:
    run_id = rows[-1].run_id if in_run else None
    settings = CompactionSettings(mode=mode, sliding_window_percentage=share)
    divided = split(mode, rows, settings, Measures(limit), run_id)
    if divided is None:
        return
    check_valid(divided.kept)
    stays = {row.id for row in divided.kept}
    assert [row for row in rows[1:] if row.id not in stays] == list(divided.gone)
    assert list(divided.prefix) == rows[: len(divided.prefix)]
    check_valid(divided.prefix)
    assert any(row.role != "summary" for row in divided.gone)
    if mode.endswith("sliding_window"):
        assert tokens([rows[0], *divided.kept]) < (1 - share) * limit
    elif run_id is None:
        assert len(divided.prefix) - 1 == cuts(rows[1:])[-1], "all that may go goes"


@given(MODES, st.integers(0, 5))
def test_every_chain_of_modes_begins_as_asked_and_ends_with_all(mode: CompactionMode, again: int) -> None:
    tried = chain(mode, again)
    assert not tried or tried[-1] == "all"
    assert again or tried[0] == mode
    assert len(set(tried)) == len(tried)
    assert bool(tried) == (again < 2)


@given(st.none() | SETTINGS, st.none() | SETTINGS)
def test_what_a_request_sets_counts_over_the_agents_settings(
    own: CompactionSettings | None, given_: CompactionSettings | None
) -> None:
    settings = merged(own, given_)
    own = own or CompactionSettings()
    if given_ is None:
        assert settings == own
        return
    assert (settings.mode, settings.clip_chars) == (given_.mode, given_.clip_chars)
    assert settings.model == (given_.model or own.model)
    if given_.prompt is None and given_.mode != own.mode:
        assert settings.prompt is None, "another mode has its own words"
