"""Servers that are compatible with Chat Completions, each with the traits and rules in which it differs from OpenAI's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hibernaut.adapters.model import dialects
from hibernaut.adapters.model.dialects import Dialect
from tests.contracts.model.kit.chat_rules import CHAT_RULES
from tests.contracts.model.kit.chat_server import ChatServer, Traits, served
from tests.contracts.model.kit.compatible_rules import (
    DEEPSEEK_RULES,
    GEMINI_RULES,
    KIMI_RULES,
    MINIMAX_RULES,
    MISTRAL_RULES,
    OLLAMA_RULES,
    OPENROUTER_RULES,
    QWEN_RULES,
    XAI_RULES,
    ZAI_RULES,
)
from tests.contracts.model.kit.gemini_native import LIMIT
from tests.contracts.model.kit.groq_rules import GROQ_RULES
from tests.contracts.model.kit.ollama import OllamaServer
from tests.contracts.model.kit.rules import Rule
from tests.contracts.model.kit.server import KitServer, Provider


def _provider(
    name: str,
    dialect: Dialect,
    model: str,
    traits: Traits,
    rules: Sequence[Rule] = (),
    *,
    server: Callable[[Provider], KitServer] | None = None,
    prefix: str = "/v1",
    **fields: Any,
) -> Provider:
    def variables(address: str) -> Mapping[str, str]:
        return {dialect.key: "sk-kit", dialect.address: f"{address}{prefix}"}

    thinks = traits.thoughts is not None
    made = server or served(replace(traits, most_tools=dialect.most_tools), prefix)
    return Provider(name, f"{dialect.name}/{model}", made, (*rules, *CHAT_RULES), variables, thinks=thinks, **fields)


class BareListServer(ChatServer):
    """Together's model list is an array without an object around it (docs.together.ai/reference/models;
    langchain-ai/langchain#…).
    """

    traits = Traits(
        thoughts="reasoning",
        too_long="Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32769. Given: 40000 `inputs` tokens",
        too_long_status=422,
    )

    def listing(self) -> Any:
        return super().listing()["data"]


DEEPSEEK = _provider(
    "deepseek",
    dialects.DEEPSEEK,
    "deepseek-v4-pro",
    Traits(thoughts="reasoning_content", keep_alive=b": keep-alive\n\n"),
    DEEPSEEK_RULES,
)
KIMI = _provider(
    "kimi",
    dialects.MOONSHOT,
    "kimi-k2.5",
    Traits(
        thoughts="reasoning_content",
        usage="choice",
        call_id=lambda number: f"ring:{number}",
        too_long="Invalid request: Your request exceeded model token limit: 262144",
    ),
    KIMI_RULES,
)
MISTRAL = _provider(
    "mistral",
    dialects.MISTRAL,
    "mistral-large-2512",
    Traits(
        errors="mistral",
        tells_usage=True,  # docs.mistral.ai/api: it has no stream_options
        call_id=lambda number: f"abcde{number:04d}",
        too_long="Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
    ),
    MISTRAL_RULES,
)
GEMINI = _provider(
    "gemini-openai",
    dialects.GEMINI,
    "gemini-3.6-flash",
    Traits(
        errors="array",
        signs=True,
        calls_whole=True,
        limit=LIMIT,
        too_long="The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    GEMINI_RULES,
    prefix="/v1beta/openai",
)
GROQ = _provider(
    "groq",
    dialects.GROQ,
    "openai/gpt-oss-120b",
    Traits(
        thoughts="reasoning",
        usage="x_groq",
        limit_status=413,
        limit="Request too large for model `openai/gpt-oss-120b` on tokens per minute (TPM): Limit 8000, Requested 9000, please reduce your "
        "message size and try again.",
        too_long="Please reduce the length of the messages or completion.",
    ),
    GROQ_RULES,
)
TOGETHER = _provider("together", dialects.TOGETHER, "Qwen/Qwen3-235B-A22B", BareListServer.traits, server=BareListServer)
OPENROUTER = _provider(
    "openrouter",
    dialects.OPENROUTER,
    "google/gemini-3.6-flash",
    Traits(
        thoughts="reasoning_details",
        errors="raw",
        keep_alive=b": OPENROUTER PROCESSING\n\n",
        too_long="The input token count exceeds the maximum number of tokens allowed 1048576.",
    ),
    OPENROUTER_RULES,
)
XAI = _provider(
    "xai",
    dialects.XAI,
    "grok-4.20-0309-reasoning",
    Traits(
        errors="text",
        wrong_key_status=400,
        calls_whole=True,
        too_long="This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    ),
    XAI_RULES,
)
ZAI = _provider(
    "zai",
    dialects.ZAI,
    "glm-5.1",
    Traits(
        thoughts="reasoning_content",
        no_credit="Insufficient balance or no resource package. Please recharge.",  # vercel/ai#9290
        no_credit_status=429,
        tells_usage=True,  # docs.z.ai/guides/capabilities/streaming: the last chunk
        too_long="Prompt exceeds max length",
    ),
    ZAI_RULES,
    prefix="/api/paas/v4",
)
MINIMAX = _provider("minimax", dialects.MINIMAX, "MiniMax-M3", Traits(thoughts="<think>", errors="plain"), MINIMAX_RULES)
OLLAMA = _provider(
    "ollama", dialects.OLLAMA, "qwen3.8:27b", OllamaServer.traits, (*QWEN_RULES, *OLLAMA_RULES), server=OllamaServer
)
VLLM = _provider(
    "vllm",
    dialects.VLLM,
    "Qwen/Qwen3.8-27B",
    Traits(
        thoughts="<think>",
        errors="plain",
        calls_whole=True,
        too_long="Input length (40000) exceeds the model's maximum context length (32768).",
    ),
    QWEN_RULES,
    lists=[{"id": "meta-llama/Llama-3.3-70B-Instruct", "max_model_len": 32768}],
)
SGLANG = _provider(
    "sglang",
    dialects.SGLANG,
    "Qwen/Qwen3.5-9B",
    Traits(
        thoughts="reasoning_content",
        errors="plain",
        calls_whole=True,
        index=1,
        usage="top",
        too_long="The input (40000 tokens) is longer than the model's context length (32768 tokens).",
    ),
    QWEN_RULES,
)
LM_STUDIO = _provider(
    "lmstudio",
    dialects.LM_STUDIO,
    "qwen3.5-9b",
    Traits(thoughts="<think>", ids="empty", calls_whole=True, errors="plain"),
    QWEN_RULES,
)
LLAMA_CPP = _provider(
    "llama.cpp",
    dialects.LLAMA_CPP,
    "gpt-oss-20b",
    Traits(
        thoughts="reasoning_content",
        ids="none",
        index=None,
        calls_whole=True,
        too_long="the request exceeds the available context size, try increasing it",
    ),
)
PROVIDERS = (
    DEEPSEEK,
    KIMI,
    MISTRAL,
    GEMINI,
    GROQ,
    TOGETHER,
    OPENROUTER,
    XAI,
    ZAI,
    MINIMAX,
    OLLAMA,
    VLLM,
    SGLANG,
    LM_STUDIO,
    LLAMA_CPP,
)
