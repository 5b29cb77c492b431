"""What models take on Bedrock's Converse API: data with its sources; pure.

A family that the table does not know gets what every model with tools takes.
"""

from __future__ import annotations

import re

from hibernaut.schemas.immutable import immutable


@immutable
class ConverseTraits:
    """What a family takes. `forces`: a tool choice other than the model's own. `streams_tools`: tools in ConverseStream.
    `caches`: cache points. `rich_results`: a status and images in a tool's result. `structured`: a schema for the reply.
    """

    forces: bool = False
    streams_tools: bool = True
    caches: bool = False
    rich_results: bool = False
    structured: bool = False


_TABLE: tuple[tuple[re.Pattern[str], ConverseTraits], ...] = tuple(
    (re.compile(pattern), traits)
    for pattern, traits in (
        # docs.aws.amazon.com/nova/latest/userguide/tool-choice.html; …/bedrock/latest/userguide/prompt-caching.html;
        # ToolResultBlock, `status`.
        (r"amazon\.nova", ConverseTraits(forces=True, caches=True, rich_results=True)),
        # An application inference profile may be of Claude; its name does not tell.
        (r"anthropic\.claude", ConverseTraits(forces=True, rich_results=True)),
        # docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html, supported models: neither Nova nor Llama
        # (langchain4j/langchain4j#4552).
        (r"mistral\.mistral-large-3", ConverseTraits(forces=True, structured=True)),
        (r"deepseek\.v3|qwen\.qwen3|zai\.glm|nvidia\.nemotron|google\.gemma-3", ConverseTraits(structured=True)),
        (r"mistral\.(?:ministral|magistral|voxtral)|minimax\.minimax|moonshot(?:ai)?\.kimi", ConverseTraits(structured=True)),
        # ToolChoice (botocore, `bedrock-runtime`): Mistral Large supports `any` and `tool`.
        (r"mistral\.mistral-large", ConverseTraits(forces=True)),
        # earendil-works/pi#3739;
        # docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-supported-models-features.html
        (r"meta\.llama", ConverseTraits(streams_tools=False)),
    )
)
_OTHERS = ConverseTraits()


def converse_traits(model: str) -> ConverseTraits:
    """The traits of a model by its id, or by that of an inference profile."""
    return next((traits for pattern, traits in _TABLE if pattern.search(model)), _OTHERS)
