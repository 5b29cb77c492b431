"""The stores that the use cases of records share, and their optimistic changes with retries.

Knows the stores and the limits of a transaction. Must not know what a change means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeVar

from hibernaut.domain.agents.group_turns import is_group
from hibernaut.ports.clock import Clock, Ids
from hibernaut.ports.storage.table import MAX_BYTES, MAX_CHANGES, Change, Check, ConditionFailed, Put, Update
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.agents.conversation_record import StoredConversation
from hibernaut.schemas.agents.identity import StoredIdentity
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.ids import is_id
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.memory.folder import StoredFolder
from hibernaut.schemas.memory.version import Author
from hibernaut.schemas.tools.tool import StoredTool
from hibernaut.store.agents.agent_marks import AgentMarks
from hibernaut.store.agents.agents import AgentStore
from hibernaut.store.agents.tools import ToolStore
from hibernaut.store.conversations.conversation_orders import ConversationOrders
from hibernaut.store.conversations.conversation_records import ConversationRecordStore
from hibernaut.store.conversations.conversations import ConversationStore
from hibernaut.store.conversations.window_ids import WindowIds
from hibernaut.store.deletion import Deletion
from hibernaut.store.events.outbox import EventOutbox, WantedReading
from hibernaut.store.groups.groups import GroupStore
from hibernaut.store.groups.sleeptime_triggers import SleeptimeTriggerStore
from hibernaut.store.identities.identities import IdentityStore
from hibernaut.store.memory.archives import ArchiveStore
from hibernaut.store.memory.blocks import BlockStore
from hibernaut.store.memory.files import FileStore
from hibernaut.store.memory.folders import FolderStore
from hibernaut.store.runs.approvals import ApprovalStore
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.optimistic_retry import until_settled
from hibernaut.store.table.secret_vault import SecretVault
from hibernaut.store.table.writer import Writer
from hibernaut.store.versions.version_store import UNKNOWN, Edit, VersionStore

_BYTES = MAX_BYTES * 3 // 4
AGENTS_AT_ONCE = 25
"""The largest number of agents that one transaction changes. A concurrent change of one of them repeats that of the others."""
Decision = Callable[[StoredAgent], tuple[StoredAgent, Sequence[Change]]]
"""Returns an agent after a change, and further changes of its transaction; the same object: nothing changes."""
Links = Callable[[str], Sequence[Change]]
"""Returns the changes of the link rows of an agent, by its id."""

T = TypeVar("T")


@immutable
class Records:
    """The stores of one tenant, with look-ups that raise NotFound and with retries of optimistic changes."""

    tenant: str
    agents: AgentStore
    agent_marks: AgentMarks
    groups: GroupStore
    sleeptime_triggers: SleeptimeTriggerStore
    identities: IdentityStore
    blocks: BlockStore
    tools: ToolStore
    conversations: ConversationStore
    conversation_records: ConversationRecordStore
    conversation_orders: ConversationOrders
    writer: Writer
    deletion: Deletion
    window_ids: WindowIds
    approvals: ApprovalStore
    folders: FolderStore
    files: FileStore
    archives: ArchiveStore
    secrets: SecretVault
    versions: VersionStore
    events: EventOutbox
    clock: Clock
    ids: Ids

    def agent(self, agent_id: str) -> StoredAgent:
        """Raises: NotFound, also for the id of a group, whose conversation has the form of an agent's."""
        if is_group(agent_id):
            raise NotFound(f"Agent with ID {agent_id} not found")
        return self.agent_or_group(agent_id)

    def agent_or_group(self, agent_id: str) -> StoredAgent:
        """The agent, or the group in its place. Raises: NotFound."""
        agent = self.agents.get(agent_id)
        if agent is None:
            raise NotFound(f"Agent with ID {agent_id} not found")
        return agent

    def head(self, agent_id: str) -> Head:
        """The head of the agent's default conversation. Raises: NotFound."""
        head = self.conversations.head(agent_id)
        if head is None:
            raise NotFound(f"Agent with ID {agent_id} not found")
        return head

    def conversation(self, conversation_id: str) -> StoredConversation:
        """Raises: NotFound."""
        record = self.conversation_records.get(conversation_id)
        if record is None:
            raise no_conversation(conversation_id)
        return record

    def block(self, block_id: str, events: WantedReading | None = None) -> StoredBlock:
        """The block. `events`: read in the same request. Raises: NotFound."""
        block = self.blocks.get(block_id, events) if is_id(block_id, "block") else None
        if block is None:
            raise NotFound(f"Block with id '{block_id}' not found")
        return block

    def existing_blocks(self, block_ids: Sequence[str]) -> list[StoredBlock]:
        """The blocks, each once, in the order of their ids, read at once. Raises: NotFound if one does not exist."""
        return _all_existing(block_ids, "block", self.blocks.get_many, self.block)

    def tool(self, tool_id: str) -> StoredTool:
        """Raises: NotFound."""
        tool = self.tools.get(tool_id) if is_id(tool_id, "tool") else None
        if tool is None:
            raise NotFound(f"Tool with id {tool_id} not found.")
        return tool

    def existing_tools(self, tool_ids: Sequence[str]) -> list[StoredTool]:
        """As `existing_blocks`. Raises: NotFound."""
        return _all_existing(tool_ids, "tool", self.tools.get_many, self.tool)

    def folder(self, folder_id: str) -> StoredFolder:
        """Raises: NotFound."""
        folder = self.folders.get(folder_id) if is_id(folder_id, "source") else None
        if folder is None:
            raise NotFound(f"Source not found with id='['{folder_id}']'")
        return folder

    def existing_folders(self, folder_ids: Sequence[str]) -> list[StoredFolder]:
        """As `existing_blocks`. Raises: NotFound."""
        return _all_existing(folder_ids, "source", self.folders.get_many, self.folder)

    def identity(self, identity_id: str) -> StoredIdentity:
        """Raises: NotFound."""
        identity = self.identities.get(identity_id) if is_id(identity_id, "identity") else None
        if identity is None:
            raise no_identity(identity_id)
        return identity

    def existing_identity_ids(self, identity_ids: Sequence[str]) -> list[str]:
        """The ids, each once, in their order. Raises: NotFound if an identity does not exist."""
        return [one.id for one in _all_existing(identity_ids, "identity", self.identities.get_many, self.identity)]

    def blocks_of(self, agent: StoredAgent) -> list[StoredBlock]:
        """The agent's blocks in the order of attachment."""
        found = self.blocks.get_many(agent.block_ids)
        return [found[block_id] for block_id in agent.block_ids if block_id in found]

    def tools_of(self, agent: StoredAgent) -> list[StoredTool]:
        """The agent's tools in the order of attachment."""
        found = self.tools.get_many(agent.tool_ids)
        return [found[tool_id] for tool_id in agent.tool_ids if tool_id in found]

    def until_settled(self, attempt: Callable[[], T]) -> T:
        """The result of `attempt`, as `until_settled` of the store repeats it. Raises: Conflict, and what `attempt` raises."""
        return until_settled(attempt, "CONFLICT: The record keeps being changed by other requests; try again.")

    def change_agent(
        self,
        agent_id: str,
        decide: Decision,
        user: str | None,
        edit: Edit = UNKNOWN,
    ) -> StoredAgent:
        """Change one agent. `decide` receives the current agent and returns the new one and further changes of the transaction.
        `edit`: its author.

        Nothing is written if `decide` returns the same object and no further change. Raises: NotFound, Conflict, and what
        `decide` raises.
        """

        def attempt() -> StoredAgent:
            before = self.agent(agent_id)
            after, further = decide(before)
            if after is before and not further:
                return before
            stamps = {"updated_at": self.clock.now(), "last_updated_by_id": user or before.last_updated_by_id}
            after = after.model_copy(update=stamps)
            before = self.approach(before, after, edit)
            token = self.ids.token()
            gained_marks, lost_marks = self.agent_marks.change(before, after)
            self.write(further, [*self.agents.change(before, after, token, edit), *gained_marks, *lost_marks], token)
            return after.model_copy(update={"version": before.version + 1})

        return self.until_settled(attempt)

    def change_agents(self, agent_ids: Sequence[str], decide: Decision, links: Links, edit: Edit = UNKNOWN) -> None:
        """Change the agents that exist among these, as many in one transaction as fit. `decide`: as in `change_agent`; its change
        may not gain or lose more than a few marks. `links`: further changes for each id, also of a deleted agent.

        Raises: Conflict if other requests keep changing an agent; the agents before it are changed.
        """
        for start in range(0, len(agent_ids), AGENTS_AT_ONCE):
            some = agent_ids[start : start + AGENTS_AT_ONCE]
            try:
                self._change_some(some, decide, links, edit)
            except ConditionFailed:  # another request changes one of them
                for agent_id in some:
                    self.until_settled(lambda: self._change_some([agent_id], decide, links, edit))  # noqa: B023  called at once

    def _change_some(self, agent_ids: Sequence[str], decide: Decision, links: Links, edit: Edit) -> None:
        """One attempt at `change_agents`. Raises: ConditionFailed."""
        agents, token, now = self.agents.get_many(agent_ids), self.ids.token(), self.clock.now()
        groups: list[list[Change]] = []
        for agent_id in agent_ids:
            changes = list(links(agent_id))
            if (before := agents.get(agent_id)) is not None:
                after, further = decide(before)
                changes += further
                if after is not before:
                    after = after.model_copy(update={"updated_at": now})
                    gained_marks, lost_marks = self.agent_marks.change(before, after)
                    changes += [*self.agents.change(before, after, token, edit), *gained_marks, *lost_marks]
            groups.append(changes)
        for page in filter(None, _packed(groups)):
            self.writer.write(*page, token=token)

    def approach(self, before: StoredAgent, after: StoredAgent, edit: Edit = UNKNOWN) -> StoredAgent:
        """Change an agent step by step until the way to `after` is one transaction. Returns the agent as it is then.

        Raises: NotFound, and ConditionFailed if another request changes the agent.
        """
        while (middle := self.agent_marks.between(before, after)) is not None:
            token = self.ids.token()
            gained_marks, lost_marks = self.agent_marks.change(before, middle)
            self.writer.write(*self.agents.change(before, middle, token, edit), *gained_marks, *lost_marks, token=token)
            expected, before = before.version + 1, self.agent(before.id)
            if before.version != expected:
                raise ConditionFailed({})
        return before

    def write(self, children: Sequence[Change], parents: Sequence[Change], token: str) -> None:
        """Write all changes in one transaction if they fit; else the children in several, then the parents that make them
        visible.

        Raises: ConditionFailed, and what the writer raises.
        """
        pages = list(_pages([*children, *parents]))
        if len(pages) > 1:
            pages = [*_pages(children), list(parents)]
        for page in filter(None, pages):
            self.writer.write(*page, token=token)


def each_key_once(changes: Sequence[Change]) -> list[Change]:
    """The changes without repeated checks, and without checks of items that another change writes: a transaction names an item
    once.
    """
    written_keys = {change.key for change in changes if not isinstance(change, Check)}
    checks = {change.key: change for change in changes if isinstance(change, Check) and change.key not in written_keys}
    return [*(change for change in changes if not isinstance(change, Check)), *checks.values()]


def without(field: Literal["block_ids", "identity_ids", "tool_ids"], part_id: str) -> Decision:
    """The change of an agent that takes a part from one of its lists. An agent that does not have the part stays as it is."""

    def decide(agent: StoredAgent) -> tuple[StoredAgent, Sequence[Change]]:
        part_ids: list[str] = getattr(agent, field)
        if part_id not in part_ids:
            return agent, []
        return agent.model_copy(update={field: [one for one in part_ids if one != part_id]}), []

    return decide


def by_key(key_id: str | None) -> Edit:
    """A change that a request to the API makes. `key_id`: the caller's API key, if it has one."""
    return Edit(Author(source="api", key_id=key_id))


def no_conversation(conversation_id: str) -> NotFound:
    """The error for a conversation that does not exist."""
    return NotFound(f"Conversation not found with id='['{conversation_id}']'")


def no_archive(archive_id: str) -> NotFound:
    """The error for an archive that does not exist."""
    return NotFound(f"Archive not found with id='['{archive_id}']'")


def no_identity(identity_id: str) -> NotFound:
    """The error for an identity that does not exist."""
    return NotFound(f"Identity not found with id='['{identity_id}']'")


def records_over(stores: TenantStores, clock: Clock, ids: Ids) -> Records:
    """The `Records` of a tenant."""
    return Records(
        tenant=stores.tenant,
        agents=stores.agents,
        agent_marks=stores.agent_marks,
        groups=stores.groups,
        sleeptime_triggers=stores.sleeptime_triggers,
        identities=stores.identities,
        blocks=stores.blocks,
        tools=stores.tools,
        conversations=stores.conversations,
        conversation_records=stores.conversation_records,
        conversation_orders=stores.conversation_orders,
        writer=stores.writer,
        deletion=stores.deletion,
        window_ids=stores.window_ids,
        approvals=stores.approvals,
        folders=stores.folders,
        files=stores.files,
        archives=stores.archives,
        secrets=stores.secrets,
        versions=stores.versions,
        events=stores.events,
        clock=clock,
        ids=ids,
    )


def _pages(changes: Sequence[Change]) -> list[list[Change]]:
    return _packed([change] for change in changes)


def _packed(groups: Iterable[Sequence[Change]]) -> list[list[Change]]:
    """The groups in as few transactions as their order permits. A group is not divided."""
    pages: list[list[Change]] = [[]]
    size = 0
    for group in groups:
        bytes_more = sum(map(size_of_change, group))
        if pages[-1] and (len(pages[-1]) + len(group) > MAX_CHANGES or size + bytes_more > _BYTES):
            pages.append([])
            size = 0
        pages[-1] += group
        size += bytes_more
    return pages


def size_of_change(change: Change) -> int:
    """The approximate size of a change in bytes: that of its values."""
    values = change.item if isinstance(change, Put) else change.set if isinstance(change, Update) else {}
    return sum(len(value.encode()) if isinstance(value, str) else 8 for value in values.values())


def _all_existing(
    record_ids: Sequence[str], kind: str, read: Callable[[Sequence[str]], Mapping[str, T]], read_one: Callable[[str], T]
) -> list[T]:
    """The records of the ids, each once and in their order, by one read. `kind`: the prefix of the ids. `read_one` reads what
    `read` lacks, and raises what is wrong with it.
    """
    ids = list(dict.fromkeys(record_ids))
    wanted = [one for one in ids if is_id(one, kind)]
    found = read(wanted) if wanted else {}
    return [found[record_id] if record_id in found else read_one(record_id) for record_id in ids]
