"""An agent (Letta V1 API, API 4.1): the stored record, the wire form, and the request bodies."""

from datetime import date
from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from hibernaut.schemas.agents.group import Group
from hibernaut.schemas.agents.identity import Identity
from hibernaut.schemas.base import JsonObject, Moment, Schema, Whole
from hibernaut.schemas.limits import Metadata, Name, Names, Note, Small, Text
from hibernaut.schemas.memory.block import Block, CreateBlock, FileBlock
from hibernaut.schemas.memory.folder import Source
from hibernaut.schemas.messages.letta_message import ApprovalRequestMessage
from hibernaut.schemas.models.fallback import Fallbacks
from hibernaut.schemas.models.llm_config import EmbeddingConfig, LLMConfig, ResponseFormat
from hibernaut.schemas.models.model_settings import CompactionSettings, ModelSettings
from hibernaut.schemas.runs.approval import DEFAULT_DEADLINE
from hibernaut.schemas.runs.send import MessageCreate
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.stored import Stored
from hibernaut.schemas.tools.tool import Tool
from hibernaut.schemas.tools.tool_rule import ToolRule
from hibernaut.schemas.usage import Money

MOST_BLOCKS = 1_000
"""The largest number of blocks in a request to create an agent."""
MOST_MESSAGES = 10_000
"""The largest number of messages in a request to set the window."""


class AgentType(StrEnum):
    """The agent types of Letta (Letta V1 API, API 4.1)."""

    LETTA_V1 = "letta_v1_agent"
    MEMGPT = "memgpt_agent"
    MEMGPT_V2 = "memgpt_v2_agent"
    REACT = "react_agent"
    WORKFLOW = "workflow_agent"
    SPLIT_THREAD = "split_thread_agent"
    SLEEPTIME = "sleeptime_agent"
    VOICE_CONVO = "voice_convo_agent"
    VOICE_SLEEPTIME = "voice_sleeptime_agent"


class AgentEnvironmentVariable(Schema):
    """A secret of an agent, which its tools read as an environment variable. `value` is null unless the caller requested it
    (API 4.11).
    """

    id: str
    key: str
    value: str | None
    description: str | None = None
    agent_id: str
    organization_id: str | None = None
    created_by_id: str | None = None
    last_updated_by_id: str | None = None
    created_at: Moment | None = None
    updated_at: Moment | None = None
    value_enc: str | None = None


class StoredSecret(AgentEnvironmentVariable):
    """A secret as stored in the table: sealed in `value_enc`, and then `value` is empty. Older versions stored the value itself.
    `store.table.secret_vault` seals and opens it.
    """

    value: str


class Memory(Schema):
    """The deprecated form of core memory inside an AgentState."""

    agent_type: AgentType | None = None
    git_enabled: bool = False
    blocks: list[Block] = Field(default_factory=list)
    file_blocks: list[FileBlock] = Field(default_factory=list)
    prompt_template: str = ""


class _AgentFields(Schema):
    """The fields that the record and the wire form share."""

    id: str
    name: str
    system: str
    agent_type: AgentType
    created_at: Moment
    updated_at: Moment
    created_by_id: str | None = None
    last_updated_by_id: str | None = None
    tool_rules: list[ToolRule] | None = Field(default_factory=list)
    llm_config: LLMConfig
    embedding_config: EmbeddingConfig | None = None
    compaction_settings: CompactionSettings | None = None
    response_format: ResponseFormat | None = None
    description: str | None = None
    metadata: JsonObject | None = None
    timezone: str = "UTC"
    project_id: str | None = None
    template_id: str | None = None
    base_template_id: str | None = None
    deployment_id: str | None = None
    entity_id: str | None = None
    message_buffer_autoclear: bool = False
    enable_sleeptime: bool | None = None
    last_run_completion: Moment | None = None
    last_run_duration_ms: int | None = None
    last_stop_reason: StopReason | None = None
    max_files_open: int | None = None
    per_file_view_window_char_limit: int | None = None
    hidden: bool | None = None
    approval_deadline: int | None = DEFAULT_DEADLINE
    fallback_models: Fallbacks = Field(default_factory=list)
    tags: list[str] = Field(default_factory=list)
    identity_ids: list[str] = Field(default_factory=list)


class StoredAgent(Stored, _AgentFields):
    """The stored record: the shared fields, the ids of attached objects, and the secrets. `version` counts changes.

    `last_run_*` and `last_stop_reason` change at the end of every run, so they are stored in the list row
    (`store.agents.agents`). `explicit_model_settings` is set if the caller chose settings; otherwise they are derived from
    `llm_config`. `tool_ids` and `block_ids` are in the order of attachment. `managed_group_id`: the group that the agent manages,
    an attribute of its item.
    """

    block_ids: list[str] = Field(default_factory=list)
    tool_ids: list[str] = Field(default_factory=list)
    source_ids: list[str] = Field(default_factory=list)
    secrets: list[StoredSecret] = Field(default_factory=list)
    explicit_model_settings: ModelSettings | None = None
    managed_group_id: str | None = Field(default=None, exclude=True)
    version: int = 1

    @model_validator(mode="before")
    @classmethod
    def _one_fallback(cls, value: JsonObject) -> JsonObject:
        """Records that were written before there were several fallback models name one, or none."""
        if isinstance(value, dict) and value.get("fallback_model"):
            return {**value, "fallback_models": [value["fallback_model"]]}
        return value


class AgentState(_AgentFields):
    """The wire form. With the "1.0 client" header, relationships are empty unless the caller requests them (API 1.4)."""

    message_ids: list[str] | None = None
    model: str | None = None
    embedding: str | None = None
    model_settings: ModelSettings | None = None
    memory: Memory
    blocks: list[Block] = Field(default_factory=list)
    tools: list[Tool] = Field(default_factory=list)
    sources: list[Source] = Field(default_factory=list)
    tool_exec_environment_variables: list[AgentEnvironmentVariable] = Field(default_factory=list)
    secrets: list[AgentEnvironmentVariable] = Field(default_factory=list)
    identities: list[Identity] = Field(default_factory=list)
    pending_approval: ApprovalRequestMessage | None = None
    multi_agent_group: Group | None = None
    managed_group: Group | None = None


class _AgentRequest(Schema):
    """The fields that requests to create and to update share."""

    tool_ids: Names | None = None
    source_ids: Names | None = None
    folder_ids: Names | None = None
    block_ids: Names | None = None
    tags: Names | None = None
    system: Text | None = None
    tool_rules: Small[list[ToolRule]] | None = None
    description: Note | None = None
    metadata: Metadata | None = None
    tool_exec_environment_variables: Small[dict[str, str]] | None = None
    secrets: Small[dict[str, str]] | None = None
    project_id: Name | None = None
    template_id: Name | None = None
    base_template_id: Name | None = None
    identity_ids: Names | None = None
    model: Name | None = None
    embedding: Name | None = None
    model_settings: Small[ModelSettings] | None = None
    compaction_settings: Small[CompactionSettings] | None = None
    context_window_limit: Whole | None = Field(default=None, gt=0)
    reasoning: bool | None = None
    llm_config: Small[LLMConfig] | None = None
    embedding_config: Small[EmbeddingConfig] | None = None
    parallel_tool_calls: bool | None = None
    response_format: Small[ResponseFormat] | None = None
    max_tokens: Whole | None = Field(default=None, gt=0)
    enable_sleeptime: bool | None = None
    timezone: Name | None = None
    max_files_open: Whole | None = None
    per_file_view_window_char_limit: Whole | None = None
    hidden: bool | None = None
    approval_deadline: Whole | None = Field(default=None, gt=0)
    fallback_models: Fallbacks | None = None


class CreateAgentRequest(_AgentRequest):
    """The body of POST /v1/agents/ (API 4.2)."""

    name: Name | None = None
    memory_blocks: Annotated[list[CreateBlock], Field(max_length=MOST_BLOCKS)] | None = None
    tools: Names | None = None
    agent_type: AgentType = AgentType.LETTA_V1
    initial_message_sequence: Annotated[list[MessageCreate], Field(max_length=MOST_MESSAGES)] | None = None
    include_base_tools: bool = True
    include_multi_agent_tools: bool = False
    include_base_tool_rules: bool | None = None
    include_default_source: bool = False
    embedding_chunk_size: Whole | None = 300
    max_reasoning_tokens: Whole | None = None
    enable_reasoner: bool | None = True
    from_template: Name | None = None
    template: bool = False
    project: Name | None = None
    memory_variables: Small[dict[str, str]] | None = None
    message_buffer_autoclear: bool = False


class UpdateAgent(_AgentRequest):
    """The body of PATCH /v1/agents/{id} (API 4.3): null fields change nothing; lists replace the whole set."""

    name: Name | None = None
    message_ids: Annotated[list[Name], Field(max_length=MOST_MESSAGES)] | None = None
    message_buffer_autoclear: bool | None = None
    last_run_completion: Moment | None = None
    last_run_duration_ms: Whole | None = None
    last_stop_reason: StopReason | None = None


class ResetMessages(Schema):
    """The body of PATCH /v1/agents/{id}/reset-messages."""

    add_default_initial_messages: bool = False


class PromptPrice(Schema):
    """What a million tokens of a prompt of this length cost in USD: read anew, and read from the provider's cache. `cached_input`
    null: the list has no price of its own for them.
    """

    input: Money
    cached_input: Money | None = None
    price_list_date: date


class ContextWindowOverview(Schema):
    """The body of GET /v1/agents/{id}/context (API 4.12); sizes in tokens.

    Extensions of Hibernaut: `price`, null if the price of the agent's model is unknown, and `context_window_note`, which says
    what limits the window if the model's server cuts longer prompts without an error.
    """

    price: PromptPrice | None = None
    context_window_note: str | None = None

    context_window_size_max: int
    context_window_size_current: int
    num_messages: int
    num_archival_memory: int
    num_recall_memory: int
    num_tokens_external_memory_summary: int
    external_memory_summary: str
    num_tokens_system: int
    system_prompt: str
    num_tokens_core_memory: int
    core_memory: str
    num_tokens_memory_filesystem: int = 0
    memory_filesystem: str | None = None
    num_tokens_tool_usage_rules: int = 0
    tool_usage_rules: str | None = None
    num_tokens_directories: int = 0
    directories: str | None = None
    num_tokens_summary_memory: int = 0
    summary_memory: str | None = None
    num_tokens_functions_definitions: int = 0
    functions_definitions: list[JsonObject] | None = None
    num_tokens_messages: int = 0
    messages: list[JsonObject] = Field(default_factory=list)
