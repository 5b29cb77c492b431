"""A house with as many agents, blocks, tools, archives, folders, conversations and runs as are asked for, written straight to the
table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hibernaut.domain.files.piece_ids import piece_id
from hibernaut.ports.storage.table import Change, Table
from hibernaut.rest.dependencies import Services
from hibernaut.schemas.agents.agent import CreateAgentRequest, StoredAgent
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.agents.conversation_record import CreateConversation
from hibernaut.schemas.agents.group import GroupCreate
from hibernaut.schemas.agents.identity import CreateIdentity, IdentityType, StoredIdentity
from hibernaut.schemas.agents.schedule import CreateSchedule, RateSchedule
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.memory.block import CreateBlock
from hibernaut.schemas.memory.file import FileStatus, StoredFile
from hibernaut.schemas.memory.folder import CreateFolder
from hibernaut.schemas.memory.passage import CreateArchive, Passage
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.run import RunOptions, StoredRun
from hibernaut.schemas.stop import RunStatus
from hibernaut.schemas.tools.tool import ToolCreate
from hibernaut.services.agents.agents import AgentFilter
from hibernaut.services.conversations.conversation_lists import ConversationQuery
from hibernaut.services.per_tenant import PerTenant
from hibernaut.store.conversations.conversation_records import message_sent, run_ended
from hibernaut.store.runs.runs import RunState
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded, EmbeddedOverrides
from hibernaut.wiring.settings import EmbeddedSettings
from tests.budgets.lived import Lived

TENANT = "default"
SOURCE = 'def knock(door: str) -> str:\n    """Knock.\n\n    Args:\n        door: Which.\n    """\n    return door\n'
AT_ONCE = 90
"""Changes of one transaction."""


@dataclass
class Records:
    """`ids` fill the places in routes: `{agent_id}`, and `$agent` for a cursor in the middle of a list."""

    embedded: Embedded
    all_services: PerTenant[Services]
    services: Services
    ids: dict[str, str]
    lived: Lived
    _pieces: list[str] = field(default_factory=list)
    _messages: list[str] = field(default_factory=list)
    """Those of conversations other than the agents' own."""

    def path(self, route: str, of: str | None = None) -> str:
        """The route with ids in its places. `of`: whose ids, if they are not those of the records."""
        known = self.ids if of is None else {**self.ids, **self.lived.of(of)}
        return re.sub(r"\{(\w+)\}|\$(\w+)", lambda place: known.get(place.group(1) or f"middle {place.group(2)}", "x"), route)

    def forget(self) -> None:
        """What a warm process keeps of windows, as if it had just begun."""
        self.embedded.stores._window_ids._things.clear()

    def fill(self, size: int) -> None:
        """`size` of everything; the first agent has all conversations and runs, the first block and folder all agents."""
        services, stores = self.services, self.embedded.stores.of(TENANT)
        agent_id = services.agents.creation.create(CreateAgentRequest(name="first")).id
        agent = stores.agents.get(agent_id)
        head = stores.conversations.head(agent_id)
        block = services.blocks.create(CreateBlock(label="human", value="Ann"))
        tool = services.tools.save(ToolCreate(source_code=SOURCE))
        folder = services.folders.create(CreateFolder(name="first"))
        archive = services.archives.create(CreateArchive(name="first"))
        group = services.groups.create(GroupCreate(agent_ids=[agent_id], description="first"))
        services.group_messages.open(group.id)
        person = self._person(block.id)
        thread = services.conversations.openings.create(agent_id, CreateConversation())
        rate = RateSchedule(rate_expression="1 day")
        scheduled = services.schedules.create(agent_id, CreateSchedule(action="compaction", schedule=rate), None).id
        schedules = stores.schedules
        schedule = schedules.get(scheduled, self._now())
        record = stores.conversation_records.get(thread.id)
        thread_head = stores.conversations.head(thread.id)
        stored_archive = stores.archives.get(archive.id)
        assert agent is not None
        assert head is not None
        assert record is not None
        assert schedule is not None
        assert thread_head is not None
        assert stored_archive is not None
        made: dict[str, list[str]] = {name: [] for name in PREFIXES}
        changes: list[Change] = []
        for number in range(size - 1):
            ids = {name: self._new(prefix) for name, prefix in PREFIXES.items()}
            for name in made:
                made[name].append(ids[name])
            changes += [
                *stores.agents.create(other := self._agent(agent, ids["agent"], number, person.id), "t"),
                *stores.agent_marks.put(other),
                *self._log(head.model_copy(update={"agent_id": ids["agent"]}), ids["agent"]),
                *stores.blocks.create(copied(block, ids["block"], self._now(), identity_ids=[person.id]), "t"),
                *stores.identities.create(copied(person, ids["identity"], self._now(), identifier_key=ids["identity"]), "t"),
                *stores.tools.create(copied(tool, ids["tool"], self._now(), name=f"knock_{number}"), "t"),
                *stores.files.create(file := self._file(ids["file"], folder.id, f"file {number}.txt"), 0, "t"),
                *stores.files.pieces(file, [self._piece(file)])[:1],
                *stores.folders.create(copied(folder, ids["folder"], self._now(), name=f"folder {number}"), "t"),
                *stores.passages.make(copied(stored_archive, ids["archive"], self._now(), name=f"archive {number}")),
                *stores.conversation_records.create(copied(record, ids["conversation"], self._now()), "t")[:-1],
                *self._log(thread_head, ids["conversation"]),
                stores.blocks.attach(block.id, ids["agent"]),
                stores.identities.attach_block(person.id, ids["block"]),
                stores.folders.attach(folder.id, ids["agent"]),
                *stores.archives.attach(archive.id, ids["agent"], self._now()),
                *(stores.archives.attach(ids["archive"], agent_id, self._now()) if number < 40 else ()),
                *stores.groups.create(group.model_copy(update={"id": ids["group"]}), "t"),
                self._said_in(group.id),
                *stores.runs.create(RunState(self._run(ids["run"], agent_id)), None),
                *schedules.create(replace(schedule, record=copied(schedule.record, ids["schedule"], self._now())), "t")[:-1],
            ]
            if len(changes) > AT_ONCE - 40:
                stores.writer.write(*changes)
                changes = []
        if changes:
            stores.writer.write(*changes)
        for other_id in made["agent"][3::10]:
            stores.writer.write(stores.agents.run_ended(other_id, self._now(), 1, None))
        for other_id in made["conversation"][3::4]:
            run = self._run(made["run"][0], agent_id).model_copy(update={"conversation_id": other_id})
            stores.writer.write(*message_sent(TENANT, run, self._now()), *run_ended(TENANT, run, self._now()))
        services.agents.count(AgentFilter(name="first"))  # the first request of its kind looks for records of older data
        services.conversations.list(ConversationQuery(order_by="last_message_at"))
        run_id = made["run"][0]
        unknown = "00000000-0000-4000-8000-000000000000"
        self.ids = {
            "agent_id": agent_id,
            "block_id": block.id,
            "block_label": "human",
            "identity_id": person.id,
            "tool_id": tool.id,
            "folder_id": folder.id,
            "source_id": folder.id,
            "folder_name": "first",
            "source_name": "first",
            "file_id": f"file-{unknown}",
            "archive_id": archive.id,
            "conversation_id": thread.id,
            "run_id": run_id,
            "job_id": run_id,
            "step_id": f"step-{unknown}",
            "message_id": f"message-{unknown}",
            "provider_id": f"provider-{unknown}",
            "mcp_server_id": f"mcp_server-{unknown}",
            "middle piece": self._pieces[len(self._pieces) // 2],
            "middle message": self._messages[len(self._messages) // 2],
            "webhook_id": f"webhook-{unknown}",
            "policy_id": f"tool-policy-{unknown}",
            "sandbox_config_id": f"sandbox-{unknown}",
            "scheduled_message_id": scheduled,
            "event_id": f"evt-{unknown}",
            "group_id": group.id,
            "version": "1",
            "passage_id": f"passage-{unknown}",
            **{f"middle {name}": ids[len(ids) // 2] for name, ids in made.items()},
        }

    def _person(self, block_id: str) -> StoredIdentity:
        """An identity, which has the block."""
        made = self.services.identities.create(
            CreateIdentity(identifier_key="ann", name="Ann", identity_type=IdentityType.USER, block_ids=[block_id])
        )
        stored = self.embedded.stores.of(TENANT).identities.get(made.id)
        assert stored is not None
        return stored

    def _log(self, head: Head, conversation: str) -> list[Change]:
        """A conversation in which one thing was said."""
        text = [TextContent(text="Hello")]
        row = Message(id=self._new("message"), role="user", content=text, agent_id=head.agent_id, created_at=self._now())
        after = head.model_copy(update={"id": conversation, "last_message": row.id, "newest": [row.id]})
        if head.agent_id != conversation:
            self._messages.append(row.id)
        store = self.embedded.stores.of(TENANT).conversations
        return [store.create_head(after, "t"), store.put_message(conversation, row)]

    def _said_in(self, group_id: str) -> Change:
        """A message in the log of a group."""
        text = [TextContent(text="Hello")]
        row = Message(id=self._new("message"), role="user", content=text, agent_id=group_id, created_at=self._now())
        return self.embedded.stores.of(TENANT).conversations.put_message(group_id, row)

    def _run(self, run_id: str, agent_id: str) -> StoredRun:
        options = RunOptions(max_steps=1)
        return StoredRun(id=run_id, agent_id=agent_id, status=RunStatus.COMPLETED, created_at=self._now(), options=options)

    def _agent(self, agent: StoredAgent, agent_id: str, number: int, person: str) -> StoredAgent:
        """One of ten tags in turn, and the identity `person`. Those of the tag 3 have another one too."""
        at = self._now()
        tags = [f"tag {number % 10}", *(["both"] if number % 10 == 3 else [])]
        return copied(agent, agent_id, at, name=f"agent {number}", tags=tags, identity_ids=[person], updated_at=at)  # type: ignore[no-any-return]

    def _file(self, file_id: str, folder_id: str, name: str) -> StoredFile:
        now = self._now()
        return StoredFile(
            id=file_id,
            folder_id=folder_id,
            name=name,
            original_name=name,
            media_type="text/plain",
            size=1,
            status=FileStatus.COMPLETED,
            readable=True,
            created_at=now,
            updated_at=now,
        )

    def _piece(self, file: StoredFile) -> Passage:
        self._pieces.append(piece_id(file.id, 0))
        return Passage(id=self._pieces[-1], text="x", source_id=file.folder_id, file_id=file.id, created_at=self._now())

    def _new(self, prefix: str) -> str:
        return self.embedded.host.ids.new(prefix)

    def _now(self) -> Any:
        return self.embedded.host.clock.now()


PREFIXES = {
    "agent": "agent",
    "block": "block",
    "identity": "identity",
    "tool": "tool",
    "file": "file",
    "folder": "source",
    "archive": "archive",
    "conversation": "conv",
    "run": "run",
    "group": "group",
    "schedule": "schedule",
}


def copied(record: Any, identifier: str, now: Any, **fields: object) -> Any:
    return record.model_copy(update={"id": identifier, "created_at": now, **fields})


@contextmanager
def records_in(folder: Path, size: int, wrap: Callable[[Table], Table]) -> Iterator[Records]:
    """`wrap` stands between the house and its table."""
    embedded = Embedded(EmbeddedSettings(data=folder), EmbeddedOverrides(table=wrap))
    try:
        all_services = services_of(embedded.stores, embedded.host, embedded.engines)
        records = Records(embedded, all_services, all_services.of(TENANT), {}, Lived(embedded, all_services))
        records.lived.fill(size)
        records.fill(size)
        yield records
    finally:
        embedded.close()
