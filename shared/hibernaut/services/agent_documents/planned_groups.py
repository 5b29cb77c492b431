"""The groups of an agent file: their agents are those of the file, and their settings are valid as in a request that creates a
group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from hibernaut.domain.agent_files.documents import texts
from hibernaut.domain.agent_files.notes import ImportNotes
from hibernaut.domain.agents.groups import check_lengths
from hibernaut.schemas.agents.group import SLEEPING, GroupCreate, ManagerType, StoredGroup
from hibernaut.schemas.agents.staged_import import StagedAgent
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.immutable import immutable
from hibernaut.services.agent_documents.kept_ids import KeptIds


@immutable
class GroupPlanning:
    """Plans the groups of one file. `agents`, `blocks`: what they may refer to, by the ids of the file."""

    kept: KeptIds
    notes: ImportNotes
    agents: Mapping[str, StagedAgent]
    blocks: Mapping[str, str]
    project_id: str | None

    def groups(self, raw: Sequence[JsonObject]) -> list[StoredGroup]:
        """The groups. Those that lack an agent of theirs, or whose settings are not valid, are left out. Sets the group on its
        manager: a manager of a sleep-time group has sleep-time on, which files do not say (RT 12.3).
        """
        groups = [group for entry in raw if (group := self._group(entry)) is not None]
        by_id = {one.agent.id: one for one in self.agents.values()}
        for group in sorted(groups, key=lambda one: one.manager_type in SLEEPING):
            if group.manager_agent_id:
                manager = by_id[group.manager_agent_id]
                manager.managed_group_id = group.id
                if group.manager_type in SLEEPING:
                    manager.agent.enable_sleeptime = True
        return groups

    def _group(self, raw: JsonObject) -> StoredGroup | None:
        place = str(raw["id"])
        request = self._request(raw)
        if request is None:
            self.notes.add("left_out", "group", place, "Groups whose agents or settings are not in the file were left out.")
            return None
        config = request.manager_config.model_dump()
        return StoredGroup(
            **config,
            id=self.kept.of("group", place),
            agent_ids=list(dict.fromkeys(request.agent_ids)),
            description=request.description,
            project_id=self.project_id,
            shared_block_ids=[self.blocks[one] for one in texts(raw.get("shared_block_ids")) if one in self.blocks],
            turns_counter=-1 if config.get("sleeptime_agent_frequency") else None,
            hidden=request.hidden,
        )

    def _request(self, raw: JsonObject) -> GroupCreate | None:
        """The group as a request with new ids; None if it is not possible."""
        raw_config = raw.get("manager_config")
        config = {name: one for name, one in raw_config.items() if one is not None} if isinstance(raw_config, dict) else {}
        members = texts(raw.get("agent_ids"))
        manager = config.get("manager_agent_id")
        if not members or any(one not in self.agents for one in members):
            return None
        if manager is not None:
            if manager not in self.agents:
                return None
            config["manager_agent_id"] = self.agents[manager].agent.id
        if "sleeptime_agent_frequency" not in config and config.get("manager_type") == ManagerType.SLEEPTIME:
            config["sleeptime_agent_frequency"] = None
        fields = {"agent_ids": [self.agents[one].agent.id for one in members], "description": raw.get("description") or ""}
        try:
            request = GroupCreate.model_validate(
                {**fields, "hidden": raw.get("hidden"), **({"manager_config": config} if config else {})}
            )
            settings = request.manager_config.model_dump()
            check_lengths(settings.get("max_message_buffer_length"), settings.get("min_message_buffer_length"))
        except (ValidationError, InvalidArgument):
            return None
        names = {self.agents[one].agent.name for one in members}
        return None if request.manager_config.manager_type is ManagerType.DYNAMIC and len(names) < len(members) else request
