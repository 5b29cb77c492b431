"""`model_settings`: the newer API's form of a model's configuration, with one shape per provider (Letta V1 API, API 4.12)."""

from typing import Annotated, Literal

from pydantic import Field

from hibernaut.schemas.base import JsonObject, Schema, Whole
from hibernaut.schemas.models.llm_config import Effort, ResponseFormat


class _Settings(Schema):
    """The settings that all providers share."""

    max_output_tokens: Whole = 4096
    parallel_tool_calls: bool = True


class OpenAIReasoning(Schema):
    """The reasoning effort of OpenAI's models."""

    reasoning_effort: Effort = "high"


class OpenAISettings(_Settings):
    """The settings of OpenAI's models."""

    provider_type: Literal["openai"] = "openai"
    temperature: float = 0.7
    reasoning: OpenAIReasoning = Field(default_factory=OpenAIReasoning)
    response_format: ResponseFormat | None = None
    strict: bool = True


class SGLangSettings(_Settings):
    """The settings of SGLang servers."""

    provider_type: Literal["sglang"] = "sglang"
    temperature: float = 0.7
    reasoning: OpenAIReasoning = Field(default_factory=OpenAIReasoning)
    response_format: ResponseFormat | None = None
    strict: bool = True
    tool_call_parser: str | None = None


class AnthropicThinking(Schema):
    """The extended thinking of Anthropic's models."""

    type: Literal["enabled", "disabled"] = "enabled"
    budget_tokens: Whole = 1024


class AnthropicSettings(_Settings):
    """The settings of Anthropic's models."""

    provider_type: Literal["anthropic"] = "anthropic"
    temperature: float = 1.0
    thinking: AnthropicThinking = Field(default_factory=AnthropicThinking)
    response_format: ResponseFormat | None = None
    verbosity: Literal["low", "medium", "high"] | None = None
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    strict: bool = False


class GeminiThinking(Schema):
    """The thinking of Gemini models."""

    include_thoughts: bool = True
    thinking_budget: Whole = 1024


class _GeminiSettings(_Settings):
    """The settings that both Gemini APIs share."""

    max_output_tokens: Whole = 65536
    temperature: float = 0.7
    thinking_config: GeminiThinking = Field(default_factory=GeminiThinking)
    response_schema: ResponseFormat | None = None


class GoogleAISettings(_GeminiSettings):
    """The settings of Google AI models."""

    provider_type: Literal["google_ai"] = "google_ai"


class GoogleVertexSettings(_GeminiSettings):
    """The settings of Vertex AI models."""

    provider_type: Literal["google_vertex"] = "google_vertex"


class _PlainSettings(_Settings):
    """The settings of providers without further options."""

    temperature: float = 0.7
    response_format: ResponseFormat | None = None


class AzureSettings(_PlainSettings):
    """The settings of Azure OpenAI models."""

    provider_type: Literal["azure"] = "azure"


class XAISettings(_PlainSettings):
    """The settings of xAI models."""

    provider_type: Literal["xai"] = "xai"


class GroqSettings(_PlainSettings):
    """The settings of Groq models."""

    provider_type: Literal["groq"] = "groq"


class DeepseekSettings(_PlainSettings):
    """The settings of DeepSeek models."""

    provider_type: Literal["deepseek"] = "deepseek"


class TogetherSettings(_PlainSettings):
    """The settings of Together models."""

    provider_type: Literal["together"] = "together"


class BedrockSettings(_PlainSettings):
    """The settings of Bedrock models."""

    provider_type: Literal["bedrock"] = "bedrock"


class OpenRouterSettings(_PlainSettings):
    """The settings of OpenRouter models."""

    provider_type: Literal["openrouter"] = "openrouter"


class BasetenSettings(_Settings):
    """The settings of Baseten models."""

    provider_type: Literal["baseten"] = "baseten"
    temperature: float = 0.7


class MoonshotSettings(_PlainSettings):
    """The settings of Moonshot models."""

    provider_type: Literal["moonshot"] = "moonshot"


class MoonshotCodingSettings(_PlainSettings):
    """The settings of Moonshot's coding models."""

    provider_type: Literal["moonshot_coding"] = "moonshot_coding"


class ZaiSettings(_PlainSettings):
    """The settings of Z.ai models."""

    provider_type: Literal["zai"] = "zai"
    thinking: JsonObject | None = None


class ChatGPTReasoning(Schema):
    """The reasoning effort of ChatGPT models."""

    reasoning_effort: Effort = "medium"


class ChatGPTSettings(_Settings):
    """The settings of models of a ChatGPT subscription."""

    provider_type: Literal["chatgpt_oauth"] = "chatgpt_oauth"
    temperature: float = 0.7
    reasoning: ChatGPTReasoning = Field(default_factory=ChatGPTReasoning)


class HibernautSettings(_Settings):
    """The settings of the server's built-in models (`hibernaut/demo`)."""

    provider_type: Literal["hibernaut"] = "hibernaut"
    temperature: float = 1.0


ModelSettings = Annotated[
    OpenAISettings
    | SGLangSettings
    | AnthropicSettings
    | GoogleAISettings
    | GoogleVertexSettings
    | AzureSettings
    | XAISettings
    | GroqSettings
    | DeepseekSettings
    | TogetherSettings
    | BedrockSettings
    | OpenRouterSettings
    | BasetenSettings
    | MoonshotSettings
    | MoonshotCodingSettings
    | ZaiSettings
    | ChatGPTSettings
    | HibernautSettings,
    Field(discriminator="provider_type"),
]

CompactionMode = Literal["all", "sliding_window", "self_compact_all", "self_compact_sliding_window"]


class CompactionSettings(Schema):
    """When and how the window is compacted (RT 6.2). `clip_chars` is in characters; the percentage is a fraction of
    1.
    """

    model: str | None = None
    model_settings: ModelSettings | None = None
    prompt: str | None = None
    prompt_acknowledgement: bool = False
    clip_chars: Whole | None = 50_000
    mode: CompactionMode = "sliding_window"
    sliding_window_percentage: float = 0.3
