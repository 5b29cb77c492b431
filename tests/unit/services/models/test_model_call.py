"""A call in flight: its thread tells, and stops telling when nobody listens."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from contextvars import ContextVar

import pytest

from hibernaut.adapters.model.openai.chat_completions import OpenAIModel
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.ports.model import Delta, ModelReply, ModelRequest, OnOpen
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.services.models import model_call
from hibernaut.services.models.model_call import CallAbandoned, CallOutcome, CallThreads, ModelCall, WakeUp
from tests.support.provider_http import PATIENCE
from tests.support.provider_servers import ScriptedOpenAI
from tests.support.rows import Rows, prompt
from tests.support.scripted_model import Script, ScriptedModels, Streamed, in_pieces, in_turn, nothing, says

REQUEST = ModelRequest(
    config=LLMConfig(model="m", model_endpoint_type="openai", context_window=1000),
    system=prompt(),
    messages=[Rows().user("hello")],
    timeout=PATIENCE,
)
WORDS = says("some words")
place: ContextVar[str] = ContextVar("place", default="nowhere")


class Kept(ScriptedModels):
    """Keeps how its call ended, as its own thread saw it."""

    def __init__(self, script: Script, at: Callable[[str], None] = nothing) -> None:
        super().__init__(script, at=at)
        self.over = threading.Event()
        self.failure: BaseException | None = None

    def complete(
        self, request: ModelRequest, on_delta: Callable[[Delta], None] | None = None, on_open: OnOpen | None = None
    ) -> ModelReply:
        try:
            return super().complete(request, on_delta, on_open)
        except BaseException as failure:
            self.failure = failure
            raise
        finally:
            self.over.set()


def waited(event: threading.Event) -> None:
    assert event.wait(PATIENCE)


def gathered(call: ModelCall) -> tuple[list[Delta], CallOutcome]:
    deltas: list[Delta] = []
    while True:
        for one in call.news(PATIENCE):
            if isinstance(one, CallOutcome):
                return deltas, one
            assert isinstance(one, Delta)
            deltas.append(one)


def test_the_pieces_come_in_order_and_then_the_end() -> None:
    with ModelCall(ScriptedModels(in_turn(WORDS)), REQUEST, streams=True) as call:
        deltas, ended = gathered(call)
    assert ("".join(delta.text for delta in deltas), ended.reply()) == ("some words", WORDS)


def test_who_wants_no_pieces_only_learns_that_there_were_some() -> None:
    with ModelCall(ScriptedModels(in_turn(WORDS)), REQUEST, streams=False) as call:
        assert gathered(call)[0] == []
    assert call.has_begun


@pytest.mark.parametrize("failure", [ZeroDivisionError(), KeyboardInterrupt()])
def test_whatever_the_call_raises_is_raised_by_its_end(failure: BaseException) -> None:
    def raises(*_: object) -> ModelReply:
        raise failure

    with ModelCall(ScriptedModels(raises), REQUEST, streams=True) as call:
        _, ended = gathered(call)
    with pytest.raises(type(failure)):
        ended.reply()
    assert not call.has_begun


def test_a_call_is_in_its_callers_name_and_context() -> None:
    seen: list[tuple[str, str]] = []
    place.set("here")
    models = ScriptedModels(in_turn(WORDS), at=lambda _: seen.append((threading.current_thread().name, place.get())))
    with ModelCall(models, REQUEST, streams=False) as call:
        gathered(call)
    assert set(seen) == {(threading.current_thread().name, "here")}


def test_leaving_hangs_up_between_two_pieces() -> None:
    listening = threading.Event()

    def before(number: int) -> None:
        if number == 2:
            listening.set()
            assert models.broken_off.wait(PATIENCE)

    models = Kept(lambda *_: Streamed(in_pieces(WORDS), WORDS, before))
    with ModelCall(models, REQUEST, streams=True):
        assert listening.wait(PATIENCE)
    assert models.over.wait(PATIENCE)
    assert isinstance(models.failure, CallAbandoned)


def test_a_call_whose_answer_begins_after_it_was_hung_up_is_ended_there() -> None:
    left = threading.Event()
    models = Kept(in_turn(WORDS), at=lambda _: waited(left))
    with ModelCall(models, REQUEST, streams=True):
        pass
    left.set()
    assert models.over.wait(PATIENCE)
    assert isinstance(models.failure, CallAbandoned)


def test_a_provider_that_has_not_begun_to_answer_keeps_nobody_and_is_hung_up_on() -> None:
    asked = threading.Event()

    def silent(*_: object) -> dict[str, bool]:
        asked.set()
        return {"hang": True}

    with ScriptedOpenAI(silent) as server:
        model = OpenAIModel(api_key="k", base_url=server.url, windows=ContextWindows())
        with ModelCall(model, REQUEST, streams=True) as call:
            call.nudge()
            assert [type(one) for one in call.news(PATIENCE)] == [WakeUp]
            assert asked.wait(PATIENCE)
        assert server.gone.wait(PATIENCE)
        assert not call.has_begun


def test_silence_is_no_news() -> None:
    go = threading.Event()
    with ModelCall(ScriptedModels(in_turn(WORDS), at=lambda _: waited(go)), REQUEST, streams=True) as call:
        assert call.news(0.0) == []
        go.set()
        gathered(call)


def watched(threads: CallThreads) -> threading.Semaphore:
    """A semaphore that counts how often a thread has become idle."""
    free = threading.Semaphore(0)

    class Idle(list[object]):
        def append(self, one: object) -> None:
            super().append(one)
            free.release()

    threads._idle = Idle()  # type: ignore[assignment]
    return free


def test_an_idle_thread_keeps_nothing_of_its_calls_alive() -> None:
    class Job:
        def __call__(self) -> None: ...

    threads, jobs = CallThreads(), list[weakref.ref[Job]]()
    free = watched(threads)
    for _ in range(3):
        job = Job()
        jobs.append(weakref.ref(job))
        threads.run(job, "call")
        del job
        assert free.acquire(timeout=PATIENCE)
    assert [job() for job in jobs] == [None] * 3


def test_calls_in_a_row_start_one_thread_which_bears_the_name_of_each_caller() -> None:
    threads, seen = CallThreads(), list[tuple[int, str]]()
    free = watched(threads)

    def job() -> None:
        seen.append((threading.get_ident(), threading.current_thread().name))

    for number in range(5):
        threads.run(job, f"run-{number}")
        assert free.acquire(timeout=PATIENCE)
    assert len({ident for ident, _ in seen}) == 1
    assert [name for _, name in seen] == [f"run-{number}" for number in range(5)]


def test_calls_at_once_have_a_thread_each() -> None:
    threads, together = CallThreads(), threading.Barrier(5)
    for _ in range(4):
        threads.run(lambda: together.wait(PATIENCE), "call")
    together.wait(PATIENCE)


def test_a_thread_that_nobody_needs_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_call, "IDLE_SECONDS", 0.0)
    threads, own = CallThreads(), list[threading.Thread]()
    told = threading.Event()

    def job() -> None:
        own.append(threading.current_thread())
        told.set()

    threads.run(job, "call")
    assert told.wait(PATIENCE)
    own[0].join(PATIENCE)
    assert not own[0].is_alive()
    assert threads._idle == []
