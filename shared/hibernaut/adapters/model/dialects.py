"""The servers that speak Chat Completions, as data: how each is configured and what it takes beyond the common request.

One row per provider; the source of a fact stands beside it. Knows no request and no connection. A fact without a public source is
not claimed: the member is then not sent, or no limit is checked.
"""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from hibernaut.domain.redaction import bare_address
from hibernaut.schemas.immutable import immutable

Member = Literal[
    "user",
    "parallel_tool_calls",
    "stream_options",
    "strict",
    "json_object",
    "json_schema",
    "temperature",
    "frequency_penalty",
    "prompt_cache_key",
    "logprobs",
]
"""An optional part of a request. `strict` is that of a tool; `json_object` and `json_schema` are types of `response_format`."""
Choice = Literal["auto", "none", "required", "named", "allowed"]
"""A value of `tool_choice`. `auto` is what a server does without it; `allowed` is OpenAI's list of the tools that may be
called.
"""
Thoughts = Literal["reasoning_content", "reasoning", "reasoning_details", "extra_content"]
"""A member of an assistant message that holds reasoning, or its signature, and goes back with the message."""

COMMON: frozenset[Member] = frozenset(
    {"user", "parallel_tool_calls", "stream_options", "strict", "json_object", "json_schema", "temperature", "frequency_penalty"}
)
ANY_CHOICE: frozenset[Choice] = frozenset({"auto", "none", "required", "named"})
ANY_THOUGHTS: frozenset[Thoughts] = frozenset({"reasoning_content", "reasoning", "reasoning_details", "extra_content"})
NO_THOUGHTS: frozenset[Thoughts] = frozenset()


@immutable
class Dialect:
    """A provider. `name` is the first part of its handles, `aliases` are further names of it in V1's handles, `kind` is V1's
    `model_endpoint_type`. `key` and `address` name its settings; `url` is its address unless one is set (None: it must be set),
    and `path` is added to an address without a path.

    `older_address`: V1's deprecated name of `address`. `handle_base`: the variable that gives a further first part of its
    handles, as in V1.

    `listing`: where the models are listed, `GET /models` or Ollama's `/api/tags`; `none`: the provider lists no usable names, and
    every name is accepted. `thoughts` are the members of its replies that are sent back. `effort`: whether `reasoning_effort` is
    sent, for OpenAI's models only, for any, or never; `efforts` are the values for models that are not OpenAI's, the weakest
    first, and `effort_models` a pattern of the names of those that take one ("": all). `format_with_tools` False: a request has a
    `response_format` or tools. `thinking_choices`: the tool choices while the model reasons (None: all of `choices`). `switch`:
    the member that switches reasoning off. `most_tools` None: no published limit.
    `call_id_length`: the ids of calls have exactly this length. `user_after_tool` False: a message of the assistant must stand
    between a tool's and a user's. `system_anywhere` False: a system message stands first, and a later one is sent as a user's.
    `think_tags`: a text may begin with `<think>`. `key_path`: the route
    that checks the key, if the list of models is public. `local`: a server of the user's own, without a key.
    `embeds`: it has embedding models by a documented route (`adapters/embedder`), which are listed at `embedding_list`.
    `fills`: the member that is added to another model's calls, because the server refuses calls without its own reasoning.
    """

    name: str
    title: str
    kind: str
    key: str
    address: str
    url: str | None = None
    path: str = "/v1"
    aliases: tuple[str, ...] = ()
    older_address: str = ""
    handle_base: str = ""
    listing: Literal["models", "tags", "none"] = "models"
    takes: frozenset[Member] = COMMON
    choices: frozenset[Choice] = ANY_CHOICE
    thinking_choices: frozenset[Choice] | None = None
    limit_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    thoughts: frozenset[Thoughts] = ANY_THOUGHTS
    fills: Literal["reasoning_content", "signature"] | None = None
    effort: Literal["openai", "any", "never"] = "any"
    efforts: tuple[str, ...] = ("low", "medium", "high")
    effort_models: str = ""
    format_with_tools: bool = True
    switch: Literal["thinking", "reasoning"] | None = None
    most_tools: int | None = None
    call_id_length: int | None = None
    user_after_tool: bool = True
    system_anywhere: bool = False  # Qwen3.5 to 3.8 refuse it on every server (vllm#41114, llama.cpp#27367, ollama#17774)
    think_tags: bool = True
    key_path: str | None = None
    local: bool = False
    embeds: bool = False
    embedding_list: str = "/models"

    def choices_of(self, *, thinks: bool) -> frozenset[Choice]:
        """The tool choices of a request. `thinks`: its reasoning is not switched off."""
        return self.choices if self.thinking_choices is None or not thinks else self.thinking_choices

    def at(self, address: str | None) -> str | None:
        """The base URL: `address`, completed by the path where it has none, else the provider's own. None: not configured."""
        if not address:
            return self.url
        url = address.rstrip("/")
        return url if urlsplit(url).path.strip("/") else url + self.path


OPENAI = Dialect(
    "openai", "OpenAI", "openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1",
    aliases=("openai-proxy",),  # RT 11.1: V1's handles for another address
    older_address="OPENAI_API_BASE",  # letta/settings.py
    takes=COMMON | {"prompt_cache_key", "logprobs"},  # openai/types/chat/completion_create_params.py, openai 3.54.0
    choices=ANY_CHOICE | {"allowed"},  # openai/types/chat/chat_completion_allowed_tools_param.py
    limit_name="max_completion_tokens",  # completion_create_params.py: `max_tokens` is deprecated
    thoughts=NO_THOUGHTS,  # chat_completion_assistant_message_param.py has no member for reasoning
    effort="openai",
    most_tools=128,  # platform.openai.com/docs/api-reference/chat/create, `tools`
    system_anywhere=True,  # there, `messages`
    think_tags=False,
    embeds=True,
)  # fmt: skip
AZURE = Dialect(
    "azure", "Azure OpenAI (v1)", "azure", "AZURE_API_KEY", "AZURE_BASE_URL",  # names: letta/settings.py
    path="/openai/v1",  # learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
    listing="none",  # the list names base models, a request names a deployment
    takes=COMMON | {"prompt_cache_key", "logprobs"}, limit_name="max_completion_tokens", thoughts=NO_THOUGHTS, effort="openai",
    most_tools=128,  # learn.microsoft.com/azure/ai-foundry/openai/quotas-limits
    system_anywhere=True,
    think_tags=False,
    embeds=True,
)  # fmt: skip
GEMINI = Dialect(
    "google_ai", "Google Gemini", "google_ai", "GEMINI_API_KEY", "GEMINI_BASE_URL",  # names: letta/settings.py
    "https://generativelanguage.googleapis.com/v1beta", path="/v1beta",
    takes=frozenset({"stream_options", "json_object", "json_schema", "temperature"}),  # ai.google.dev/gemini-api/docs/openai
    thoughts=frozenset({"extra_content"}), fills="signature",  # ai.google.dev/gemini-api/docs/thought-signatures
    think_tags=False,
    embeds=True,
)  # fmt: skip
"""By Gemini's own wire; an address that ends with `/openai` speaks Chat Completions, and this row says what it takes there."""
GROQ = Dialect(
    "groq", "Groq", "groq", "GROQ_API_KEY", "GROQ_BASE_URL", "https://api.groq.com/openai/v1", path="/openai/v1",
    takes=COMMON - {"strict"},  # console.groq.com/docs/api-reference#chat-create
    limit_name="max_completion_tokens",  # there: `max_tokens` is deprecated
    thoughts=NO_THOUGHTS,  # janhq/jan#8136, NousResearch/hermes-agent#11089: reasoning_content "is unsupported"
    effort_models="openai/gpt-oss",  # earendil-works/pi#1745: Qwen's have other values, Llama none (iamsrikanthnani/pluely#242)
    format_with_tools=False,  # agno-agi/agno#1065, vercel/ai#16540: "cannot be combined with tool/function calling"
    most_tools=128,  # console.groq.com/docs/api-reference#chat-create, `tools`
)  # fmt: skip
TOGETHER = Dialect(
    "together", "Together AI", "together", "TOGETHER_API_KEY", "TOGETHER_BASE_URL", "https://api.together.xyz/v1",
    # docs.together.ai/reference/chat-completions-1 lists the members; docs.together.ai/reference/models-1: the list is an array
    takes=frozenset({"stream_options", "json_object", "json_schema", "temperature", "frequency_penalty"}), thoughts=NO_THOUGHTS,
    embeds=True,
)  # fmt: skip
XAI = Dialect(
    "xai", "xAI", "xai", "XAI_API_KEY", "XAI_BASE_URL", "https://api.x.ai/v1",
    # docs.x.ai/docs/models: reasoning models refuse penalties
    takes=COMMON - {"frequency_penalty", "strict"}, thoughts=NO_THOUGHTS,
    # NousResearch/hermes-agent#23435, earendil-works/pi#8381: the others refuse an effort
    effort_models=r"grok-(?:3-mini|4\.20-multi-agent|4\.[3-9](?!\d)|[5-9])",
)  # fmt: skip
DEEPSEEK = Dialect(
    "deepseek", "DeepSeek", "deepseek", "DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL", "https://api.deepseek.com/v1",
    # api-docs.deepseek.com/api/create-chat-completion: JSON objects only; `strict` needs another address
    takes=frozenset({"stream_options", "json_object", "temperature", "frequency_penalty", "logprobs"}),
    # deepseek-ai/DeepSeek-V3#1376, BerriAI/litellm#37470: a forced one is refused while it thinks, which is the default
    thinking_choices=frozenset({"auto", "none"}),
    thoughts=frozenset({"reasoning_content"}),  # api-docs.deepseek.com/guides/thinking_mode; anomalyco/opencode#24722
    fills="reasoning_content",  # NousResearch/hermes-agent#17341: an empty text is refused
    switch="thinking", efforts=("high", "max"),  # api-docs.deepseek.com/guides/thinking_mode; Kilo-Org/kilocode#9512
    most_tools=128,  # api-docs.deepseek.com/api/create-chat-completion, `tools`
)  # fmt: skip
MISTRAL = Dialect(
    "mistral", "Mistral", "mistral", "MISTRAL_API_KEY", "MISTRAL_BASE_URL", "https://api.mistral.ai/v1",
    # docs.mistral.ai/api and mistralai/platform-docs-public#7, editor-code-assistant/eca#231: others are `extra_forbidden`
    takes=frozenset(
        {"parallel_tool_calls", "strict", "json_object", "json_schema", "temperature", "frequency_penalty", "prompt_cache_key"}
    ),
    thoughts=NO_THOUGHTS,  # charmbracelet/crush#1590
    # docs.mistral.ai/capabilities/reasoning/adjustable; NousResearch/hermes-agent#11243: the others refuse an effort
    efforts=("none", "high"), effort_models=r"mistral-small-(?:latest|26)|mistral-medium-(?:3[-.]5|26)",
    call_id_length=9,  # nearai/ironclaw#1241: "must be a-z, A-Z, 0-9, with a length of 9"
    user_after_tool=False,  # avante-corp/avante.nvim#2695: "Unexpected role 'user' after role 'tool'"
    embeds=True,
)  # fmt: skip
OPENROUTER = Dialect(
    "openrouter", "OpenRouter", "openrouter", "OPENROUTER_API_KEY", "OPENROUTER_BASE_URL", "https://openrouter.ai/api/v1",
    path="/api/v1", takes=COMMON - {"strict"} | {"logprobs"},  # openrouter.ai/docs/api/reference/parameters
    handle_base="OPENROUTER_HANDLE_BASE",  # letta/settings.py
    key_path="/key",  # openrouter.ai/docs/api/reference/limits: "To check the rate limit or credits left on an API key"
    thoughts=frozenset({"reasoning_details"}),  # openrouter.ai/docs/guides/best-practices/reasoning-tokens: preserving blocks
    efforts=("none", "minimal", "low", "medium", "high", "xhigh"),  # there, `effort`
    switch="reasoning",  # there: `reasoning: {"enabled": false}`
    embeds=True, embedding_list="/embeddings/models",  # openrouter.ai/docs/api/api-reference/embeddings/list-embeddings-models
)  # fmt: skip
MOONSHOT = Dialect(
    "moonshot", "Moonshot", "moonshot", "MOONSHOT_API_KEY", "MOONSHOT_BASE_URL", "https://api.moonshot.ai/v1",
    # platform.moonshot.ai/docs/api/chat; Warma10032/VideoAdGuard#34: the temperature of K2.5 is fixed
    takes=frozenset({"stream_options", "json_object", "prompt_cache_key"}),
    choices=frozenset({"auto", "none"}),  # can1357/oh-my-pi#827: "incompatible with thinking enabled"
    thoughts=frozenset({"reasoning_content"}), fills="reasoning_content",  # continuedev/continue#11711, charmbracelet/crush#2696
    effort="never", switch="thinking",  # platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model
    most_tools=128,  # platform.moonshot.ai/docs/api/tool-use
)  # fmt: skip
ZAI = Dialect(
    "zai", "Z.ai", "zai", "ZAI_API_KEY", "ZAI_BASE_URL", "https://api.z.ai/api/paas/v4", path="/api/paas/v4",
    # java.agentscope.io/v2/en/integration/model/glm lists what GLM's API does not take
    takes=frozenset({"json_object", "temperature"}),
    choices=frozenset({"auto"}),  # docs.z.ai/api-reference/llm/chat-completion, `tool_choice`
    thoughts=frozenset({"reasoning_content"}),  # docs.z.ai/guides/capabilities/thinking-mode: interleaved thinking
    effort="never", switch="thinking",
    most_tools=128,  # docs.z.ai/api-reference/llm/chat-completion, `tools`
)  # fmt: skip
MINIMAX = Dialect(
    "minimax", "MiniMax", "minimax", "MINIMAX_API_KEY", "MINIMAX_BASE_URL", "https://api.minimax.io/v1",
    # platform.minimax.io/docs/api-reference/text-openai-api: the whole message goes back, `<think>` included
    takes=frozenset({"stream_options", "temperature"}), choices=frozenset({"auto"}),
    limit_name="max_completion_tokens",  # java.agentscope.io/v2/en/integration/model/minimax: `max_tokens` is deprecated
    thoughts=frozenset({"reasoning_content", "reasoning_details"}), effort="never", switch="thinking",
)  # fmt: skip
OLLAMA = Dialect(
    "ollama", "Ollama", "ollama", "OLLAMA_API_KEY", "OLLAMA_BASE_URL",  # OLLAMA_BASE_URL: letta/settings.py
    listing="tags", local=True,  # docs.ollama.com/api/tags
    # docs.ollama.com/api/openai-compatibility: `tool_choice`, `user` and `parallel_tool_calls` have no effect
    # log probabilities: ollama/ollama-python#601
    takes=frozenset({"stream_options", "json_object", "json_schema", "temperature", "frequency_penalty", "logprobs"}),
    choices=frozenset({"auto"}), thoughts=frozenset({"reasoning"}),
    embeds=True,
)  # fmt: skip
VLLM = Dialect(
    "vllm", "vLLM", "vllm", "VLLM_API_KEY", "VLLM_API_BASE", local=True, handle_base="VLLM_HANDLE_BASE",  # letta/settings.py
    takes=COMMON - {"strict"} | {"logprobs"},  # docs.vllm.ai/en/latest/serving/openai_compatible_server.html
    embeds=True,
)  # fmt: skip
SGLANG = Dialect(
    "sglang", "SGLang", "sglang", "SGLANG_API_KEY", "SGLANG_API_BASE", local=True, handle_base="SGLANG_HANDLE_BASE",  # letta/server/server.py
    takes=COMMON - {"strict"} | {"logprobs"},  # docs.sglang.ai/basic_usage/openai_api_completions.html
    embeds=True,
)  # fmt: skip
LM_STUDIO = Dialect(
    "lmstudio_openai", "LM Studio", "openai", "LMSTUDIO_API_KEY", "LMSTUDIO_BASE_URL", local=True,
    # name, variable: RT 11.1, docs.letta.com/guides/server/providers/lmstudio
    takes=frozenset({"stream_options", "json_schema", "temperature", "frequency_penalty"}),  # lmstudio.ai/docs/developer/openai-compat
    choices=frozenset({"auto", "none", "required"}),  # lmstudio-ai/lmstudio-bug-tracker#670
    embeds=True,
)  # fmt: skip
LLAMA_CPP = Dialect(
    "llamacpp", "llama.cpp", "llamacpp", "LLAMACPP_API_KEY", "LLAMACPP_BASE_URL", local=True,
    takes=COMMON - {"strict", "user"} | {"logprobs"},  # ggml-org/llama.cpp#10783; github.com/ggml-org/llama.cpp, tools/server/README.md
    choices=frozenset({"auto", "none", "required"}),  # there, docs/function-calling.md: a text
    embeds=True,
)  # fmt: skip
BEDROCK = Dialect(
    "bedrock", "Amazon Bedrock (gpt-oss)", "bedrock", "", "",
    # BerriAI/litellm#13959 repeats the members that the server names in its refusal of another one
    takes=COMMON - {"strict"}, limit_name="max_completion_tokens", thoughts=NO_THOUGHTS,
)  # fmt: skip
"""Chat Completions of Bedrock's runtime. It is configured by a region, so that it is not among `DIALECTS`."""
ANY = Dialect(
    "openai", "any other server", "openai", "OPENAI_API_KEY", "OPENAI_BASE_URL",
    takes=COMMON | {"logprobs"},  # what V1 sends to a server that it does not know
    effort="openai",
)  # fmt: skip
"""Whatever OPENAI_BASE_URL names, unless its host is that of another row."""

DIALECTS = (
    OPENAI, AZURE, GEMINI, GROQ, TOGETHER, XAI, DEEPSEEK, MISTRAL, OPENROUTER, MOONSHOT, ZAI, MINIMAX, OLLAMA, VLLM, SGLANG, LM_STUDIO,
    LLAMA_CPP,
)  # fmt: skip
"""Each is a provider of its own. All that are configured exist side by side."""


def dialect_at(url: str) -> Dialect:
    """The dialect of an address, by its host."""
    host = urlsplit(bare_address(url)).hostname
    return next((row for row in DIALECTS if row.url and urlsplit(row.url).hostname == host), ANY)
