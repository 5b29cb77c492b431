"""Every blob has one owner: after any history of writes, deletions, expiries and crashes, the collector leaves the blobs that are
named.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.blobs.s3 import S3Blobs
from hibernaut.adapters.clock import TimeOrderedIds
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.ports.storage.blobs import BlobEntry, Blobs
from hibernaut.ports.storage.table import Change, Check, ConditionFailed, Delete, Key
from hibernaut.schemas.agents.conversation import Head, Window
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.mcp.server import StoredMcpServer
from hibernaut.schemas.memory.file import ENDED, FileStatus, StoredFile, TextPart
from hibernaut.schemas.memory.passage import StoredArchive
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.events import DoneEvent
from hibernaut.schemas.runs.run import RunOptions, StoredRun
from hibernaut.schemas.runs.turn import Claim
from hibernaut.schemas.stop import RunStatus
from hibernaut.schemas.tools.sandbox import StoredVariable
from hibernaut.schemas.tools.tool import StoredTool
from hibernaut.schemas.tools.tool_policy import ToolPolicy
from hibernaut.store import blob_collector
from hibernaut.store.blob_collector import GRACE, ROUND
from hibernaut.store.memory.files import LeasedFile
from hibernaut.store.runs.runs import RunState, running
from hibernaut.store.stores import Stores
from hibernaut.store.table import blob_keys, keys
from hibernaut.store.table.bodies.codec import Codec
from tests.support.blobs import CountingBlobs, Dated, MemoryBlobs
from tests.support.clocks import ManualClock
from tests.support.tables import CountingTable

TENANT = "default"
AGENT = "agent-00000000-0000-4000-8000-000000000000"
SIZES = st.sampled_from([10, 70_000])
CRASHES = st.sampled_from([0, 0, 1, 2, 3, 4, 5, 6, 7, 9, 12])


class Died(BaseException):
    """The worker is gone."""


class History(RuleBasedStateMachine):
    """Writers that die at any call of the table or the blobs, collectors that run at any time, items that expire."""

    def __init__(self, engine: Blobs, table: Path) -> None:
        super().__init__()
        self.clock = ManualClock(datetime.now(UTC))
        self.ids = TimeOrderedIds(self.clock)
        self.engine = SqliteTable(table, now=lambda: 0.0)
        self.kept = Dated(engine, self.clock)
        self.left = 0
        self.items: set[Key] = set()
        self.files: dict[str, StoredFile] = {}
        self.slow: list[tuple[datetime, list[Change]]] = []
        counted = CountingTable(self.engine, lambda _, kind: self.called(kind))
        blobs = CountingBlobs(self.kept, self.called)
        self.all_stores = Stores(counted, blobs, self.clock)
        self.stores = self.all_stores.of(TENANT)

    def teardown(self) -> None:
        try:
            self.left = 0
            self.collected()
        finally:
            self.engine.close()

    # dying

    def called(self, kind: str) -> None:
        """The worker dies before or after the call at which its life is over."""
        if self.left:
            self.left -= 1
            if not self.left:
                raise Died
        del kind

    def act(self, dies: int, act: Callable[[], None]) -> None:
        self.left = dies
        with suppress(Died, ConditionFailed):
            act()
        self.left = 0

    def write(self, *changes: Change) -> None:
        self.items |= {change.key for change in changes if not isinstance(change, Check)}
        self.stores.writer.write(*changes, token="")

    # records that are replaced

    @rule(size=SIZES, which=st.integers(0, 1), dies=CRASHES)
    def write_tool(self, size: int, which: int, dies: int) -> None:
        """Made, or replaced as a whole item."""
        tool_id = f"tool-0000000{which}-0000-4000-8000-000000000000"

        def act() -> None:
            before = self.stores.tools.get(tool_id)
            tool = StoredTool(id=tool_id, name=f"t{which}", source_code="x" * size)
            if before is None:
                self.write(*self.stores.tools.create(tool, "t"))
            else:
                after = before.model_copy(update={"source_code": "x" * size})
                self.write(*self.stores.tools.change(before, after, "t"))

        self.act(dies, act)

    @rule(which=st.integers(0, 1), dies=CRASHES)
    def delete_tool(self, which: int, dies: int) -> None:
        def act() -> None:
            tool = self.stores.tools.get(f"tool-0000000{which}-0000-4000-8000-000000000000")
            if tool is not None:
                self.write(*self.stores.tools.delete(tool))

        self.act(dies, act)

    # records of the tenant itself

    @rule(size=SIZES, dies=CRASHES, deletes=st.booleans())
    def write_sandbox(self, size: int, dies: int, deletes: bool) -> None:
        def act() -> None:
            before, now = self.stores.sandboxes.get(), self.clock.now()
            variable = StoredVariable(id="v", key="K", description="x" * size, created_at=now, updated_at=now)
            after = before.model_copy(update={"id": "sandbox-1", "variables": [variable]})
            to_delete = deletes and before.id
            self.write(self.stores.sandboxes.delete(before) if to_delete else self.stores.sandboxes.change(before, after, "t"))

        self.act(dies, act)

    @rule(size=SIZES, dies=CRASHES)
    def write_tool_policies(self, size: int, dies: int) -> None:
        def act() -> None:
            before, now = self.stores.tool_policies.get(), self.clock.now()
            policy = ToolPolicy(id="p", name="x" * size, action="deny", created_at=now, updated_at=now)
            self.write(self.stores.tool_policies.change(before, [policy], "t"))

        self.act(dies, act)

    @rule(size=SIZES, dies=CRASHES, deletes=st.booleans())
    def write_mcp_server(self, size: int, dies: int, deletes: bool) -> None:
        def act() -> None:
            servers, now = self.all_stores.of(TENANT).mcp_servers, self.clock.now()
            before = servers.get("mcp_server-1")
            parts = {"server_name": "s", "mcp_server_type": "stdio", "args": ["x" * size], "created_at": now, "updated_at": now}
            after = StoredMcpServer.model_validate({"id": "mcp_server-1", **parts})
            if before is None:
                self.write(*servers.create(after, "t"))
            else:
                self.write(*(servers.delete(before) if deletes else servers.change(before, after, "t")))

        self.act(dies, act)

    @rule(size=SIZES)
    def begin_to_write_slowly(self, size: int) -> None:
        """The blob is there, and its item will be, a while later."""
        archive = StoredArchive(id=self.ids.new("archive"), name="a", description="x" * size, created_at=self.clock.now())
        self.slow.append((self.clock.now(), self.stores.passages.make(archive)))

    @rule()
    def end_writing_slowly(self) -> None:
        began, changes = self.slow.pop() if self.slow else (self.clock.now(), [])
        if changes and self.clock.now() < began + GRACE:
            self.write(*changes)

    @rule(size=SIZES, dies=CRASHES, to_close=st.booleans())
    def change_archive(self, size: int, dies: int, to_close: bool) -> None:
        def act() -> None:
            for archive_id in self.stores.passages.archives():
                before = self.stores.archives.get(archive_id)
                if before is None:
                    continue
                if to_close:
                    self.write(*self.stores.archives.close(before, self.clock.now()))
                else:
                    after = before.model_copy(update={"description": "y" * size})
                    self.write(*self.stores.archives.change(before, after, "t"))

        self.act(dies, act)

    # a log and its runs

    @rule(size=SIZES, dies=CRASHES)
    def write_head(self, size: int, dies: int) -> None:
        def act() -> None:
            before = self.stores.conversations.head(AGENT)
            window = Window(pinned=["x" * size])
            if before is None:
                head = Head(id=AGENT, agent_id=AGENT, window=window, version=1, created_at=self.clock.now())
                self.write(self.stores.conversations.create_head(head, "t"))
            else:
                after = before.model_copy(update={"window": window, "version": before.version + 1})
                self.write(self.stores.conversations.change_head(before, after, "t"))

        self.act(dies, act)

    @rule(size=SIZES, dies=CRASHES, rewrite=st.booleans())
    def write_system_message(self, size: int, dies: int, rewrite: bool) -> None:
        row_id = "message-00000000-0000-4000-8000-000000000000"
        row = Message(
            id=row_id, role="system", content=[TextContent(text="x" * size)], agent_id=AGENT, created_at=self.clock.now()
        )
        self.act(dies, lambda: self.write(self.stores.conversations.put_message(AGENT, row, rewrite=rewrite)))

    @rule(size=SIZES, dies=CRASHES, which=st.integers(0, 1))
    def write_run(self, size: int, dies: int, which: int) -> None:
        """Made, or one commit more."""
        run_id = f"run-0000000{which}-0000-4000-8000-000000000000"

        def act() -> None:
            before = self.stores.runs.get(run_id)
            if before is None:
                run = StoredRun(
                    id=run_id,
                    agent_id=AGENT,
                    status=RunStatus.RUNNING,
                    created_at=self.clock.now(),
                    options=RunOptions(max_steps=1),
                    metadata={"x": "x" * size},
                )
                self.write(*self.stores.runs.create(RunState(run), None))
            else:
                run = before.run.model_copy(update={"metadata": {"y": "y" * size}})
                self.write(self.stores.runs.change(replace(before, run=run), running(before.attempt), None))

        self.act(dies, act)

    @rule(size=SIZES, dies=CRASHES, which=st.integers(0, 1))
    def write_work_of_a_run(self, size: int, dies: int, which: int) -> None:
        """A claim with its result, and a batch of events."""
        run_id = f"run-0000000{which}-0000-4000-8000-000000000000"

        def act() -> None:
            state = self.stores.runs.get(run_id)
            if state is None:
                return
            now = self.clock.now()
            claim = Claim(call_id=self.ids.token(), name="x" * size, holder="h", deadline=now)
            self.write(self.stores.runs.put_claim(state, claim, "c", now))
            self.write(self.stores.runs.finish_claim(state, claim.model_copy(update={"name": "y" * size}), "c"))
            events = [DoneEvent() for _ in range(size // 10)]
            self.write(self.stores.runs.put_events(run_id, len(self.items), events, now))

        self.act(dies, act)

    @rule(dies=CRASHES, which=st.integers(0, 1))
    def delete_run(self, dies: int, which: int) -> None:
        def act() -> None:
            state = self.stores.runs.get(f"run-0000000{which}-0000-4000-8000-000000000000")
            if state is not None:
                self.stores.deletion.run(state.run)

        self.act(dies, act)

    @rule(dies=CRASHES)
    def delete_the_agent(self, dies: int) -> None:
        """What lies under its id; the head that stands there goes with it."""
        self.act(dies, lambda: self.stores.deletion.agent(AGENT))

    # files

    @rule(parts=st.integers(0, 3), dies=CRASHES, fails=st.booleans())
    def read_a_file(self, parts: int, dies: int, fails: bool) -> None:
        def act() -> None:
            now = self.clock.now()
            file = StoredFile(
                id=self.ids.new("file"),
                folder_id="source-1",
                name="n",
                original_name="n",
                media_type="t",
                size=1,
                created_at=now,
                updated_at=now,
            )
            self.stores.files.put_bytes(file.id, b"bytes")
            self.files[file.id] = file
            self.write(self.stores.files.create(file, 0, "t")[0])
            for number in range(parts):
                self.stores.files.put_text(file.id, number, "text")
            texts = [] if fails else [TextPart(first_line=1, characters=4)] * parts
            status = FileStatus.ERROR if fails else FileStatus.COMPLETED
            done = file.model_copy(update={"parts": texts, "readable": not fails, "status": status})
            self.write(self.stores.files.work(LeasedFile(done, "", "", 0), "")[0])

        self.act(dies, act)

    @rule(dies=CRASHES)
    def delete_the_newest_file(self, dies: int) -> None:
        def act() -> None:
            file_id = max(self.files, default="")
            file = self.stores.files.get(file_id) if file_id else None
            if file is not None:
                self.write(self.stores.files.delete(file)[0])
                self.stores.files.forget_blobs(file)

        self.act(dies, act)

    # time

    @rule(hours=st.sampled_from([1, 7, 30, 24 * 9]))
    def time_passes(self, hours: int) -> None:
        """The engine drops what has expired."""
        self.clock.time += timedelta(hours=hours)
        for key, item in self.engine.get_many(list(self.items)).items():
            if "ttl" in item and int(item["ttl"]) <= self.clock.now().timestamp():
                self.engine.write(Delete(key))

    @rule(dies=CRASHES)
    def collect(self, dies: int) -> None:
        self.act(dies, lambda: self.all_stores.blob_collector.collect() and None)

    @invariant()
    def nothing_that_is_named_is_missing(self) -> None:
        there = {entry.key for entry in self.listed()}
        assert self.named() <= there

    def collected(self) -> None:
        """A round that begins when nobody can be writing any more leaves the blobs that are named, and no others."""
        self.slow.clear()
        for file_id in self.files:
            file = self.stores.files.get(file_id)
            if file is not None and file.status not in ENDED:  # whoever takes it up after a dead worker ends it
                failed = file.model_copy(update={"status": FileStatus.ERROR})
                self.write(self.stores.files.work(LeasedFile(failed, "", "", 0), "")[0])
        for _ in range(2):
            self.clock.time += max(GRACE, ROUND) + timedelta(days=1)
            for _ in range(len(self.listed()) // blob_collector.PAGE + 2):
                self.all_stores.blob_collector.collect()
        assert {entry.key for entry in self.listed()} == self.named()

    def listed(self) -> Sequence[BlobEntry]:
        return list(self.kept.list(limit=1000))

    def named(self) -> set[str]:
        items = self.engine.get_many(list(self.items))
        bodies = {str(item["blob"]) for item in items.values() if item.get("blob")}
        texts: set[str] = set()
        for key, item in items.items():
            if key.sk == keys.FILE and "v" in item:
                file = Codec(self.kept).record(StoredFile, item)
                texts |= {blob_keys.text_blob(TENANT, file.id, number) for number in range(len(file.parts))}
                texts.add(blob_keys.file_blob(TENANT, file.id))
        return bodies | texts


@pytest.fixture(params=["memory", "disk", "s3"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Blobs]]:
    """Makes empty engines, one after the other."""
    numbers = itertools.count()
    if request.param == "memory":
        yield lambda: MemoryBlobs(ManualClock())
        return
    if request.param == "disk":
        yield lambda: DiskBlobs(tmp_path / str(next(numbers)))
        return
    import boto3
    from moto import mock_aws

    with mock_aws():
        client = boto3.client("s3")

        def bucket() -> Blobs:
            name = f"blobs-{next(numbers)}"
            client.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
            return S3Blobs(name, client=client)

        yield bucket


def test_after_any_history_the_collector_leaves_the_blobs_that_are_named(
    engine: Callable[[], Blobs], tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blob_collector, "PAGE", 3)
    numbers = itertools.count()
    examples = {"memory": 120, "disk": 30, "s3": 15}[request.node.callspec.params["engine"]]
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        lambda: History(engine(), tmp_path / f"table-{next(numbers)}.db"),
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize=True,
        ),
    )
