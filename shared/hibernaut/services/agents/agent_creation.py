"""Creates an agent from a request: the agent, its blocks, its conversation head and its first messages, in one transaction.

An agent with `enable_sleeptime` and its sleep-time agent are created together. A request that exceeds the limits of a transaction
is written in several, with the agent last. Knows the initial state of an agent (Letta V1 API, API 2.2 and 4.2; RT 1). Must not
know how an agent is rendered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from hibernaut.domain.agents import agent_types
from hibernaut.domain.agents.agent_calls import AGENT_CALLS
from hibernaut.domain.agents.agent_names import check_name, default_name
from hibernaut.domain.agents.agent_types import spec_of
from hibernaut.domain.agents.first_messages import boot_sequence, initial_sequence
from hibernaut.domain.tools import tool_rules
from hibernaut.ports.model import Models
from hibernaut.ports.storage.table import MAX_CHANGES, Change
from hibernaut.schemas.agents.agent import AgentType, CreateAgentRequest, StoredAgent
from hibernaut.schemas.agents.conversation import Head, Window
from hibernaut.schemas.agents.group import TranscriptProgress
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.memory.folder import StoredFolder
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.approval import DEFAULT_DEADLINE
from hibernaut.schemas.tools.tool import StoredTool
from hibernaut.schemas.tools.tool_rule import ToolRule
from hibernaut.services.agents.agent_folders import FILE_TOOLS, filled_desk, folder_links, own_folder, wanted_folders
from hibernaut.services.agents.agent_models import checked_fallbacks, chosen_compaction, chosen_model
from hibernaut.services.agents.agent_parts import (
    approval_rules,
    checked_files_open,
    new_block,
    new_secrets,
    opening_of,
    refuse_equal_labels,
)
from hibernaut.services.agents.sleeptime_pairs import earlier_span, group_of, request_for
from hibernaut.services.models.embedding_choice import chosen_embedding
from hibernaut.services.prompt.system_messages import SystemMessages, system_row
from hibernaut.services.records import Records, by_key, each_key_once
from hibernaut.store.conversations.conversations import LoadedConversation
from hibernaut.store.versions.version_store import UNKNOWN, Edit

SUBAGENT_TAG = "role:subagent"


@immutable
class AgentParts:
    """The parts of a new agent in the order of attachment: blocks (`new_blocks` are created with the agent), tools, folders,
    identities, archives. `own_folder` is created with the agent, and its last folder.
    """

    new_blocks: Sequence[StoredBlock]
    blocks: Sequence[StoredBlock]
    tools: Sequence[StoredTool]
    folder_ids: Sequence[str]
    identity_ids: Sequence[str] = ()
    archive_ids: Sequence[str] = ()
    own_folder: StoredFolder | None = None


@immutable
class Creator:
    """The author of a new agent: the user, the change that versions name, and the token of the writer."""

    user: str | None
    edit: Edit
    token: str


@immutable
class NewAgent:
    """An agent that is not written yet: `children` are written before or with `parents`, which make it visible."""

    agent: StoredAgent
    blocks: Sequence[StoredBlock]
    head: Head
    rows: Sequence[Message]
    children: Sequence[Change]
    parents: Sequence[Change]


class AgentCreation:
    """Creates agents. Thread-safe."""

    def __init__(self, records: Records, *, models: Models, prompts: SystemMessages) -> None:
        self._records = records
        self._models = models
        self._prompts = prompts

    def create(self, request: CreateAgentRequest, *, user: str | None = None, key_id: str | None = None) -> StoredAgent:
        """Create an agent. `key_id`: the caller's API key. Raises: InvalidArgument, Unprocessable (rules), NotFound (a block,
        tool, folder, identity or handle), Conflict (two blocks with one label).
        """
        return self._records.until_settled(lambda: self._create(request, self._creator(user, by_key(key_id))))

    def _creator(self, user: str | None, edit: Edit) -> Creator:
        return Creator(user, edit, self._records.ids.token())

    def _create(self, request: CreateAgentRequest, by: Creator) -> StoredAgent:
        group_id = self._records.ids.new("group") if request.enable_sleeptime else None
        main = self._new(request, by, group_id=group_id)
        children, parents, sleeper = list(main.children), list(main.parents), None
        if group_id:
            sleeper, group_changes = self._sleeper(main.agent, group_id, _initial_span(request, main.rows), by, main.blocks)
            children, parents = each_key_once([*children, *sleeper.children]), [*parents, *sleeper.parents, *group_changes]
        self._records.write(children, parents, by.token)
        for each in (main, sleeper):
            if each is not None:
                self._records.conversations.keep(LoadedConversation(each.head, tuple(each.rows)))
        tags, identities = dict.fromkeys(request.tags or ()), dict.fromkeys(request.identity_ids or ())
        return self._completed(main.agent, list(tags), list(identities), by)

    def write(self, agent: StoredAgent, parts: AgentParts, conversation: LoadedConversation, edit: Edit) -> StoredAgent:
        """Write an agent that is already assembled, with its parts and its conversation. Raises: ConditionFailed if a part does
        not exist any more; Conflict.
        """
        by = self._creator(agent.created_by_id, edit)
        new_agent = self.assembled(agent, parts, conversation, by)
        self._records.write(new_agent.children, new_agent.parents, by.token)
        return self._completed(new_agent.agent, agent.tags, agent.identity_ids, by)

    def _completed(self, agent: StoredAgent, tags: list[str], identity_ids: list[str], by: Creator) -> StoredAgent:
        """The agent with all its tags and identities, which may be more than its first transaction takes."""
        if agent.tags == tags and agent.identity_ids == identity_ids:
            return agent
        fields = {"tags": tags, "identity_ids": identity_ids}
        return self._records.change_agent(agent.id, lambda made: (made.model_copy(update=fields), ()), by.user, by.edit)

    def partner(
        self, agent: StoredAgent, blocks: Sequence[StoredBlock], user: str | None, edit: Edit = UNKNOWN
    ) -> tuple[str, Sequence[Change]]:
        """The group and the sleep-time agent for an agent that exists: the group's id, and the changes that create both.

        `blocks`: those of the agent. Raises: Conflict if one of them has the label of the sleep-time agent's own block.
        """
        group_id = self._records.ids.new("group")
        earlier_messages = earlier_span(self._records, agent.id)
        sleeper, group_changes = self._sleeper(agent, group_id, earlier_messages, self._creator(user, edit), blocks)
        return group_id, each_key_once([*sleeper.children, *sleeper.parents, *group_changes])

    def _sleeper(
        self,
        main: StoredAgent,
        group_id: str,
        earlier_messages: TranscriptProgress | None,
        by: Creator,
        blocks: Sequence[StoredBlock],
    ) -> tuple[NewAgent, Sequence[Change]]:
        """The sleep-time agent of `main`, and the changes that create the group of both."""
        sleeper = self._new(request_for(main), by, unwritten_blocks={block.id: block for block in blocks})
        group = group_of(group_id, main, sleeper.agent.id, earlier_messages)
        return sleeper, self._records.groups.create(group, by.token)

    def _new(
        self,
        request: CreateAgentRequest,
        by: Creator,
        *,
        group_id: str | None = None,
        unwritten_blocks: Mapping[str, StoredBlock] = {},
    ) -> NewAgent:
        """The agent, with as many of its tags and identities as one transaction takes. `unwritten_blocks`: blocks that may not be
        written yet.
        """
        now = self._records.clock.now()
        parts = self._parts(request, now, unwritten_blocks)
        agent = self._agent(request, parts, by.user, now).model_copy(update={"managed_group_id": group_id})
        if request.include_default_source:
            folder = own_folder(self._records, agent)
            parts = replace(parts, own_folder=folder)
            agent = agent.model_copy(update={"source_ids": [*agent.source_ids, folder.id]})
        head, rows = self._conversation(agent, parts, request)
        return self.assembled(agent, parts, LoadedConversation(head, tuple(rows)), by)

    def assembled(self, agent: StoredAgent, parts: AgentParts, conversation: LoadedConversation, by: Creator) -> NewAgent:
        """The agent with its parts and its conversation, with as many of its tags and identities as one transaction takes."""
        head, rows = conversation.head, conversation.messages
        first = self._records.agent_marks.first(agent)
        parents = [
            *self._records.agents.create(first, by.token, by.edit),
            *self._records.agent_marks.put(first),
            self._records.conversations.create_head(head, by.token),
            *self._records.conversations.pointed(head, rows),
        ]
        children = [*self._children(agent, parts, by), *self._rows(rows)]
        return NewAgent(first, parts.blocks, head, rows, children, parents)

    def _parts(self, request: CreateAgentRequest, now: datetime, unwritten_blocks: Mapping[str, StoredBlock]) -> AgentParts:
        folders = wanted_folders(request.folder_ids, request.source_ids) or []
        new = [new_block(self._records.ids.new("block"), block, now) for block in request.memory_blocks or ()]
        block_ids = list(dict.fromkeys(request.block_ids or ()))
        written = {
            block.id: block for block in self._records.existing_blocks([one for one in block_ids if one not in unwritten_blocks])
        }
        blocks = [*new, *(unwritten_blocks.get(block_id) or written[block_id] for block_id in block_ids)]
        refuse_equal_labels(blocks)
        return AgentParts(
            new,
            blocks,
            self._tools(request, FILE_TOOLS if folders or request.include_default_source else ()),
            [folder.id for folder in self._records.existing_folders(folders)],
            self._records.existing_identity_ids(request.identity_ids or ()),
        )

    def _tools(self, request: CreateAgentRequest, extra_names: Sequence[str]) -> list[StoredTool]:
        names = [*(request.tools or ()), *extra_names]
        optional: list[str] = []
        if request.include_base_tools:
            names = [*agent_types.base_tools(request.agent_type, bool(request.enable_sleeptime)), *names]
        if request.include_multi_agent_tools:
            optional = list(AGENT_CALLS)
        by_name = self._records.tools.by_name([*names, *optional])
        missing = [name for name in names if name not in by_name]
        if missing:
            raise InvalidArgument(f"INVALID_ARGUMENT: Tools not found by name: {missing}")
        by_id = self._records.existing_tools(request.tool_ids or ())
        return list({tool.id: tool for tool in (*by_name.values(), *by_id)}.values())

    def _agent(self, request: CreateAgentRequest, parts: AgentParts, user: str | None, now: datetime) -> StoredAgent:
        agent_id = self._records.ids.new("agent")
        name = request.name or default_name(int(agent_id[-12:], 16) >> 7)
        check_name(name)
        model = chosen_model(request, self._models)
        files, characters = agent_types.file_limits(model.config.context_window)
        secrets = request.secrets if request.secrets is not None else request.tool_exec_environment_variables
        tags = list(dict.fromkeys(request.tags or ()))
        return StoredAgent(
            id=agent_id,
            name=name,
            system=agent_types.default_system(request.agent_type) if request.system is None else request.system,
            agent_type=request.agent_type,
            created_at=now,
            updated_at=now,
            created_by_id=user,
            last_updated_by_id=user,
            tool_rules=_rules(request, parts.tools, model.config.model),
            llm_config=model.config,
            explicit_model_settings=model.settings,
            embedding_config=chosen_embedding(request, self._models),
            compaction_settings=chosen_compaction(request.compaction_settings, model.config),
            response_format=request.response_format,
            description=request.description,
            metadata=request.metadata,
            timezone=request.timezone or "UTC",
            approval_deadline=(
                request.approval_deadline if "approval_deadline" in request.model_fields_set else DEFAULT_DEADLINE
            ),
            fallback_models=checked_fallbacks(request.fallback_models, self._models),
            project_id=request.project_id,
            template_id=request.template_id,
            base_template_id=request.base_template_id,
            message_buffer_autoclear=request.message_buffer_autoclear or request.agent_type is AgentType.WORKFLOW,
            enable_sleeptime=request.enable_sleeptime,
            max_files_open=checked_files_open(request.max_files_open) or files,
            per_file_view_window_char_limit=request.per_file_view_window_char_limit or characters,
            hidden=True if SUBAGENT_TAG in tags else request.hidden,
            tags=tags,
            identity_ids=list(parts.identity_ids),
            block_ids=[block.id for block in parts.blocks],
            tool_ids=[tool.id for tool in parts.tools],
            source_ids=list(parts.folder_ids),
            secrets=new_secrets(self._records, agent_id, secrets or {}, [], now),
        )

    def _conversation(self, agent: StoredAgent, parts: AgentParts, request: CreateAgentRequest) -> tuple[Head, list[Message]]:
        """The head of the default conversation and its first rows: the system message and the initial messages."""
        system_id = self._records.ids.new("message")
        opening = opening_of(self._records, agent, system_id)
        if request.initial_message_sequence is not None:
            initial = initial_sequence(request.initial_message_sequence, opening)
        else:
            initial = boot_sequence(opening) if spec_of(agent.agent_type).boot_sequence else []
        head = Head(
            id=agent.id,
            agent_id=agent.id,
            window=Window(pinned=[system_id], cut=system_id),
            version=1,
            last_message=initial[-1].id if initial else system_id,
            newest=[system_id, *(row.id for row in initial)][-MAX_CHANGES:],
            messages=1 + len(initial),
            created_at=agent.created_at,
        )
        compiled = self._prompts.compiled(agent, head, blocks=parts.blocks, in_window=head.messages)
        system = system_row(system_id, agent, compiled, agent.created_at)
        return head.model_copy(update={"compiled": compiled.source}), [system, *initial]

    def _children(self, agent: StoredAgent, parts: AgentParts, by: Creator) -> Iterator[Change]:
        created = {block.id for block in parts.new_blocks}
        for block in parts.blocks:
            if block.id in created:
                yield from self._records.blocks.create(block, by.token, by.edit)
            else:
                yield self._records.blocks.must_exist(block.id)
            yield self._records.blocks.attach(block.id, agent.id)
        for tool in parts.tools:
            yield from self._records.tools.must_exist(tool.id)
            yield from self._records.tools.attach(tool.id, agent.id)
        yield from folder_links(self._records, agent.id, (), parts.folder_ids)
        if parts.own_folder is not None:
            yield from self._records.folders.create(parts.own_folder, by.token)
            yield self._records.folders.attach(parts.own_folder.id, agent.id)
        for identity_id in parts.identity_ids:
            yield self._records.identities.must_exist(identity_id)
        if parts.folder_ids:
            yield from filled_desk(self._records, (), agent)
        for archive_id in parts.archive_ids:
            exists, _ = self._records.archives.must_be_open(archive_id, agent.id)
            yield from (exists, *self._records.archives.attach(archive_id, agent.id, agent.created_at))

    def _rows(self, rows: Sequence[Message]) -> Iterator[Change]:
        for row in rows:
            yield self._records.conversations.put_message(row.agent_id, row)


def _initial_span(request: CreateAgentRequest, rows: Sequence[Message]) -> TranscriptProgress | None:
    """The caller's first messages, which the sleep-time agent has not received; None if there are none."""
    return TranscriptProgress(after=rows[0].id, upto=rows[-1].id) if request.initial_message_sequence and len(rows) > 1 else None


def _rules(request: CreateAgentRequest, tools: Sequence[StoredTool], model: str) -> list[ToolRule]:
    requested = list(request.tool_rules or ())
    tool_rules.check_children(requested)
    names = [tool.name for tool in tools if tool.name]
    ruled = {(rule.type, rule.tool_name) for rule in requested}
    defaults = agent_types.default_rules(request.agent_type, names, model, request.include_base_tool_rules, bool(requested))
    rules = [*requested, *(rule for rule in defaults if (rule.type, rule.tool_name) not in ruled)]
    rules = tool_rules.each_once([*rules, *approval_rules(tools, rules)])
    tool_rules.check(rules, model)
    return rules
