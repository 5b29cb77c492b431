"""Groups: create, find, update and delete them, attach and detach their blocks (Letta V1 API, API 3 and 4.11; RT 9).

A deleted agent stays in `agent_ids`, as in Letta V1: what uses the group says which agents are missing (`members`). Must not know
how the agents of a group talk to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hibernaut.domain.agents.group_turns import is_group
from hibernaut.domain.agents.groups import check_lengths
from hibernaut.domain.agents.sleeptime import pending
from hibernaut.domain.wire.listing import Page
from hibernaut.ports.storage.table import Change, Item
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.group import (
    SLEEPING,
    GroupCreate,
    GroupUpdate,
    ManagerConfigUpdate,
    ManagerType,
    StoredGroup,
)
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import InvalidArgument, NotFound
from hibernaut.schemas.immutable import immutable
from hibernaut.services.agents.agent_parts import refuse_equal_labels
from hibernaut.services.agents.sleeptime_pairs import unmanaged
from hibernaut.services.conversations.conversation_deletion import ConversationDeletion
from hibernaut.services.records import Records, by_key, each_key_once
from hibernaut.store.deletion import DeletionTombstone
from hibernaut.store.table.lists.row_lists import RowList
from hibernaut.store.versions.version_store import UNKNOWN, Edit

MOST_AGENTS = 100
"""The largest number of agents in a group."""


@immutable
class GroupFilter:
    """The filter of a list of groups. `hidden`: include hidden groups."""

    manager_type: ManagerType | None = None
    project_id: str | None = None
    hidden: bool = False

    def among(self, rows: Sequence[Item]) -> list[Item]:
        """The list rows, or links, that pass the filter."""
        return [row for row in rows if self._admits(row)]

    def _admits(self, row: Item) -> bool:
        if row["hidden"] and not self.hidden:
            return False
        exact = {"manager_type": self.manager_type, "project_id": self.project_id}
        return all(expected is None or row[name] == expected for name, expected in exact.items())


class Groups:
    """The use cases of groups."""

    def __init__(self, records: Records, ends: ConversationDeletion) -> None:
        """`ends`: ends the conversation of a group that is deleted."""
        self._records = records
        self._ends = ends
        self._groups = records.groups

    def create(self, request: GroupCreate, *, key_id: str | None = None) -> StoredGroup:
        """Create a group, and attach the shared blocks to its agents and its manager. One that has the id of the request is
        returned as it is.
        `key_id`: the caller's API key.

        Raises: NotFound (an agent or a block), InvalidArgument, Conflict (an agent has another block with the label of a shared
        one).
        """

        def attempt() -> StoredGroup:
            if request.id is not None and (existing := self._groups.get(request.id)) is not None:
                return existing
            group, token = self._new(request), self._records.ids.token()
            agents = self._agents(group)
            changed_agents = self._managing(group, agents, self._sharing(group, agents))
            self._records.write(
                [*self._changes(agents, changed_agents, token, by_key(key_id))], self._groups.create(group, token), token
            )
            return group

        return self._records.until_settled(attempt)

    def _new(self, request: GroupCreate) -> StoredGroup:
        config = request.manager_config.model_dump()
        check_lengths(config.get("max_message_buffer_length"), config.get("min_message_buffer_length"))
        counts = bool(config.get("sleeptime_agent_frequency"))
        return StoredGroup(
            **config,
            id=request.id or self._records.ids.new("group"),
            agent_ids=request.agent_ids,
            description=request.description,
            project_id=request.project_id,
            shared_block_ids=list(dict.fromkeys(request.shared_block_ids)),
            turns_counter=-1 if counts else None,
            hidden=request.hidden,
        )

    def retrieve(self, group_id: str) -> StoredGroup:
        """The group. Raises: NotFound."""
        group = self._groups.get(group_id)
        if group is None:
            raise no_group(group_id)
        return group

    def members(self, group: StoredGroup) -> Sequence[StoredAgent]:
        """The agents of a group in their order, and its manager, if it has one, as the last. Raises: NotFound that names each
        deleted agent.
        """
        ids = [*group.agent_ids, *([group.manager_agent_id] if group.manager_agent_id else [])]
        found = self._records.agents.get_many([agent_id for agent_id in dict.fromkeys(ids) if not is_group(agent_id)])
        if missing := [agent_id for agent_id in ids if agent_id not in found]:
            raise NotFound(f"These agents of the group do not exist, or not any more: {', '.join(missing)}")
        return [found[agent_id] for agent_id in ids]

    def list(self, filters: GroupFilter, page: Page) -> Sequence[StoredGroup]:
        """A page of the groups that pass the filter, by creation time. Raises: NotFound for a cursor."""
        return self._page(self._groups.listed(), filters, page)

    def of_agent(self, agent_id: str, filters: GroupFilter, page: Page) -> Sequence[StoredGroup]:
        """A page of the groups that the agent is in. Raises: NotFound for the agent or a cursor."""
        self._records.agent(agent_id)
        return self._page(self._groups.of_agent(agent_id), filters, page)

    def _page(self, rows: RowList, filters: GroupFilter, page: Page) -> Sequence[StoredGroup]:
        ids = [rows.id_of(row) for row in rows.page(page, filters.among)]
        found = self._groups.get_many(ids)
        return [found[group_id] for group_id in ids if group_id in found]

    def count(self) -> int:
        """The number of groups of the tenant."""
        return self._groups.listed().count()

    def update(self, group_id: str, request: GroupUpdate, *, key_id: str | None = None) -> StoredGroup:
        """Apply the fields that are not null. The blocks of the agents stay as they are. `key_id`: the caller's API key.

        Raises: NotFound, InvalidArgument (another manager type), Conflict.
        """

        def decide(before: StoredGroup) -> StoredGroup:
            changes: JsonObject = {name: value for name, value in _set_fields(request) if value is not None}
            if request.manager_config is not None:
                changes |= self._settings(before, request.manager_config)
            self._records.existing_blocks(request.shared_block_ids or ())
            return before.model_copy(update=changes)

        return self._changed(group_id, decide, by_key(key_id))

    def _settings(self, before: StoredGroup, config: ManagerConfigUpdate) -> JsonObject:
        if config.manager_type != before.manager_type:
            raise InvalidArgument(
                f"INVALID_ARGUMENT: The manager type of a group cannot be changed: it is {before.manager_type}, not {config.manager_type}."
            )
        settings: JsonObject = config.model_dump(exclude_none=True)
        if settings.get("sleeptime_agent_frequency") and before.turns_counter is None:
            settings["turns_counter"] = -1
        after = before.model_copy(update=settings)
        check_lengths(after.max_message_buffer_length, after.min_message_buffer_length)
        return settings

    def attach_block(self, group_id: str, block_id: str) -> None:
        """Add a block to the group's shared blocks; idempotent. The agents do not get it, as in Letta V1. Raises: NotFound."""
        self._records.block(block_id)
        self._changed(group_id, lambda group: _with_blocks(group, dict.fromkeys([*group.shared_block_ids, block_id])))

    def detach_block(self, group_id: str, block_id: str) -> None:
        """Remove a block from the group's shared blocks; idempotent. Raises: NotFound."""
        self._records.block(block_id)
        self._changed(group_id, lambda group: _with_blocks(group, [one for one in group.shared_block_ids if one != block_id]))

    def delete(self, group_id: str, *, key_id: str | None = None) -> None:
        """Delete a group with its conversation; its agents stay. What waits to be done for it is dropped. `key_id`: the caller's
        API key.

        A second call resumes an interrupted deletion. Raises: NotFound, Conflict.
        """

        def attempt() -> None:
            group, token = self.retrieve(group_id), self._records.ids.token()
            changes = unmanaged(self._records, group, token, by_key(key_id)) if group.manager_agent_id else []
            idle = self._records.sleeptime_triggers.not_idle(group.id)
            self._records.write([*changes, idle], [*self._groups.delete(group), *self._silenced(group)], token)

        if not self._ends.go_on(group_id):
            self._records.until_settled(attempt)
            self._ends.go_on(group_id)

    def _silenced(self, group: StoredGroup) -> Sequence[Change]:
        """The changes that delete the conversation of a group, whose runs end first; none if nothing was ever sent to it."""
        self._ends.end_runs(group.id)
        records, deletion = self._records, self._records.deletion
        agent, head = records.agents.get(group.id), records.conversations.head(group.id)
        if agent is None or head is None:
            return []
        mark = deletion.tombstone(group.id, DeletionTombstone(group.id), records.clock.now())
        return [records.agents.delete_unlisted(agent), deletion.head(head), mark]

    def _changed(self, group_id: str, decide: Callable[[StoredGroup], StoredGroup], edit: Edit = UNKNOWN) -> StoredGroup:
        def attempt() -> StoredGroup:
            before = self.retrieve(group_id)
            after, token = decide(before), self._records.ids.token()
            if after == before:
                return before
            changes: list[Change] = [*self._idle(before, after)]
            if (after.agent_ids, after.manager_agent_id) != (before.agent_ids, before.manager_agent_id):
                agents = self._agents(after)
                changes += self._changes(agents, self._managing(after, agents, {}), token, edit)
            if before.manager_agent_id and after.manager_agent_id != before.manager_agent_id:
                changes += unmanaged(self._records, before, token, edit)
            self._records.write(each_key_once(changes), self._groups.change(before, after, token), token)
            return after

        return self._records.until_settled(attempt)

    def _idle(self, before: StoredGroup, after: StoredGroup) -> Sequence[Change]:
        """The change of the end of the idle time, if another one is set; it begins now if there is something to tell."""
        triggers, seconds = self._records.sleeptime_triggers, after.sleeptime_idle_seconds
        if seconds == before.sleeptime_idle_seconds:
            return []
        if seconds and pending(after):
            return [triggers.idle_from(after.id, self._records.clock.now(), seconds)]
        return [triggers.not_idle(after.id)]

    # the agents of a group

    def _agents(self, group: StoredGroup) -> dict[str, StoredAgent]:
        """The agents of the group and its manager, by id. Raises: NotFound, InvalidArgument."""
        if len(group.agent_ids) > MOST_AGENTS:
            raise InvalidArgument(f"INVALID_ARGUMENT: A group has at most {MOST_AGENTS} agents, not {len(group.agent_ids)}.")
        if len(set(group.agent_ids)) < len(group.agent_ids):
            raise InvalidArgument("INVALID_ARGUMENT: Duplicate agent ids: an agent is in a group once.")
        agents = {agent.id: agent for agent in self.members(group)}
        names = [agents[agent_id].name for agent_id in group.agent_ids]
        if group.manager_type is ManagerType.DYNAMIC and len(set(names)) < len(names):
            raise InvalidArgument(
                "INVALID_ARGUMENT: Duplicate agent names: the manager of a dynamic group chooses agents by name."
            )
        return agents

    def _sharing(self, group: StoredGroup, agents: Mapping[str, StoredAgent]) -> dict[str, StoredAgent]:
        """The agents with the shared blocks, by id, as far as they lack any."""
        shared = self._records.existing_blocks(group.shared_block_ids)
        changed_agents: dict[str, StoredAgent] = {}
        for agent in agents.values() if shared else ():
            if lacking := [block for block in shared if block.id not in agent.block_ids]:
                refuse_equal_labels([*self._records.blocks_of(agent), *lacking])
                changed_agents[agent.id] = agent.model_copy(
                    update={
                        "block_ids": [*agent.block_ids, *(block.id for block in lacking)],
                        "updated_at": self._records.clock.now(),
                    }
                )
        return changed_agents

    def _managing(
        self, group: StoredGroup, agents: Mapping[str, StoredAgent], changed_agents: Mapping[str, StoredAgent]
    ) -> dict[str, StoredAgent]:
        """The changed agents, with the manager that shows this group as its own: the newest one, but a sleep-time group before
        any other.
        """
        if not group.manager_agent_id:
            return dict(changed_agents)
        manager = changed_agents.get(group.manager_agent_id, agents[group.manager_agent_id])
        if manager.managed_group_id == group.id:
            return dict(changed_agents)
        current_group = self._groups.get(manager.managed_group_id) if manager.managed_group_id else None
        if current_group is not None and current_group.manager_type in SLEEPING and group.manager_type not in SLEEPING:
            return dict(changed_agents)
        return {**changed_agents, manager.id: manager.model_copy(update={"managed_group_id": group.id})}

    def _changes(
        self, agents: Mapping[str, StoredAgent], changed_agents: Mapping[str, StoredAgent], token: str, edit: Edit
    ) -> Sequence[Change]:
        """The changes of the agents. Those that do not change must exist. The shared blocks must, too."""
        records = self._records
        new = {
            agent_id: [each for each in one.block_ids if each not in agents[agent_id].block_ids]
            for agent_id, one in changed_agents.items()
        }
        return [
            *(records.blocks.must_exist(block_id) for block_id in dict.fromkeys(each for ids in new.values() for each in ids)),
            *(records.blocks.attach(block_id, agent_id) for agent_id, ids in new.items() for block_id in ids),
            *(each for one in changed_agents.values() for each in records.agents.change(agents[one.id], one, token, edit)),
            *(records.agents.must_exist(agent_id) for agent_id in agents if agent_id not in changed_agents),
        ]


def no_group(group_id: str) -> NotFound:
    """The error for a group that does not exist."""
    return NotFound(f"Group with ID {group_id} not found")


def _set_fields(request: GroupUpdate) -> Sequence[tuple[str, object]]:
    names = ("agent_ids", "description", "project_id", "shared_block_ids", "hidden")
    return [(name, getattr(request, name)) for name in names]


def _with_blocks(group: StoredGroup, block_ids: Sequence[str] | Mapping[str, None]) -> StoredGroup:
    return group.model_copy(update={"shared_block_ids": list(block_ids)})
