"""What a run does when its model cannot answer: it is asked again while nobody has heard a word, and then another model may be
asked.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.errors import (
    ContextWindowExceeded,
    InvalidModelResponse,
    MasterKeyUnavailable,
    ModelAuthentication,
    ModelBadRequest,
    ModelConnection,
    ModelCredits,
    ModelError,
    ModelNotFound,
    ModelOverloaded,
    ModelRateLimit,
    ModelTimeout,
    NotFound,
)
from hibernaut.schemas.models.fallback import FailureCode, ModelFallback
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.runs.run import RunError
from hibernaut.schemas.stop import RunStatus, StopReason
from tests.support.clocks import ManualClock
from tests.support.scripted_model import Streamed, calls, fresh, in_pieces, in_turn, nothing, says
from tests.support.settled import check_settled
from tests.support.tokens import deltas, streamed
from tests.support.world import World, data_in

RING = calls(("ring", {"x": "twice"}))
OWN, OTHER = "test/scripted", "test/other"
DOWN = ModelOverloaded("down")


def by_model(own: object, other: object) -> Callable[[ModelRequest, int], ModelReply | Streamed]:
    """What each of the two says, always: a reply, or a failure."""

    def script(request: ModelRequest, number: int) -> ModelReply | Streamed:
        answer = other if request.config.handle == OTHER else own
        if isinstance(answer, Exception):
            raise fresh(answer)
        assert isinstance(answer, ModelReply | Streamed)
        return answer

    return script


def opened(
    folder: Path, script: Callable[[ModelRequest, int], ModelReply | Streamed], fallback: str | None = OTHER
) -> tuple[World, str]:
    world = World(data_in(folder, script))
    agent_id = world.make_agent(tools=("ring",))
    changed(world, agent_id, fallback_models=chain(fallback) if fallback else [])
    return world, agent_id


def chain(*fallbacks: str | tuple[str, list[FailureCode]]) -> list[ModelFallback]:
    return [
        ModelFallback(model=each) if isinstance(each, str) else ModelFallback(model=each[0], on=each[1]) for each in fallbacks
    ]


def by_handle(**answers: ModelReply | Exception) -> Callable[[ModelRequest, int], ModelReply]:
    """What each model of the provider `test` always says, or how it fails."""

    def script(request: ModelRequest, number: int) -> ModelReply:
        answer = answers[(request.config.handle or "").removeprefix("test/")]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return script


def changed(world: World, agent_id: str, **fields: object) -> None:
    before, token = world.stores.agents.get(agent_id), world.ids.token()
    assert before is not None
    after = before.model_copy(update=fields | {"version": before.version + 1})
    world.stores.writer.write(*world.stores.agents.change(before, after, token), token=token)


def asked(world: World) -> list[str | None]:
    return [request.config.handle for request in world.models.requests]


def error_of(world: World, run_id: str) -> RunError:
    error = world.run(run_id).run.error
    assert error is not None
    return error


@pytest.mark.parametrize("failure", [ModelOverloaded("busy"), ModelRateLimit("slower"), ModelConnection("gone")])
def test_a_model_that_fails_before_its_first_word_is_asked_again_and_the_run_is_as_if_nothing_had_been(
    failure: ModelError, tmp_path: Path
) -> None:
    world, agent_id = opened(tmp_path, in_turn(failure, failure, says("at last")), None)
    run_id = streamed(world, agent_id)
    assert (len(world.models.requests), world.log(agent_id)[-1].text()) == (3, "at last")
    assert "".join(delta.text for delta in deltas(world, run_id)) == "at last"
    check_settled(world, agent_id)


def test_a_provider_is_waited_for_as_long_as_it_asks_and_not_beyond_the_workers_time(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, in_turn(ModelRateLimit("slower", retry_after=40.0), says("at last")), None)
    began = world.clock.monotonic()
    world.send(agent_id, "hello")
    assert world.clock.monotonic() - began == pytest.approx(40.0)
    world.models.script = in_turn(*[ModelRateLimit("slower", retry_after=40.0)] * 9)
    run_id = world.begin(agent_id, "again")
    before = len(world.models.requests)
    world.chain.turns.advance(run_id, time_left=lambda: 30.0)
    assert len(world.models.requests) == before + 1
    assert error_of(world, run_id).code == "llm_rate_limit"


def test_a_cancel_ends_the_wait_for_the_next_try(tmp_path: Path) -> None:
    class Cancelling(ManualClock):
        """A person cancels in the second second of the wait."""

        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if self.passed == 1.0:
                World(data, holder="host:2").chain.termination.end(run_id, StopReason.CANCELLED)

    data = data_in(tmp_path, in_turn(ModelRateLimit("slower", retry_after=40.0), says("too late")))
    data.clock = Cancelling()
    world = World(data, look=0.5)
    agent_id = world.make_agent()
    run_id = world.begin(agent_id, "hello")
    assert world.advance(run_id) == "finished"
    assert (len(world.models.requests), world.clock.monotonic()) == (1, 1.0)
    check_settled(world, agent_id)


@pytest.mark.parametrize(
    "failure",
    [
        DOWN,
        ModelConnection("gone"),
        ModelRateLimit("come tomorrow", retry_after=3600.0),
        ModelTimeout("slow"),
        ModelCredits("no money"),
        ModelAuthentication("no key"),
        ModelNotFound("no such model"),
    ],
)
def test_the_fallback_answers_when_the_agents_own_model_cannot(failure: ModelError, tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, by_model(failure, says("I stand in")))
    run_id = streamed(world, agent_id)
    assert asked(world) == [OWN] * (3 if failure.retryable and not failure.retry_after else 1) + [OTHER]
    assert (world.log(agent_id)[-1].text(), world.log(agent_id)[-1].model) == ("I stand in", "other")
    assert "".join(delta.text for delta in deltas(world, run_id)) == "I stand in"
    check_settled(world, agent_id)


@pytest.mark.parametrize("pieces", [0, 2], ids=["before tokens", "between tokens"])
@pytest.mark.parametrize(
    "failure",
    [
        ModelTimeout("mine: no answer in time"),
        ModelAuthentication("mine: the API key contains a line break"),
        ModelNotFound("mine: this provider does not exist any more"),
        InvalidModelResponse("mine: the answer is longer than 64 bytes"),
    ],
)
def test_a_message_whose_model_fails_is_kept_with_the_reason(
    failure: ModelError, pieces: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def script(request: ModelRequest, number: int) -> ModelReply | Streamed:
        return Streamed(in_pieces(says("Half of a reply"))[:pieces], failure) if number == 1 else says("Here I am.")

    world, agent_id = opened(tmp_path, script, fallback=None)
    run = world.run(streamed(world, agent_id, "Remember Oslo.")).run
    assert (run.status, run.error and run.error.message) == (RunStatus.FAILED, str(failure))
    logged = [vars(record) for record in caplog.records if record.msg == "model call failed"]
    assert [(fields["model"], fields["code"]) for fields in logged] == [(OWN, failure.code)]
    assert [row.text() for row in world.log(agent_id) if row.role == "user"] == ["Remember Oslo."]
    world.send(agent_id, "Where was I?")
    assert [row.text() for row in world.log(agent_id)][-3:] == ["Remember Oslo.", "Where was I?", "Here I am."]
    check_settled(world, agent_id)


def test_the_record_of_a_step_names_the_model_that_answered_and_the_next_step_asks_the_agents_own_again(tmp_path: Path) -> None:
    def script(request: ModelRequest, number: int) -> ModelReply:
        if number <= 3:
            raise DOWN
        return RING if number == 4 else says("back again")

    world, agent_id = opened(tmp_path, script)
    run_id = world.send(agent_id, "hello")
    assert asked(world) == [OWN, OWN, OWN, OTHER, OWN]
    steps = world.stores.steps.of_run(run_id)
    assert [(step.model, step.model_handle) for step in steps] == [("other", OTHER), ("scripted", OWN)]
    assert [row.model for row in world.log(agent_id) if row.role == "assistant"] == ["other", "scripted"]


@pytest.mark.parametrize("ends", ["taken up", "cancelled"])
def test_a_journaled_reply_of_the_fallback_stays_its_own(ends: str, tmp_path: Path) -> None:
    class Died(BaseException):
        pass

    def dies(place: str) -> None:
        if place == "before tool":
            raise Died

    world, agent_id = opened(tmp_path, by_model(DOWN, RING))
    world.runner.at = dies
    run_id = world.begin(agent_id, "hello")
    with pytest.raises(Died):
        world.workflow.drive()
    world.runner.at = nothing
    world.models.script = in_turn(says("done"))
    if ends == "cancelled":
        world.chain.termination.end(run_id, StopReason.CANCELLED)
    last = world.reborn()
    last.sweep()
    assert world.log(agent_id)[2].model == "other"
    assert world.stores.steps.of_run(run_id)[0].model_handle == OTHER
    check_settled(last, agent_id)


@pytest.mark.parametrize("failure", [ModelBadRequest("no"), InvalidModelResponse("empty"), ContextWindowExceeded("too long")])
def test_what_another_model_would_not_do_better_is_not_asked_of_it(failure: ModelError, tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, by_model(failure, says("I stand in")))
    world.send(agent_id, "hello")
    assert OTHER not in asked(world)


def test_once_a_word_was_heard_nobody_else_is_asked(tmp_path: Path) -> None:
    broken = Streamed(in_pieces(says("Half of an answer"))[:1], ModelConnection("it broke"))
    world, agent_id = opened(tmp_path, by_model(broken, says("I stand in")))
    run_id = world.send(agent_id, "hello")
    assert (asked(world), error_of(world, run_id).code) == ([OWN], "llm_connection")


def test_where_both_fail_the_run_tells_what_the_agents_own_model_said(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, by_model(ModelCredits("no money"), ModelOverloaded("down as well")))
    run_id = world.send(agent_id, "hello")
    assert asked(world) == [OWN, OTHER, OTHER, OTHER]
    assert error_of(world, run_id).code == "llm_insufficient_credits"
    assert world.run(run_id).run.stop_reason is StopReason.INSUFFICIENT_CREDITS
    assert world.stores.steps.of_run(run_id)[0].model_handle == OWN


def test_a_fallback_that_breaks_midway_ends_the_run_with_its_own_error(tmp_path: Path) -> None:
    broken = Streamed(in_pieces(says("Half of an answer"))[:1], ModelConnection("it broke"))
    world, agent_id = opened(tmp_path, by_model(ModelCredits("no money"), broken))
    run_id = world.send(agent_id, "hello")
    assert error_of(world, run_id).code == "llm_connection"
    assert world.stores.steps.of_run(run_id)[0].model_handle == OTHER


KEY_OUT = MasterKeyUnavailable("KMS is throttled", 2.0)


@pytest.mark.parametrize(("own", "other"), [(KEY_OUT, None), (KEY_OUT, KEY_OUT), (DOWN, KEY_OUT)])
def test_a_key_that_cannot_be_read_now_leaves_the_run_open(own: Exception, other: Exception | None, tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, by_model(own, other), OTHER if other else None)
    run_id = world.send(agent_id, "hello")
    state = world.run(run_id)
    assert (state.run.status, state.run.error) == (RunStatus.RUNNING, None)
    world.models.script = by_model(says("I am back"), says("I stand in"))
    world.clock.sleep(3600)
    world.sweep()
    world.workflow.drive()
    assert world.run(run_id).run.status is RunStatus.COMPLETED
    assert world.log(agent_id)[-1].text() == "I am back"
    check_settled(world, agent_id)


def test_the_fallback_answers_while_the_key_of_the_agents_own_model_cannot_be_read(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, by_model(KEY_OUT, says("I stand in")))
    world.send(agent_id, "hello")
    assert (asked(world), world.log(agent_id)[-1].text()) == ([OWN, OTHER], "I stand in")
    check_settled(world, agent_id)


@pytest.mark.parametrize("fallback", [None, OWN])
def test_without_another_model_there_is_nobody_to_ask(fallback: str | None, tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, by_model(ModelCredits("no money"), says("I stand in")), fallback)
    world.send(agent_id, "hello")
    assert asked(world) == [OWN]


def test_a_fallback_that_is_gone_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, agent_id = opened(tmp_path, by_model(ModelCredits("no money"), says("I stand in")))

    def unknown(handle: str) -> LLMConfig:
        raise NotFound("NOT_FOUND")

    monkeypatch.setattr(world.models, "config", unknown)
    run_id = world.send(agent_id, "hello")
    assert error_of(world, run_id).code == "llm_insufficient_credits"


def test_the_fallback_is_asked_in_the_form_that_the_agent_was_given(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, by_model(ModelCredits("no money"), calls(("ring", {}), ("ring", {}))))
    changed(world, agent_id, llm_config=world.models.config(OWN).model_copy(update={"parallel_tool_calls": False}))
    run_id = world.send(agent_id, "hello", max_steps=1)
    assert [request.parallel_tool_calls for request in world.models.requests] == [False, False]
    assert len(world.log(agent_id)[2].tool_calls or ()) == 1
    assert world.run(run_id).run.status is RunStatus.COMPLETED


@pytest.mark.parametrize(
    ("fallbacks", "called"),
    [
        (("test/second", "test/third"), ["test/second", "test/third"]),
        ((("test/second", ["llm_timeout"]), "test/third"), ["test/third"]),
        ((("test/second", ["llm_insufficient_credits"]), ("test/third", ["llm_not_found"])), ["test/second", "test/third"]),
        ((OWN, "test/third"), ["test/third"]),
    ],
)
def test_each_fallback_is_judged_by_the_failure_of_the_model_before_it(
    fallbacks: tuple[str | tuple[str, list[FailureCode]], ...], called: list[str], tmp_path: Path
) -> None:
    script = by_handle(scripted=ModelCredits("no money"), second=ModelNotFound("gone"), third=says("I stand in"))
    world, agent_id = opened(tmp_path, script)
    changed(world, agent_id, fallback_models=chain(*fallbacks))
    run_id = world.send(agent_id, "hello")
    assert asked(world) == [OWN, *called]
    assert world.stores.steps.of_run(run_id)[0].model_handle == "test/third"
    check_settled(world, agent_id)


def test_a_request_that_is_too_long_goes_to_the_fallback_that_is_named_for_it(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, by_handle(scripted=ContextWindowExceeded("too long"), second=says("long enough")))
    changed(world, agent_id, fallback_models=chain(("test/second", ["context_window_exceeded"])))
    world.send(agent_id, "hello")
    assert (asked(world), world.log(agent_id)[-1].text()) == ([OWN, "test/second"], "long enough")


def test_where_no_fallback_answers_for_the_failure_the_run_ends_with_it(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, by_handle(scripted=ModelCredits("no money"), second=says("I stand in")))
    changed(world, agent_id, fallback_models=chain(("test/second", ["llm_timeout", "llm_overloaded"])))
    run_id = world.send(agent_id, "hello")
    assert (asked(world), error_of(world, run_id).code) == ([OWN], "llm_insufficient_credits")


def test_an_agent_that_was_stored_with_one_fallback_keeps_it(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, in_turn(says("hello")), None)
    agent = world.stores.agents.get(agent_id)
    assert agent is not None
    older = agent.model_dump(exclude={"fallback_models"}) | {"fallback_model": OTHER}
    assert StoredAgent.model_validate(older).fallback_models == chain(OTHER)
    assert StoredAgent.model_validate(older | {"fallback_model": None}).fallback_models == []
