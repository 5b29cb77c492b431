"""Renders stored agents as clients see them, with relations resolved in batched reads (Letta V1 API, API 1.4 and 4.1).

Stored values were validated on input and are not validated again on output.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from hibernaut.domain.models.model_settings import shown_settings
from hibernaut.domain.window.summaries import with_prompt
from hibernaut.domain.wire.letta_messages import Rendering, render
from hibernaut.ports.storage.table import Item
from hibernaut.schemas.agents.agent import AgentEnvironmentVariable, AgentState, Memory, StoredAgent
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.agents.group import StoredGroup
from hibernaut.schemas.agents.identity import StoredIdentity
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.block import Block, FileBlock, StoredBlock
from hibernaut.schemas.memory.folder import StoredFolder
from hibernaut.schemas.messages.letta_message import ApprovalRequestMessage
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.tools.tool import StoredTool
from hibernaut.services.prompt.file_views import FileViews
from hibernaut.services.records import Records

RELATIONS = frozenset({"blocks", "identities", "managed_group", "pending_approval", "secrets", "sources", "tags", "tools"})
"""The relations that `include=agent.…` may name."""
SECRET_VALUES = "secret_values"  # noqa: S105 - a name, no secret
"""Shows the values of the relation `secrets`, to a caller who requests `include=agent.secrets` and is allowed to read them."""
LOADED = RELATIONS - {"pending_approval"}
"""The relations shown by default: all but a pending approval, which the request must include."""
_PLAIN_NAMES = {"memory": "blocks", "identity_ids": "identities", "multi_agent_group": "managed_group"}
_SHARED = [name for name in AgentState.model_fields if name in StoredAgent.model_fields]


def shown_relations(
    chooses: bool, include: Sequence[str] | None, include_relationships: Sequence[str] | None, *, reads_secrets: bool = False
) -> frozenset[str]:
    """The relations to show in an AgentState.

    A "1.0 client" (`chooses`) gets only those of `include`, other clients get the default ones too. The deprecated plain names
    of `include_relationships` override both. The tags come with the blocks, as in V1. `reads_secrets`: the caller may read the
    values of secrets; only `include` requests them.
    """
    included = frozenset(name.removeprefix("agent.") for name in include or ()) & RELATIONS
    values = frozenset({SECRET_VALUES}) if reads_secrets and "secrets" in included else frozenset()
    if include_relationships is not None:
        shown = frozenset(_PLAIN_NAMES.get(name, name) for name in include_relationships) & RELATIONS
    else:
        shown = included if chooses else LOADED | included
    return shown | values | ({"tags"} if "blocks" in shown else set())


@immutable
class _AgentRelations:
    """The related records of the agents in one reply, by id."""

    last_runs: dict[str, Item]
    windows: dict[str, list[str]]
    blocks: dict[str, StoredBlock]
    tools: dict[str, StoredTool]
    folders: dict[str, StoredFolder]
    identities: dict[str, StoredIdentity]
    asking: dict[str, ApprovalRequestMessage]
    files: dict[str, list[FileBlock]]
    groups: dict[str, StoredGroup]


class AgentStates:
    """Renders stored agents as `AgentState`; the number of reads does not grow with the number of agents."""

    def __init__(self, records: Records, files: FileViews) -> None:
        self._records = records
        self._files = files

    def of_one(self, agent: StoredAgent, include: frozenset[str] = LOADED) -> AgentState:
        """The state of one agent, as `of`."""
        return self.of([agent], include)[0]

    def of(self, agents: Sequence[StoredAgent], include: frozenset[str] = LOADED) -> list[AgentState]:
        """One state for each agent, in their order."""
        relations = self._find(agents, include)
        return [self._state(agent, relations, include) for agent in agents]

    def _find(self, agents: Sequence[StoredAgent], include: frozenset[str]) -> _AgentRelations:
        ids = [agent.id for agent in agents]
        block_ids = _each(agent.block_ids for agent in agents) if "blocks" in include else []
        tool_ids = _each(agent.tool_ids for agent in agents) if "tools" in include else []
        folder_ids = _each(agent.source_ids for agent in agents) if "sources" in include else []
        group_ids = [agent.managed_group_id for agent in agents if agent.managed_group_id] if "managed_group" in include else []
        identity_ids = _each(agent.identity_ids for agent in agents) if "identities" in include else []
        heads = self._records.conversations.heads(ids)
        return _AgentRelations(
            last_runs=self._records.agents.last_runs.of(ids),
            windows=self._records.window_ids.of(list(heads.values())),
            blocks=self._records.blocks.get_many(block_ids),
            tools=self._records.tools.get_many(tool_ids),
            folders=self._records.folders.get_many(folder_ids),
            identities=self._records.identities.get_many(identity_ids),
            asking=self._asking(heads) if "pending_approval" in include else {},
            files=self._files.blocks(agents) if "blocks" in include else {},
            groups=self._records.groups.get_many(group_ids),
        )

    def _asking(self, heads: dict[str, Head]) -> dict[str, ApprovalRequestMessage]:
        """The open approval requests in the agents' default conversations, by agent id."""
        agent_ids = {head.pending: head.id for head in heads.values() if head.pending}
        records = self._records.approvals.get_many(list(agent_ids)) if agent_ids else {}
        places = [(agent_ids[run_id], record.request_id) for run_id, record in records.items() if record.consumed_by is None]
        rows = self._records.conversations.logs.own_messages(places)  # a default conversation is no fork
        return {
            agent_id: message
            for agent_id, row in rows.items()
            for message in render(row, Rendering())
            if isinstance(message, ApprovalRequestMessage)
        }

    def _state(self, agent: StoredAgent, relations: _AgentRelations, include: frozenset[str]) -> AgentState:
        blocks: list[Block] = [relations.blocks[block_id] for block_id in agent.block_ids if block_id in relations.blocks]
        secrets = self._secrets(agent, include)
        group = relations.groups.get(agent.managed_group_id or "")
        managed = group.wire() if group else None
        fields = {name: getattr(agent, name) for name in _SHARED}
        fields |= _last_run(relations.last_runs.get(agent.id, {}))
        # An identity that is being deleted may still be named.
        identities = [relations.identities[one] for one in agent.identity_ids if one in relations.identities]
        # Every field is named: looking up a default costs more than all the others.
        return AgentState.model_construct(
            **{
                **fields,
                "message_ids": relations.windows.get(agent.id, []),
                "model": handle_of(agent.llm_config),
                "embedding": agent.embedding_config.handle if agent.embedding_config else None,
                "compaction_settings": with_prompt(agent.compaction_settings),
                "model_settings": shown_settings(agent.explicit_model_settings, agent.llm_config),
                "memory": Memory.model_construct(
                    agent_type=agent.agent_type,
                    git_enabled=False,
                    blocks=blocks,
                    file_blocks=relations.files.get(agent.id, []),
                    prompt_template="",
                ),
                "blocks": blocks,
                "tools": [relations.tools[tool_id] for tool_id in agent.tool_ids if tool_id in relations.tools],
                "tags": agent.tags if "tags" in include else [],
                "identity_ids": [identity.id for identity in identities],
                "sources": [relations.folders[one].source() for one in agent.source_ids if one in relations.folders],
                "identities": [identity.wire() for identity in identities],
                "pending_approval": relations.asking.get(agent.id),
                "multi_agent_group": managed,
                "managed_group": managed,
                "tool_exec_environment_variables": secrets,
                "secrets": secrets,
            }
        )

    def _secrets(self, agent: StoredAgent, include: frozenset[str]) -> list[AgentEnvironmentVariable]:
        """The agent's secrets, with their values only if those are shown. Raises: SecretUnreadable, MasterKeyUnavailable."""
        if "secrets" not in include:
            return []
        values = self._records.secrets.values(agent.id, agent.secrets) if SECRET_VALUES in include else {}
        return [
            AgentEnvironmentVariable(**{**secret.model_dump(), "value": values.get(secret.key), "value_enc": None})
            for secret in agent.secrets
        ]


def handle_of(config: LLMConfig) -> str:
    """The handle `provider/model`, also for a configuration without a stored handle."""
    return config.handle or f"{config.provider_name or config.model_endpoint_type}/{config.model}"


def _last_run(row: Item) -> dict[str, object]:
    """The fields of the newest run."""
    completion, reason = str(row.get("last_run_completion", "")), str(row.get("last_stop_reason", ""))
    return {
        "last_run_completion": datetime.fromisoformat(completion) if completion else None,
        "last_run_duration_ms": row.get("last_run_duration_ms"),
        "last_stop_reason": StopReason(reason) if reason else None,
    }


def _each(lists: Iterable[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(identifier for ids in lists for identifier in ids))
