"""The request to a model that writes a tool, and the parsing of its answer. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.tools.tool_returns import repair_arguments
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.models.model_call import ModelToolCall, ToolSpec
from hibernaut.schemas.tools.tool import LARGEST_SOURCE

SYSTEM = """\
You write tools for an AI agent: single functions in Python that a language model calls.

A source consists of imports inside the function, and of one function with the given name. It may have further functions before it. Every parameter has a type: str, int, float, bool, list[...], or a
Pydantic model whose fields have descriptions. The docstring says in its first line what the function does, and describes each parameter in a section "Args:". The function returns a str, or what JSON can
hold. It raises an exception that says what is wrong when it cannot do its work. Secrets are read from os.environ. The source contains no calls at its top, no placeholders and no tests.
"""
SPEC = ToolSpec(
    "write_tool",
    "Hand over the finished tool.",
    {
        "type": "object",
        "properties": {
            "source_code": {"type": "string", "description": "The whole source in Python."},
            "sample_args": {"type": "string", "description": "Arguments of a first trial, as a JSON object."},
            "summary": {"type": "string", "description": "One or two sentences about the tool, for the person who asked."},
        },
        "required": ["source_code", "sample_args", "summary"],
    },
)


@immutable
class WrittenTool:
    """The answer of a model: a source, arguments to try it with, and a sentence about it."""

    source_code: str
    sample_args: JsonObject
    summary: str


def prompt(name: str, wish: str, source: str, reasons: Sequence[str]) -> str:
    """The request to a model. `source`: the existing source; `reasons`: its faults."""
    parts = [f"Write the tool {name}.", f"What it is to do:\n{wish}"]
    if source.strip():
        parts.append(f"Begin with this source:\n```python\n{source}\n```")
    if reasons:
        parts.append("It is not usable yet:\n" + "\n".join(f"- {reason}" for reason in reasons))
    return "\n\n".join(parts)


def read(calls: Sequence[ModelToolCall]) -> WrittenTool | None:
    """What a model has handed over; None if it has not."""
    for call in calls:
        found = repair_arguments(call.arguments).values if call.name == SPEC.name else {}
        source, sample = found.get("source_code"), found.get("sample_args")
        if isinstance(source, str) and source.strip() and len(source) <= LARGEST_SOURCE:
            arguments = sample if isinstance(sample, dict) else repair_arguments(str(sample or "{}")).values
            return WrittenTool(source, arguments, str(found.get("summary") or ""))
    return None
