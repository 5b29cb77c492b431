"""Whoever asked to be called at the end of a run hears of it once, whatever dies meanwhile, and the run says how it went."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from hibernaut.ports.tools.web import WebFailure
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import ModelAuthentication
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.runs.send import LettaAsyncRequest
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.services.sending.sending import SendRequest
from tests.support.scripted_model import Script, in_turn, says
from tests.support.world import Data, World, data_in

URL = "https://example.test/done"


class Died(BaseException):
    """The process, in the middle of it."""


@dataclass
class Heard:
    """The other side: what it was told. `answers` is its status, or what happens instead."""

    answers: int | BaseException = 204
    posts: list[tuple[str, JsonObject, float]] = field(default_factory=list)

    def post(self, url: str, body: JsonObject, *, seconds: float) -> int:
        self.posts.append((url, body, seconds))
        if isinstance(self.answers, BaseException):
            raise self.answers
        return self.answers


def opened(folder: Path, heard: Heard, script: Script | None = None) -> tuple[World, str]:
    world = World(data_in(folder, script or in_turn(says("done"))), web=heard)
    return world, world.make_agent()


def accept(world: World, agent_id: str) -> str:
    body = LettaAsyncRequest(input="hello", callback_url=URL)
    request = SendRequest(agent_id, body, "send_message_async", world.ids.token(), background=True, callback_url=URL)
    return world.sending.accept(request).run_id


def after(data: Data, heard: Heard, seconds: float = 120) -> World:
    """The next process, a while later."""
    data.clock.sleep(seconds)
    return World(data, holder="host:2", web=heard)


def is_due(world: World) -> bool:
    return bool(world.all_stores.due.all())


def outcome(run: StoredRun) -> tuple[bool, int | None, str | None]:
    return run.callback_sent_at is not None, run.callback_status_code, run.callback_error


def test_the_end_is_told_once_and_the_answer_is_kept(tmp_path: Path) -> None:
    heard = Heard()
    world, agent_id = opened(tmp_path, heard)
    run_id = accept(world, agent_id)
    assert world.advance(run_id) == "finished"
    world.sweep()
    ((url, body, seconds),) = heard.posts
    run = world.run(run_id).run
    assert (url, seconds) == (URL, 5.0)
    assert body.keys() == {"run_id", "status", "completed_at", "metadata"}
    assert (body["run_id"], body["status"]) == (run_id, "completed")
    assert body["completed_at"] == run.model_dump(mode="json")["completed_at"]
    assert body["metadata"]["run_type"] == "send_message_async"
    result = body["metadata"]["result"]
    assert result.keys() == {"messages", "stop_reason", "usage"}
    assert [one["content"] for one in result["messages"]] == ["hello", "done"], "the user's message is among them"
    assert result["stop_reason"]["stop_reason"] == "end_turn"
    assert outcome(run) == (True, 204, None)
    assert not is_due(world)


def test_a_refusal_is_an_answer_and_no_answer_is_an_error(tmp_path: Path) -> None:
    for heard, kept in ((Heard(500), (True, 500, None)), (Heard(WebFailure("no connection")), (True, None, "no connection"))):
        world, agent_id = opened(tmp_path / str(kept[1]), heard)
        run_id = accept(world, agent_id)
        world.advance(run_id)
        world.sweep()
        assert outcome(world.run(run_id).run) == kept
        assert len(heard.posts) == 1, "there is one try"
        assert not is_due(world)


def test_a_run_that_fails_tells_so(tmp_path: Path) -> None:
    heard = Heard()
    world, agent_id = opened(tmp_path, heard, in_turn(ModelAuthentication("bad key")))
    world.advance(accept(world, agent_id))
    assert heard.posts[0][1]["status"] == "failed"
    assert heard.posts[0][1]["metadata"]["result"]["stop_reason"]["stop_reason"] == "llm_api_error"
    assert heard.posts[0][1]["metadata"]["error"]["error_type"] == "llm_authentication"


@pytest.mark.parametrize("queued", [True, False])
def test_a_cancelled_run_tells_so_whether_it_had_begun_or_not(queued: bool, tmp_path: Path) -> None:
    heard = Heard()
    world, agent_id = opened(tmp_path, heard)
    if queued:
        world.accept(agent_id, "first")
    run_id = accept(world, agent_id)
    world.chain.termination.end(run_id, StopReason.CANCELLED)
    assert [body["status"] for _, body, _ in heard.posts] == ["cancelled"]
    assert outcome(world.run(run_id).run) == (True, 204, None)


def test_a_worker_that_dies_over_the_call_leaves_it_to_the_sweep(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, Heard(Died()))
    run_id = accept(world, agent_id)
    with pytest.raises(Died):
        world.advance(run_id)
    assert world.run(run_id).run.status is RunStatus.COMPLETED
    heard = Heard()
    later = after(world.data, heard)
    later.engines.sweep.run()
    later.engines.sweep.run()
    assert len(heard.posts) == 1
    assert outcome(later.run(run_id).run) == (True, 204, None)
    assert not is_due(later)


def test_everybody_is_taken_up_before_anybody_is_called(tmp_path: Path) -> None:
    """Who is called may take his time; those whose runs stand still do not wait for that."""

    class Counts(Heard):
        def post(self, url: str, body: JsonObject, *, seconds: float) -> int:
            taken_up.append(len(later.workflow.started))
            return super().post(url, body, seconds=seconds)

    world, _ = opened(tmp_path, Heard(Died()))
    for _ in range(6):
        with pytest.raises(Died):
            world.advance(accept(world, world.make_agent()))
        world.accept(world.make_agent(), "hello")
    taken_up: list[int] = []
    later = after(world.data, Counts())
    later.engines.sweep.run()
    assert taken_up == [6] * 6


def test_while_one_worker_calls_no_other_does(tmp_path: Path) -> None:
    class Slow(Heard):
        other = Heard()

        def post(self, url: str, body: JsonObject, *, seconds: float) -> int:
            after(world.data, self.other, seconds=30).engines.sweep.run()
            return super().post(url, body, seconds=seconds)

    world, agent_id = opened(tmp_path, Heard(Died()))
    run_id = accept(world, agent_id)
    with pytest.raises(Died):
        world.advance(run_id)
    slow = Slow()
    after(world.data, slow).engines.sweep.run()
    assert (len(slow.posts), slow.other.posts) == (1, [])
    assert outcome(world.run(run_id).run) == (True, 204, None)


def test_a_call_that_could_not_be_made_for_an_hour_is_given_up(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, Heard(Died()))
    run_id = accept(world, agent_id)
    with pytest.raises(Died):
        world.advance(run_id)
    world.data.clock.sleep(timedelta(hours=2).total_seconds())
    heard = Heard()
    later = after(world.data, heard)
    later.engines.sweep.run()
    assert heard.posts == []
    assert outcome(later.run(run_id).run) == (True, None, "The server could not call within an hour of the run's end.")
    assert not is_due(later)


def test_a_run_that_nobody_wants_to_hear_of_is_not_due_after_its_end(tmp_path: Path) -> None:
    heard = Heard()
    world, agent_id = opened(tmp_path, heard)
    world.send(agent_id, "hello")
    assert heard.posts == []
    assert not is_due(world)


def test_the_whole_address_is_called_and_no_log_has_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    heard, secret = Heard(WebFailure("no connection")), "https://user:planted-word@example.test/done?token=planted-word"
    world, agent_id = opened(tmp_path, heard)
    body = LettaAsyncRequest(input="hello", callback_url=secret)
    request = SendRequest(agent_id, body, "send_message_async", world.ids.token(), background=True, callback_url=secret)
    with caplog.at_level("DEBUG"):
        run_id = world.sending.accept(request).run_id
        assert world.advance(run_id) == "finished"
    assert [url for url, _, _ in heard.posts] == [secret]
    assert world.run(run_id).run.wire().callback_url == "https://example.test/done?token=***"
    assert "callback sent" in caplog.text
    assert "planted-word" not in caplog.text + str([vars(each) for each in caplog.records])
