"""What a migration reads: the interface of its sources, and what they return.

All records are entries of an agent file (RT 12.1) with the ids of the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.immutable import immutable

OF_AN_AGENT = (
    "name", "system", "agent_type", "tool_rules", "llm_config", "embedding_config", "compaction_settings", "response_format", "description",
    "metadata", "timezone", "message_buffer_autoclear", "max_files_open", "per_file_view_window_char_limit", "hidden", "approval_deadline",
    "fallback_models", "model_settings", "created_at", "updated_at",
)  # fmt: skip
"""The fields of an agent that are moved as they are."""
OF_A_CONVERSATION = (
    "summary",
    "description",
    "model",
    "model_settings",
    "context_window_limit",
    "archived",
    "archived_at",
    "hidden",
    "created_at",
)
"""The fields of a conversation."""

OF_AN_IDENTITY = ("identifier_key", "name", "identity_type", "properties", "project_id")
"""The fields of an identity."""


@immutable
class SourceNote:
    """Something that a source cannot give. `record`: its id, or a name."""

    record: str
    why: str


@immutable
class SourceAgent:
    """An agent without its messages. `entry` refers to the other parts by their ids; the identities and archives are attached
    afterwards.
    """

    entry: JsonObject
    blocks: Sequence[JsonObject] = ()
    tools: Sequence[JsonObject] = ()
    folders: Sequence[JsonObject] = ()
    identity_ids: Sequence[str] = ()

    @property
    def id(self) -> str:
        return str(self.entry["id"])

    @property
    def name(self) -> str:
        return str(self.entry.get("name") or "")


@immutable
class SourceLog:
    """All messages of an agent, oldest first, and the ids of the messages in its window."""

    messages: Sequence[JsonObject]
    in_context: Sequence[str]


@immutable
class SourceConversation:
    """A further conversation of an agent, and the private blocks that stand in place of the agent's of the same labels."""

    fields: JsonObject
    log: SourceLog
    isolated: Sequence[JsonObject] = ()

    @property
    def id(self) -> str:
        return str(self.fields["id"])

    def entry(self, agent: SourceAgent) -> JsonObject:
        """The conversation in the form of an agent file."""
        own = {one.get("label"): one["id"] for one in agent.blocks}
        isolated = [{"block_id": own[one.get("label")], "block": one} for one in self.isolated if one.get("label") in own]
        fields = {name: self.fields[name] for name in OF_A_CONVERSATION if self.fields.get(name) is not None}
        log: JsonObject = {"in_context_message_ids": list(self.log.in_context), "messages": list(self.log.messages)}
        return {"id": self.id, **fields, "isolated_blocks": isolated, **log}


@immutable
class SourceArchive:
    """An archive. `embedding`: the handle of its model."""

    id: str
    name: str
    description: str | None = None
    embedding: str | None = None
    agent_ids: Sequence[str] = ()


@immutable
class SourceIdentity:
    """An identity, and the blocks that it is attached to."""

    id: str
    fields: JsonObject
    block_ids: Sequence[str] = field(default=())


@immutable
class SourceMcpServer:
    """An MCP server. `config`: in the form of the request that creates a server (Letta V1 API, API 2.14). `unreadable`: the
    names of existing secrets without readable values. `tools`: its tools, as entries of an agent file.
    """

    id: str
    name: str
    config: JsonObject = field(repr=False)
    unreadable: Sequence[str] = ()
    tools: Sequence[JsonObject] = ()


class MigrationSource(Protocol):
    """Something to move from. It is only read. Each method raises CannotServe if the source cannot be read."""

    notes: list[SourceNote]
    """What was found that cannot be moved; it grows while the source is read."""

    @property
    def label(self) -> str:
        """The source in messages, without secrets."""

    def agent_count(self) -> int:
        """The number of agents, for the progress."""

    def tools(self) -> Iterator[JsonObject]:
        """The custom tools."""

    def mcp_servers(self) -> Iterator[SourceMcpServer]:
        """The MCP servers, each with its tools."""

    def identities(self) -> Iterator[SourceIdentity]:
        """The identities, each with the ids of its blocks."""

    def blocks(self) -> Iterator[JsonObject]:
        """All blocks, including blocks without an agent. The agents contain their blocks too."""

    def folders(self) -> Iterator[JsonObject]:
        """The folders, without their files."""

    def files(self, folder_id: str) -> Iterator[JsonObject]:
        """The files of a folder, each with its text as `content`, or None."""

    def agents(self) -> Iterator[SourceAgent]:
        """The agents, without their messages."""

    def log(self, agent: SourceAgent) -> SourceLog:
        """The messages of the agent's own conversation."""

    def conversations(self, agent: SourceAgent) -> Iterator[SourceConversation]:
        """The agent's further conversations."""

    def archives(self) -> Iterator[SourceArchive]:
        """The archives, each with the ids of its agents, without passages."""

    def passages(self, archive: SourceArchive) -> Iterator[JsonObject]:
        """The passages of an archive: id, text, tags, metadata, created_at."""

    def groups(self) -> Iterator[JsonObject]:
        """The groups, as bodies of POST /v1/groups/."""

    def close(self) -> None:
        """Close the connection to the source."""


def agent_entry(fields: Mapping[str, Json], secrets: Mapping[str, str]) -> JsonObject:
    """The entry of an agent, from its fields, without references."""
    entry = {name: fields[name] for name in OF_AN_AGENT if fields.get(name) is not None}
    metadata = fields.get("metadata_")
    if "metadata" not in entry and isinstance(metadata, dict):
        entry["metadata"] = metadata
    return {"id": str(fields["id"]), **entry, "secrets": dict(secrets)}


def handle_of(config: Json) -> str | None:
    """The handle of an embedding configuration: the stored one, or its provider and model."""
    if not isinstance(config, dict):
        return None
    if isinstance(config.get("handle"), str) and config["handle"]:
        return str(config["handle"])
    provider, model = config.get("embedding_endpoint_type"), config.get("embedding_model")
    return f"{provider}/{model}" if provider and model else None


def group_fields(fields: Mapping[str, Json]) -> JsonObject:
    """The body that creates a group."""
    kind = str(fields.get("manager_type") or "round_robin")
    names = ("manager_agent_id", "termination_token", "max_turns", "sleeptime_agent_frequency", "sleeptime_idle_seconds")
    lengths = ("max_message_buffer_length", "min_message_buffer_length")
    config = {name: fields[name] for name in (*names, *lengths) if fields.get(name) is not None}
    return {
        "id": str(fields["id"]),
        "agent_ids": list(fields.get("agent_ids") or ()),
        "description": str(fields.get("description") or ""),
        "manager_config": {"manager_type": kind, **config},
        "shared_block_ids": list(fields.get("shared_block_ids") or ()),
        "hidden": fields.get("hidden"),
    }
