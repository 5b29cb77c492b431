"""The agents of an agent file as records: fields, secrets, references to the other parts of the file, and the rows of their
logs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from hibernaut.domain.agent_files.documents import texts
from hibernaut.domain.agent_files.legacy import variables
from hibernaut.domain.agent_files.messages import ImportedLog, LogReading, prompt_of
from hibernaut.domain.agent_files.notes import ImportNotes
from hibernaut.domain.agent_files.parts import agent_name, read_as, tool_rules
from hibernaut.domain.agents import agent_types
from hibernaut.domain.agents.agent_names import check_name, default_name
from hibernaut.domain.tools import tool_rules as rule_checks
from hibernaut.ports.clock import Ids
from hibernaut.ports.storage.table import MAX_CHANGES
from hibernaut.schemas.agents.agent import AgentType, CreateAgentRequest, StoredAgent, StoredSecret
from hibernaut.schemas.agents.agent_file import ImportOptions
from hibernaut.schemas.agents.conversation import Window
from hibernaut.schemas.agents.staged_import import StagedAgent, StagedLog
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.tools.tool_rule import ToolRule
from hibernaut.services.agent_documents.import_models import ImportModels
from hibernaut.services.agent_documents.kept_ids import KeptIds
from hibernaut.services.agents.agent_folders import tools_with
from hibernaut.services.agents.agent_models import chosen_compaction
from hibernaut.services.agents.agent_parts import checked_files_open

COPY = "_copy"
_CHECKED = (
    "tags", "system", "description", "metadata", "model_settings", "compaction_settings", "response_format", "timezone", "max_files_open",
    "per_file_view_window_char_limit", "hidden", "approval_deadline", "message_buffer_autoclear", "context_window_limit",
)  # fmt: skip
"""The fields of an agent that are valid in a file as in a request that creates one."""


@immutable
class PlannedParts:
    """The new ids of the other parts of a file, by their ids in it. `named_tools` returns the ids of tools of this server by
    their names.
    """

    blocks: Mapping[str, str]
    tools: Mapping[str, str]
    folders: Mapping[str, str]
    named_tools: Callable[[list[str]], Mapping[str, str]]


@immutable
class AgentPlanning:
    """Plans the agents of one file. `user`: the importing user."""

    ids: Ids
    now: datetime
    user: str | None
    options: ImportOptions
    models: ImportModels
    kept: KeptIds

    @property
    def notes(self) -> ImportNotes:
        return self.kept.notes

    def agent(self, raw: JsonObject, parts: PlannedParts) -> StagedAgent:
        """The record of an agent; its log is planned by `log`. Raises: InvalidArgument, NotFound."""
        place = str(raw["id"])
        agent_id = self.kept.of("agent", place)
        kind = self._type(raw, place)
        request = self._request(raw, place, kind)
        config = self.models.llm_config(raw, place)
        if request.context_window_limit is not None:
            config = config.model_copy(update={"context_window": request.context_window_limit})
        folders = self._ids(raw, ("source_ids", "folder_ids"), parts.folders, place)
        tools = [*self._ids(raw, ("tool_ids",), parts.tools, place), *self._named_tools(raw, kind, parts, place)]
        files, characters = agent_types.file_limits(config.context_window)
        system = request.system if request.system is not None else agent_types.default_system(kind)
        agent = StoredAgent(
            id=agent_id,
            name=self._name(raw, agent_id, place),
            system=system,
            agent_type=kind,
            created_at=self.kept.time(raw, "created_at", self.now),
            updated_at=self.kept.time(raw, "updated_at", self.now),
            created_by_id=self.user,
            last_updated_by_id=self.user,
            tool_rules=self._rules(raw, config, place),
            llm_config=config,
            explicit_model_settings=None if self.options.model else request.model_settings,
            embedding_config=self.models.embedding_config(raw, place),
            compaction_settings=chosen_compaction(request.compaction_settings, config),
            response_format=request.response_format,
            description=request.description,
            metadata=request.metadata,
            timezone=request.timezone or "UTC",
            fallback_models=self.models.fallbacks(raw.get("fallback_models"), place),
            project_id=self.options.project_id,
            message_buffer_autoclear=request.message_buffer_autoclear or kind is AgentType.WORKFLOW,
            max_files_open=checked_files_open(request.max_files_open) or files,
            per_file_view_window_char_limit=request.per_file_view_window_char_limit or characters,
            hidden=request.hidden,
            tags=list(dict.fromkeys(request.tags or ())),
            block_ids=self._ids(raw, ("block_ids",), parts.blocks, place),
            tool_ids=tools_with(list(dict.fromkeys(tools)), folders) if folders else list(dict.fromkeys(tools)),
            source_ids=folders,
            secrets=self._secrets(raw, agent_id, place),
        )
        if "approval_deadline" in request.model_fields_set:
            agent.approval_deadline = request.approval_deadline
        if raw.get("identity_ids"):
            self.notes.add("left_out", "identities", place, "Identities of agents are not part of a file and were left out.")
        return StagedAgent(agent=agent, system_id=self.ids.new("message"), window=Window(), last="")

    def _type(self, raw: JsonObject, place: str) -> AgentType:
        kind = raw.get("agent_type")
        if kind in list(AgentType):
            return AgentType(kind)
        self.notes.add("replaced", "agent_type", place, f"Agents without a known type have the type {AgentType.LETTA_V1}.")
        return AgentType.LETTA_V1

    def _request(self, raw: JsonObject, place: str, kind: AgentType) -> CreateAgentRequest:
        fields = {name: raw[name] for name in _CHECKED if raw.get(name) is not None}
        if "tags" in fields:
            fields["tags"] = texts(fields["tags"])
        if "metadata" not in fields and raw.get("metadata_") is not None:
            fields["metadata"] = raw["metadata_"]
        if "approval_deadline" in raw:
            fields["approval_deadline"] = raw["approval_deadline"]
        if kind is AgentType.SPLIT_THREAD and "system" not in fields:
            fields["system"] = ""
        return read_as(CreateAgentRequest, fields, place)

    def _name(self, raw: JsonObject, agent_id: str, place: str) -> str:
        if self.options.name is not None:
            check_name(self.options.name)
            return self.options.name
        name = agent_name(raw.get("name"), place, self.notes) or default_name(int(agent_id[-12:], 16) >> 7)
        return name[:1_000] + (COPY if self.options.append_copy_suffix else "")

    def _rules(self, raw: JsonObject, config: LLMConfig, place: str) -> list[ToolRule]:
        rules = rule_checks.each_once(tool_rules(raw.get("tool_rules"), place, self.notes))
        try:
            rule_checks.check(rules, config.model)
        except InvalidArgument:
            first = next(rule for rule in rules if rule.type == "run_first")
            rules = [rule for rule in rules if rule is first or rule.type != "run_first"]
            self.notes.add(
                "left_out", "run_first_rule", place, f"The model {config.handle} has one run_first rule; others were left out."
            )
        return rules

    def _ids(self, raw: JsonObject, fields: tuple[str, ...], new_ids: Mapping[str, str], place: str) -> list[str]:
        """The new ids of references. Those that point nowhere are left out; to tools that were left out a note points already."""
        references = [one for name in fields for one in texts(raw.get(name))]
        for one in references:
            if one not in new_ids:
                self.notes.add(
                    "left_out", "reference", place, f"References to {one[:100]} were left out: the file has no such part."
                )
        return list(dict.fromkeys(new_ids[one] for one in references if new_ids.get(one)))

    def _named_tools(self, raw: JsonObject, kind: AgentType, parts: PlannedParts, place: str) -> list[str]:
        """The ids of the tools that the agent names instead of bringing them along."""
        names = texts(raw.get("tools"))
        if raw.get("include_base_tools") is True and kind is not AgentType.VOICE_CONVO:
            names = [*agent_types.base_tools(kind, False), *names]
        found = parts.named_tools(names) if names else {}
        for name in names:
            if name not in found:
                self.notes.add("left_out", "tool_unknown", place, f"There is no tool {name[:100]} here. It was left out.")
        return [found[name] for name in names if name in found]

    def _secrets(self, raw: JsonObject, agent_id: str, place: str) -> list[StoredSecret]:
        """The secrets of the file, with the values of the request. A value of the file counts only where the request has none."""
        requested = self.options.secrets or {}
        stored = {**variables(raw.get("tool_exec_environment_variables")), **variables(raw.get("secrets"))}
        values = {**{key: one if isinstance(one, str) else "" for key, one in stored.items()}, **requested}
        if empty := [key for key, value in values.items() if not value]:
            names = ", ".join(empty)[:300]
            self.notes.add("repaired", "secret_without_value", place, f"Secrets without a value are empty: {names}.")
        return [
            StoredSecret(
                id=self.ids.new("agent-env"), key=key, value=value, agent_id=agent_id, created_at=self.now, updated_at=self.now
            )
            for key, value in values.items()
        ]

    def log(self, raw: JsonObject, staged: StagedLog, agent: StoredAgent, keep: Callable[[Message], None]) -> None:
        """Read the messages of one of the agent's conversations, pass each row of its log to `keep`, and plan its window. Raises:
        InvalidArgument.
        """
        messages = [] if self.options.strip_messages else raw["messages"]
        in_context = texts(raw.get("in_context_message_ids"))
        reading = LogReading(
            agent_id=agent.id,
            system_id=staged.system_id,
            prompt=prompt_of(messages, in_context),
            now=self.now,
            timezone=agent.timezone,
            new_id=lambda last: self.ids.new("message", after=last),
        )
        reader = ImportedLog(reading, self.notes)
        for row in reader.rows(messages):
            keep(row)
        read = reader.read
        visible = read.shown(in_context)
        staged.window = read.window(staged.system_id, visible)
        staged.in_window = 1 + len(visible)
        staged.rows = len(read.all)
        staged.last = read.all[-1] if read.all else staged.system_id
        staged.newest = [staged.system_id, *read.all][-MAX_CHANGES:]
