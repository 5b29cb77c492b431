"""How records are written into an agent file: with local ids, without ids of users, and without the values of secrets.

Pure. `LocalIds` numbers what the file contains; a reference to anything else is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hibernaut.schemas.agents.agent import AgentEnvironmentVariable, StoredAgent
from hibernaut.schemas.agents.group import ManagerType, StoredGroup
from hibernaut.schemas.base import JsonObject, wire_time
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.memory.file import Desk, FileStatus, StoredFile
from hibernaut.schemas.memory.folder import StoredFolder
from hibernaut.schemas.messages.message import Message, ToolReturn
from hibernaut.schemas.tools.tool import Tool

_OF_USERS = ("created_by_id", "last_updated_by_id")
_OF_A_BLOCK = (
    "value", "limit", "label", "description", "read_only", "metadata", "tags", "hidden", "project_id", "template_name", "is_template",
    "template_id", "base_template_id", "deployment_id", "entity_id", "preserve_on_migration",
)  # fmt: skip
_OF_AN_AGENT = (
    "name", "system", "agent_type", "tool_rules", "llm_config", "embedding_config", "compaction_settings", "response_format", "description",
    "metadata", "timezone", "message_buffer_autoclear", "max_files_open", "per_file_view_window_char_limit", "hidden", "approval_deadline",
    "fallback_models", "tags",
)  # fmt: skip
_SETTINGS: Mapping[ManagerType, Sequence[str]] = {
    ManagerType.ROUND_ROBIN: ("max_turns",),
    ManagerType.SUPERVISOR: ("manager_agent_id",),
    ManagerType.DYNAMIC: ("manager_agent_id", "termination_token", "max_turns"),
    ManagerType.SLEEPTIME: ("manager_agent_id", "sleeptime_agent_frequency", "sleeptime_idle_seconds"),
    ManagerType.VOICE_SLEEPTIME: ("manager_agent_id", "max_message_buffer_length", "min_message_buffer_length"),
    ManagerType.SWARM: (),
}
"""The settings of a group by its manager type."""
_NOT_IN_A_FILE: JsonObject = {
    "memory_blocks": [],
    "tools": [],
    "folder_ids": None,
    "initial_message_sequence": None,
    "include_base_tools": False,
    "include_multi_agent_tools": False,
    "include_base_tool_rules": False,
    "include_default_source": False,
    "model": None,
    "embedding": None,
    "context_window_limit": None,
    "embedding_chunk_size": None,
    "max_tokens": None,
    "max_reasoning_tokens": None,
    "enable_reasoner": None,
    "reasoning": None,
    "from_template": None,
    "template": False,
    "project": None,
    "memory_variables": None,
    "project_id": None,
    "template_id": None,
    "base_template_id": None,
    "identity_ids": None,
    "enable_sleeptime": False,
    "parallel_tool_calls": None,
}
"""The fields of a request to create an agent that say nothing about an existing one, or whose values belong to this server."""


class LocalIds:
    """The ids of one kind within a file, numbered in the order of their first use."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._ids: dict[str, str] = {}

    def of(self, identifier: str) -> str:
        """The local id of a record."""
        return self._ids.setdefault(identifier, f"{self._kind}-{len(self._ids)}")

    def known(self, identifiers: Iterable[str]) -> list[str]:
        """The local ids of the records among these that the file contains."""
        return [self._ids[one] for one in identifiers if one in self._ids]

    def get(self, identifier: str | None) -> str | None:
        """The local id; None if the file does not contain the record."""
        return self._ids.get(identifier or "")


def exported_agent(agent: StoredAgent) -> JsonObject:
    """An agent's own fields. Its references and messages are added by the caller."""
    fields = agent.model_dump(mode="json", include=set(_OF_AN_AGENT))
    settings = agent.explicit_model_settings
    secrets = blanked(agent.secrets)
    return {
        **_NOT_IN_A_FILE,
        **{name: fields[name] for name in _OF_AN_AGENT},
        "model_settings": settings.model_dump(mode="json") if settings else None,
        "secrets": secrets,
        "tool_exec_environment_variables": secrets,
    }


def blanked(secrets: Iterable[AgentEnvironmentVariable]) -> dict[str, str]:
    """The names of secrets, with empty values."""
    return {secret.key: "" for secret in secrets}


def exported_block(block: StoredBlock, local: str) -> JsonObject:
    """A block."""
    return {"id": local, **block.model_dump(mode="json", include=set(_OF_A_BLOCK))}


def exported_tool(tool: Tool, local: str) -> JsonObject:
    """A tool with its source and schema."""
    fields = tool.model_dump(mode="json", include=set(Tool.model_fields) - {"id", "created_at"})
    return {"id": local, **fields, **dict.fromkeys(_OF_USERS), "project_id": None}


def exported_group(group: StoredGroup, local: str, agents: LocalIds, blocks: LocalIds) -> JsonObject:
    """A group with the agents and blocks that the file contains."""
    settings = {
        "manager_type": group.manager_type.value,
        **{name: getattr(group, name) for name in _SETTINGS[group.manager_type]},
    }
    if "manager_agent_id" in settings:
        settings["manager_agent_id"] = agents.get(group.manager_agent_id)
    return {
        "id": local,
        "agent_ids": agents.known(group.agent_ids),
        "description": group.description,
        "manager_config": settings,
        "project_id": None,
        "shared_block_ids": blocks.known(group.shared_block_ids),
        "hidden": group.hidden,
    }


def exported_folder(folder: StoredFolder, local: str) -> JsonObject:
    """A folder, by its old name a source."""
    config = folder.embedding_config
    fields = folder.model_dump(mode="json", include={"name", "description", "instructions", "metadata", "embedding_config"})
    more = {
        "embedding": config.handle if config else None,
        "embedding_chunk_size": config.embedding_chunk_size if config else None,
    }
    return {"id": local, **fields, **more}


def exported_file(file: StoredFile, local: str, folder: str, content: str) -> JsonObject:
    """A file with its text."""
    fields = file.wire(None).model_dump(mode="json", exclude={"estimated_completion_at"})
    chunks = {
        "processing_status": FileStatus.COMPLETED,
        "error_message": None,
        "total_chunks": file.total,
        "chunks_embedded": file.total,
    }
    return {**fields, **chunks, "id": local, "source_id": folder, "content": content}


def exported_desk(agent: str, desk: Desk, files: Sequence[tuple[str, str, str, str]]) -> list[JsonObject]:
    """The desk of an agent: its files, and which of them are open. `files`: record id, local id, local id of the folder, and
    name.
    """
    rows = []
    for number, (file_id, local, folder, name) in enumerate(files):
        window = desk.open.get(file_id)
        is_partial = window is not None and (window.start > 0 or window.length is not None)
        accessed_at = window.accessed if window else desk.last_accessed.get(file_id)
        rows.append({
            "id": f"file_agent-{number}",
            "agent_id": agent,
            "file_id": local,
            "source_id": folder,
            "file_name": name,
            "is_open": window is not None,
            "visible_content": None,
            "last_accessed_at": wire_time(accessed_at) if accessed_at else None,
            "start_line": window.start + 1 if window and is_partial else None,
            "end_line": window.start + window.length if window and window.length is not None else None,
        })  # fmt: skip
    return rows


def exported_message(row: Message, agent: str, messages: LocalIds) -> JsonObject:
    """A row of a log."""
    return {
        "type": "message",
        "id": messages.of(row.id),
        "role": row.role,
        "content": [part.model_dump(mode="json") for part in row.content],
        "name": row.name,
        "otid": row.otid,
        "sender_id": row.sender_id,
        "batch_item_id": row.batch_item_id,
        "group_id": row.group_id,
        "model": row.model,
        "agent_id": agent,
        "tool_calls": [call.model_dump() for call in row.tool_calls] if row.tool_calls is not None else None,
        "tool_call_id": row.tool_call_id,
        "tool_returns": [_return(one) for one in row.tool_returns],
        "created_at": wire_time(row.created_at),
        "approve": row.approve,
        "approval_request_id": messages.get(row.approval_request_id),
        "denial_reason": row.denial_reason,
        "approvals": row.approvals,
    }


def _return(tool_return: ToolReturn) -> JsonObject:
    return tool_return.model_dump(mode="json", exclude=None if tool_return.images else {"images"})
