"""Updates of an agent: PATCH, and attaching and detaching its parts (Letta V1 API, API 2.2, 2.5, 2.6 and 4.3).

An update does not write the system message: the next run recompiles it at its start, or a request for it does. Must not know how
an agent is rendered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from hibernaut.domain.agents.agent_names import check_name
from hibernaut.domain.tools import tool_rules
from hibernaut.ports.model import Models
from hibernaut.ports.storage.table import Change
from hibernaut.schemas.agents.agent import StoredAgent, UpdateAgent
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.events.facts import MemoryChanged
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule, ToolRule
from hibernaut.services.agents.agent_creation import AgentCreation
from hibernaut.services.agents.agent_folders import filled_desk, folder_links, tools_with, wanted_folders
from hibernaut.services.agents.agent_models import changed_compaction, changed_model, checked_fallbacks
from hibernaut.services.agents.agent_parts import approval_rules, checked_files_open, new_secrets, refuse_equal_labels
from hibernaut.services.agents.agent_windows import AgentWindows
from hibernaut.services.agents.sleeptime_pairs import sharing, sleeping_group
from hibernaut.services.records import Records, by_key, each_key_once

_COPIED = (
    "name",
    "system",
    "tool_rules",
    "description",
    "metadata",
    "project_id",
    "template_id",
    "base_template_id",
    "response_format",
    "enable_sleeptime",
    "timezone",
    "max_files_open",
    "per_file_view_window_char_limit",
    "hidden",
    "message_buffer_autoclear",
    "last_run_completion",
    "last_run_duration_ms",
    "last_stop_reason",
)
"""The fields that an update copies unchanged."""


class AgentUpdates:
    """Applies PATCH, attach and detach to agents. `key_id`: the API key of the caller, for the version that the change writes."""

    def __init__(self, records: Records, *, models: Models, windows: AgentWindows, creation: AgentCreation) -> None:
        self._records = records
        self._models = models
        self._windows = windows
        self._creation = creation

    def update(self, agent_id: str, request: UpdateAgent, *, user: str | None = None, key_id: str | None = None) -> StoredAgent:
        """Apply the fields that are not null; a list replaces the old one. An explicit null clears `approval_deadline` and
        `fallback_models`. `enable_sleeptime` creates a sleep-time agent if the agent has none.

        Raises: NotFound, InvalidArgument, Unprocessable (rules), Conflict (equal labels), Busy (a new window while a run owns
        the conversation).
        """

        def decide(agent: StoredAgent) -> tuple[StoredAgent, list[Change]]:
            changes = self._changes(agent, request)
            after = agent.model_copy(update=changes)
            tool_rules.check_children(request.tool_rules or ())
            after.tool_rules = tool_rules.each_once(after.tool_rules or [])
            tool_rules.check(after.tool_rules, after.llm_config.model)
            further = [*self._links(agent, after), *self._desk(agent, after)]
            if request.message_ids is not None:
                further += self._windows.set_window(agent, request.message_ids)
            if request.enable_sleeptime and sleeping_group(self._records, agent) is None:
                group_id, partner = self._creation.partner(after, self._records.blocks_of(after), user, by_key(key_id))
                after, further = after.model_copy(update={"managed_group_id": group_id}), each_key_once([*further, *partner])
            return after, further

        return self._records.change_agent(agent_id, decide, user, by_key(key_id))

    def _changes(self, agent: StoredAgent, request: UpdateAgent) -> JsonObject:
        if request.name is not None:
            check_name(request.name)
        checked_files_open(request.max_files_open)
        changes: JsonObject = {name: getattr(request, name) for name in _COPIED if getattr(request, name) is not None}
        if request.tags is not None:
            changes["tags"] = list(dict.fromkeys(request.tags))
        if request.identity_ids is not None:
            changes["identity_ids"] = self._records.existing_identity_ids(request.identity_ids)
        if "approval_deadline" in request.model_fields_set:
            changes["approval_deadline"] = request.approval_deadline  # null means no deadline
        if "fallback_models" in request.model_fields_set:
            changes["fallback_models"] = checked_fallbacks(request.fallback_models, self._models)  # null means none
        secrets = request.secrets if request.secrets is not None else request.tool_exec_environment_variables
        if secrets is not None:
            changes["secrets"] = new_secrets(self._records, agent.id, secrets, agent.secrets, self._records.clock.now())
        return changes | self._model(agent, request) | self._attached(agent, request, changes)

    def _model(self, agent: StoredAgent, request: UpdateAgent) -> JsonObject:
        model = changed_model(agent, request, self._models)
        changes: JsonObject = {
            "llm_config": model.config,
            "explicit_model_settings": model.settings,
            "compaction_settings": changed_compaction(agent, request, model.config),
        }
        if request.embedding is not None:
            changes["embedding_config"] = self._models.embedding(request.embedding)
        elif request.embedding_config is not None:
            changes["embedding_config"] = request.embedding_config
        return changes

    def _attached(self, agent: StoredAgent, request: UpdateAgent, changes: JsonObject) -> JsonObject:
        attached: JsonObject = {}
        if request.block_ids is not None:
            blocks = self._records.existing_blocks(request.block_ids)
            refuse_equal_labels(blocks)
            attached["block_ids"] = [block.id for block in blocks]
        if request.tool_ids is not None:
            tools = self._records.existing_tools(request.tool_ids)
            attached["tool_ids"] = [tool.id for tool in tools]
            rules: list[ToolRule] = changes.get("tool_rules", agent.tool_rules or [])
            fresh = [tool for tool in tools if tool.id not in agent.tool_ids]
            attached["tool_rules"] = [*rules, *approval_rules(fresh, rules)]
        folders = wanted_folders(request.folder_ids, request.source_ids)
        if folders is not None:
            attached["source_ids"] = [folder.id for folder in self._records.existing_folders(folders)]
            attached["tool_ids"] = tools_with(attached.get("tool_ids", agent.tool_ids), folders)
        return attached

    def attach_block(self, agent_id: str, block_id: str, *, user: str | None = None, key_id: str | None = None) -> StoredAgent:
        """Attach a block to the agent and to its sleep-time agent; idempotent.

        Raises: NotFound, Conflict if another block of the agent has the label.
        """

        def decide(agent: StoredAgent) -> tuple[StoredAgent, list[Change]]:
            block = self._records.block(block_id)
            if block_id in agent.block_ids:
                return agent, []
            refuse_equal_labels([*self._records.blocks_of(agent), block])
            after, further = self._with(agent, {"block_ids": [*agent.block_ids, block_id]})
            return after, [*further, *sharing(self._records, agent, block_id, by_key(key_id))]

        return self._records.change_agent(agent_id, decide, user, by_key(key_id))

    def detach_block(self, agent_id: str, block_id: str, *, user: str | None = None, key_id: str | None = None) -> StoredAgent:
        """Detach a block; the block itself stays. Raises: NotFound, also if the block is not attached."""

        def decide(agent: StoredAgent) -> tuple[StoredAgent, list[Change]]:
            if block_id not in agent.block_ids:
                raise NotFound(f"Block with id '{block_id}' is not attached to agent '{agent_id}'")
            return self._with(agent, {"block_ids": [one for one in agent.block_ids if one != block_id]})

        return self._records.change_agent(agent_id, decide, user, by_key(key_id))

    def attach_tool(self, agent_id: str, tool_id: str, *, user: str | None = None, key_id: str | None = None) -> StoredAgent:
        """Attach a tool, with an approval rule if the tool requires approval by default; idempotent. Raises: NotFound."""

        def decide(agent: StoredAgent) -> tuple[StoredAgent, list[Change]]:
            tool = self._records.tool(tool_id)
            if tool_id in agent.tool_ids:
                return agent, []
            rules = agent.tool_rules or []
            rules = [*rules, *approval_rules([tool], rules)]
            return self._with(agent, {"tool_ids": [*agent.tool_ids, tool_id], "tool_rules": rules})

        return self._records.change_agent(agent_id, decide, user, by_key(key_id))

    def detach_tool(self, agent_id: str, tool_id: str, *, user: str | None = None, key_id: str | None = None) -> StoredAgent:
        """Detach a tool; idempotent. The rules that name the tool stay. Raises: NotFound for the agent."""

        def decide(agent: StoredAgent) -> tuple[StoredAgent, list[Change]]:
            if tool_id not in agent.tool_ids:
                return agent, []
            return self._with(agent, {"tool_ids": [one for one in agent.tool_ids if one != tool_id]})

        return self._records.change_agent(agent_id, decide, user, by_key(key_id))

    def attach_folder(self, agent_id: str, folder_id: str, *, user: str | None = None, key_id: str | None = None) -> StoredAgent:
        """Attach a folder and the file tools, and open its files up to the agent's limit; idempotent. Raises: NotFound."""

        def decide(agent: StoredAgent) -> tuple[StoredAgent, list[Change]]:
            self._records.folder(folder_id)
            if folder_id in agent.source_ids:
                return agent, []
            return self._with_folders(agent, [*agent.source_ids, folder_id])

        return self._records.change_agent(agent_id, decide, user, by_key(key_id))

    def detach_folder(self, agent_id: str, folder_id: str, *, user: str | None = None, key_id: str | None = None) -> StoredAgent:
        """Detach a folder; with the last one the file tools are detached too. Idempotent. Raises: NotFound."""
        self._records.folder(folder_id)

        def decide(agent: StoredAgent) -> tuple[StoredAgent, list[Change]]:
            if folder_id not in agent.source_ids:
                return agent, []
            return self._with_folders(agent, [one for one in agent.source_ids if one != folder_id])

        return self._records.change_agent(agent_id, decide, user, by_key(key_id))

    def lose_folder(self, agent_ids: Sequence[str], folder_id: str, *, key_id: str | None = None) -> None:
        """Detach a folder that is being deleted from these agents; with the last one the file tools are detached too. A deleted
        agent only loses the link row. `key_id`: the caller's API key. Raises: Conflict.
        """

        def decide(agent: StoredAgent) -> tuple[StoredAgent, Sequence[Change]]:
            if folder_id not in agent.source_ids:
                return agent, []
            folder_ids = [one for one in agent.source_ids if one != folder_id]
            after = agent.model_copy(update={"source_ids": folder_ids, "tool_ids": tools_with(agent.tool_ids, folder_ids)})
            return after, self._desk(agent, after)

        folders = self._records.folders
        self._records.change_agents(agent_ids, decide, lambda agent_id: [folders.detach(folder_id, agent_id)], by_key(key_id))

    def attach_identity(
        self, agent_id: str, identity_id: str, *, user: str | None = None, key_id: str | None = None
    ) -> StoredAgent:
        """Attach an identity; idempotent. Raises: NotFound."""

        def decide(agent: StoredAgent) -> tuple[StoredAgent, list[Change]]:
            self._records.identity(identity_id)
            if identity_id in agent.identity_ids:
                return agent, []
            return self._with(agent, {"identity_ids": [*agent.identity_ids, identity_id]})

        return self._records.change_agent(agent_id, decide, user, by_key(key_id))

    def detach_identity(
        self, agent_id: str, identity_id: str, *, user: str | None = None, key_id: str | None = None
    ) -> StoredAgent:
        """Detach an identity, which may be deleted already; idempotent. Raises: NotFound for the agent."""

        def decide(agent: StoredAgent) -> tuple[StoredAgent, list[Change]]:
            if identity_id not in agent.identity_ids:
                return agent, []
            return self._with(agent, {"identity_ids": [one for one in agent.identity_ids if one != identity_id]})

        return self._records.change_agent(agent_id, decide, user, by_key(key_id))

    def _with_folders(self, agent: StoredAgent, folder_ids: list[str]) -> tuple[StoredAgent, list[Change]]:
        changes: JsonObject = {"source_ids": folder_ids, "tool_ids": tools_with(agent.tool_ids, folder_ids)}
        after, further = self._with(agent, changes)
        return after, [*further, *self._desk(agent, after)]

    def _desk(self, before: StoredAgent, after: StoredAgent) -> list[Change]:
        return filled_desk(self._records, before.source_ids, after) if after.source_ids != before.source_ids else []

    def set_approval(
        self, agent_id: str, tool_name: str, *, required: bool, user: str | None = None, key_id: str | None = None
    ) -> StoredAgent:
        """Add or remove the rule that each call of the tool needs approval; idempotent. Raises: NotFound for the agent."""

        def decide(agent: StoredAgent) -> tuple[StoredAgent, list[Change]]:
            rules = agent.tool_rules or []
            other_rules = [
                rule for rule in rules if not (isinstance(rule, RequiresApprovalToolRule) and rule.tool_name == tool_name)
            ]
            if required is (len(other_rules) < len(rules)):
                return agent, []
            after = [*rules, RequiresApprovalToolRule(tool_name=tool_name)] if required else other_rules
            return agent.model_copy(update={"tool_rules": after}), []

        return self._records.change_agent(agent_id, decide, user, by_key(key_id))

    def _with(self, agent: StoredAgent, changes: JsonObject) -> tuple[StoredAgent, list[Change]]:
        after = agent.model_copy(update=changes)
        return after, [*self._links(agent, after), *self._events(agent, after)]

    def _events(self, before: StoredAgent, after: StoredAgent) -> Sequence[Change]:
        """The change that stores the events of blocks that the agent gains or loses; empty if no webhook subscribes to them."""
        gained, lost = list(_more(after.block_ids, before.block_ids)), list(_more(before.block_ids, after.block_ids))
        types = self._records.events.types() if gained or lost else None
        if types is None or MemoryChanged.type not in types:
            return []
        blocks = self._records.blocks.get_many([*gained, *lost])

        def facts_of(change: Literal["attached", "detached"], ids: Sequence[str]) -> list[MemoryChanged]:
            found = [blocks[block_id] for block_id in ids if block_id in blocks]
            return [MemoryChanged(block.id, block.label, change, "api", after.id, (after.id,), None) for block in found]

        facts = [*facts_of("attached", gained), *facts_of("detached", lost)]
        return self._records.events.put(facts, types, self._records.ids.token(), self._records.clock.now())

    def _links(self, before: StoredAgent, after: StoredAgent) -> Iterator[Change]:
        """The changes of link rows from one state of the agent to another; new parts must exist (a condition of the
        transaction).
        """
        blocks, tools = self._records.blocks, self._records.tools
        for block_id in _more(after.block_ids, before.block_ids):
            yield blocks.must_exist(block_id)
            yield blocks.attach(block_id, after.id)
        for block_id in _more(before.block_ids, after.block_ids):
            yield blocks.detach(block_id, after.id)
        for tool_id in _more(after.tool_ids, before.tool_ids):
            yield from tools.must_exist(tool_id)
            yield from tools.attach(tool_id, after.id)
        for tool_id in _more(before.tool_ids, after.tool_ids):
            yield from tools.detach(tool_id, after.id)
        yield from folder_links(self._records, after.id, before.source_ids, after.source_ids)
        for identity_id in _more(after.identity_ids, before.identity_ids):
            yield self._records.identities.must_exist(identity_id)


def _more(ids: Sequence[str], excluded: Sequence[str]) -> list[str]:
    return [each for each in ids if each not in excluded]
