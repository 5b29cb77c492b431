"""Scenarios that fail on a wire because of a known defect. Whoever mends the defect takes the line out: a test that passes fails here.

The defects: 1 OpenAI's reasoning models with tools on Chat Completions. 2 Claude's thinking is bound to what stands before it. 3 the order
of a reply's blocks is lost. 4 sampling parameters on new models and API versions. 5 reasoning is not sent back on Chat Completions.
6 models are missing from lists. 7 forced tools and reasoning switched off. 8 Ollama's window. 9 refusals are not understood. 10 streams.
11 strict schemas. 12 parameters that a server refuses, a foreign model's history, images in errors, too many tools.
13 the beginning of a request changes within a window: the system message is compiled anew after an edit, or tools are left out.
"""

from __future__ import annotations

KNOWN_FAILURES: dict[str, dict[str, int]] = {
    "openai-responses-gpt-5.4": {"warm_after_an_edit": 13},
    "openai-responses-gpt-5.6-sol": {"warm_after_an_edit": 13},
    "openai-responses-gpt-6-astra": {"warm_after_an_edit": 13},
    "openai-responses-gpt-6.2-astra": {"warm_after_an_edit": 13},
    "openai-chat": {
        "warm_after_an_edit": 13,
    },
    "anthropic-claude-opus-5-5": {
        "warm_after_an_edit": 13,
    },
    "anthropic-claude-sonnet-5": {
        "warm_after_an_edit": 13,
    },
    "anthropic-claude-haiku-4-5": {
        "warm_after_an_edit": 13,
    },
    "bedrock-claude-opus-5-5": {"warm_after_an_edit": 13},
    "bedrock-claude-sonnet-5": {"warm_after_an_edit": 13},
    "bedrock-claude-haiku-4-5": {"warm_after_an_edit": 13},
    "gemini": {
        "warm_after_an_edit": 13,
    },
    "deepseek": {
        "warm_after_an_edit": 13,
    },
    "kimi": {
        "warm_after_an_edit": 13,
    },
    "mistral": {
        "warm_after_an_edit": 13,
    },
    "gemini-openai": {
        "warm_after_an_edit": 13,
    },
    "groq": {
        "warm_after_an_edit": 13,
    },
    "together": {
        "warm_after_an_edit": 13,
    },
    "openrouter": {
        "warm_after_an_edit": 13,
    },
    "ollama": {
        "warm_after_an_edit": 13,
    },
    "vllm": {
        "warm_after_an_edit": 13,
    },
    "sglang": {
        "warm_after_an_edit": 13,
    },
    "lmstudio": {
        "warm_after_an_edit": 13,
    },
    "llama.cpp": {
        "warm_after_an_edit": 13,
    },
}
"""Provider -> scenario -> the defect that shows first."""
