"""Batches of messages: each request becomes one run whatever dies meanwhile, and the status of the batch is that of its runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hibernaut.domain.wire.listing import Page
from hibernaut.ports.storage.table import Table
from hibernaut.ports.tools.web import WebFailure
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import ModelAuthentication, NotFound, StoreUnavailable, Unprocessable
from hibernaut.schemas.runs.batch import CreateBatch
from hibernaut.schemas.runs.job import Job, JobStatus
from hibernaut.services.sending.batches import AT_ONCE, Batches
from tests.support.scripted_model import Script, in_turn, says
from tests.support.tables import CountingTable
from tests.support.world import Data, World, data_in

URL = "https://example.test/done"


class Died(BaseException):
    """The process, in the middle of it."""


@dataclass
class Heard:
    """The other side of the callback."""

    answers: int | WebFailure = 204
    posts: list[JsonObject] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)

    def post(self, url: str, body: JsonObject, *, seconds: float) -> int:  # noqa: ARG002  as the port
        self.posts.append(body)
        self.urls.append(url)
        if isinstance(self.answers, WebFailure):
            raise self.answers
        return self.answers


def data(folder: Path, script: Script | None = None) -> Data:
    return data_in(folder, script or in_turn(*[says("done")] * 200))


def batches(world: World) -> Batches:
    return world.chain.batches


def wanted(agents: list[str], **fields: object) -> CreateBatch:
    requests = [{"agent_id": agent, "input": f"task {place}"} for place, agent in enumerate(agents)]
    return CreateBatch.model_validate({"requests": requests, **fields})


def finished(world: World, job: Job) -> Job:
    world.workflow.drive()
    world.clock.sleep(61)
    world.engines.sweep.run()
    return batches(world).get(job.id)


def said(world: World, agent_id: str) -> list[str]:
    return [row.text() for row in world.log(agent_id) if row.role == "user"]


def test_each_request_is_a_run_of_its_agent(tmp_path: Path) -> None:
    world = World(data(tmp_path))
    agents = [world.make_agent() for _ in range(3)]
    job = batches(world).create(wanted([*agents, agents[0]]))
    assert (job.status, job.job_type, len(job.metadata["run_ids"])) == (JobStatus.RUNNING, "batch", 4)
    done = finished(world, job)
    assert (done.status, done.completed_at is not None) == (JobStatus.COMPLETED, True)
    assert [said(world, agent) for agent in agents] == [["task 0", "task 3"], ["task 1"], ["task 2"]]
    assert not world.all_stores.due.all()
    rows = batches(world).messages(job.id, None, Page(limit=100))
    assert [row.role for row in rows].count("assistant") == 4
    assert rows == sorted(rows, key=lambda row: row.id)
    newest = batches(world).messages(job.id, agents[0], Page(limit=2, descending=True))
    assert [(row.role, row.agent_id) for row in newest] == [("assistant", agents[0]), ("user", agents[0])]
    older = batches(world).messages(job.id, agents[0], Page(limit=2, descending=True, after=newest[-1].id))
    assert [row.role for row in older] == ["assistant", "user"]


@pytest.mark.parametrize("after", [False, True])
def test_wherever_a_worker_dies_each_request_is_accepted_once(tmp_path: Path, after: bool) -> None:
    for at in range(1, 40):
        folder, writes = tmp_path / f"{at} {after}", 0
        kept = data(folder)
        agents = [World(kept).make_agent() for _ in range(3)]

        def dies(_number: int, kind: str, at: int = at) -> None:
            nonlocal writes
            writes += kind == "before write"
            if writes == at and kind == ("after write" if after else "before write"):
                raise Died

        def wrap(table: Table, dies: object = dies) -> Table:
            return CountingTable(table, dies)  # type: ignore[arg-type]

        world = World(kept, wrap=wrap)
        try:
            batches(world).create(wanted([*agents, agents[0]]))
            died = False
        except Died:
            died = True
        world = world.reborn()
        (job, *others) = [*batches(world).list(Page()), None]
        if job is None:
            assert all(said(world, agent) == [] for agent in agents), "what is not stored is not accepted"
            continue
        for _ in range(3):
            world.clock.sleep(61)
            world.engines.sweep.run()
            world.workflow.drive()
        assert batches(world).get(job.id).status is JobStatus.COMPLETED
        assert [sorted(said(world, agent)) for agent in agents] == [["task 0", "task 3"], ["task 1"], ["task 2"]]
        assert others == [None]
        if not died:
            return
    raise AssertionError("a batch writes less than that")


def test_a_request_that_is_refused_does_not_stop_the_others(tmp_path: Path) -> None:
    world = World(data(tmp_path))
    agent, other = world.make_agent(), world.make_agent()
    world.send(agent, "before", otids=["an otid"])
    partly = [{"role": "user", "content": text, "otid": otid} for text, otid in (("before", "an otid"), ("new", "another"))]
    requests = [{"agent_id": agent, "messages": partly}, {"agent_id": other, "input": "hi"}]
    job = batches(world).create(CreateBatch.model_validate({"requests": requests}))
    assert "was used before" in job.metadata["refused"]["0"]
    done = finished(world, job)
    assert done.status is JobStatus.COMPLETED
    assert said(world, other) == ["hi"]


def test_a_model_is_looked_up_before_the_batch_is_stored_and_not_where_it_is_taken_over(tmp_path: Path) -> None:
    kept = data(tmp_path)
    world = World(kept)
    request = {"agent_id": world.make_agent(), "input": "hi", "override_model": "test/other"}
    known = kept.models.config

    def unknown(handle: str) -> object:
        raise NotFound(f"Handle {handle} not found")

    kept.models.config = unknown
    with pytest.raises(NotFound, match="test/other"):
        batches(world).create(CreateBatch.model_validate({"requests": [request]}))
    assert batches(world).list(Page()) == []
    kept.models.config = known
    world.sending.accept = lambda _request: (_ for _ in ()).throw(StoreUnavailable("later", 1.0))
    job = batches(world).create(CreateBatch.model_validate({"requests": [request]}))
    kept.models.config = unknown
    world = world.reborn()
    world.clock.sleep(61)
    world.engines.sweep.run()
    (run_id,) = batches(world).get(job.id).metadata["run_ids"]
    run = world.run(run_id).run
    assert (run.options.override_model, run.metadata["batch_id"]) == ("test/other", job.id)


def test_a_batch_of_failed_runs_has_failed(tmp_path: Path) -> None:
    world = World(data(tmp_path, in_turn(ModelAuthentication("no key"))))
    assert finished(world, batches(world).create(wanted([world.make_agent()]))).status is JobStatus.FAILED


def test_a_cancelled_batch_ends_its_runs(tmp_path: Path) -> None:
    world = World(data(tmp_path))
    agent = world.make_agent()
    job = batches(world).create(wanted([agent] * (AT_ONCE + 3)))
    batches(world).cancel(job.id)
    assert batches(world).get(job.id).status is JobStatus.CANCELLED
    assert finished(world, job).status is JobStatus.CANCELLED
    assert world.models.requests == []
    batches(world).cancel(job.id)


@pytest.mark.parametrize("answer", [204, WebFailure("refused")])
def test_the_end_of_a_batch_is_told_once(tmp_path: Path, answer: int | WebFailure) -> None:
    heard = Heard(answer)
    world = World(data(tmp_path), web=heard)
    job = batches(world).create(wanted([world.make_agent()], callback_url=URL))
    done = finished(world, job)
    world.clock.sleep(120)
    world.engines.sweep.run()
    assert [(post["job_id"], post["status"]) for post in heard.posts] == [(job.id, "completed")]
    assert (done.callback_status_code, done.callback_error) == ((204, None) if answer == 204 else (None, "refused"))
    assert not world.all_stores.due.all()


def test_a_batch_shows_whom_it_calls_without_what_may_be_secret(tmp_path: Path) -> None:
    heard, secret = Heard(204), "https://user:planted-word@example.test/done?token=planted-word"
    world = World(data(tmp_path), web=heard)
    job = batches(world).create(wanted([world.make_agent()], callback_url=secret))
    done = finished(world, job)
    assert heard.urls == [secret]
    (listed,) = batches(world).list(Page())
    assert {each.callback_url for each in (job, done, listed)} == {"https://example.test/done?token=***"}


def test_what_cannot_be_sent_is_refused_before_anything_is_stored(tmp_path: Path) -> None:
    world = World(data(tmp_path))
    agent = world.make_agent()
    with pytest.raises(NotFound):
        batches(world).create(wanted([agent, "agent-00000000-0000-4000-8000-000000000000"]))
    with pytest.raises(Unprocessable):
        batches(world).create(CreateBatch.model_validate({"requests": [{"agent_id": agent}]}))
    assert batches(world).list(Page()) == []
    for unknown in ("job-00000000-0000-4000-8000-000000000000", "x"):
        for ask in (batches(world).get, batches(world).cancel, lambda one: batches(world).messages(one, None, Page())):
            with pytest.raises(NotFound, match=unknown):
                ask(unknown)
