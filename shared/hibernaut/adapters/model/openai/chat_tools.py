"""The tools of a Chat Completions request, and which of them may be called. Pure; knows no connection."""

from __future__ import annotations

import re

from hibernaut.adapters.model.dialects import OPENAI, Dialect
from hibernaut.adapters.model.strict_schemas import closed
from hibernaut.domain.models.model_settings import is_openai_reasoning
from hibernaut.ports.model import ModelRequest, ToolSpec
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import ModelBadRequest

_O_SERIES = re.compile(r"o\d")


def tools(request: ModelRequest, dialect: Dialect, provider: str) -> JsonObject:
    """The members that are about tools; none without tools, or if no tool may be called and the server knows no way to say so.

    Raises: ModelBadRequest for more tools than the provider takes.
    """
    if not request.tools:
        return {}
    choice = _choice(request, dialect)
    if choice == "none" and "none" not in dialect.choices:
        return {}
    # OpenAI's limit holds behind any proxy.
    limited = OPENAI if dialect.effort == "openai" and is_openai_reasoning(request.config.model) else dialect
    most = limited.most_tools
    if most is not None and len(request.tools) > most:
        raise ModelBadRequest(
            f"{provider}: the agent has {len(request.tools)} tools, and {limited.title} takes at most {most} in one request; "
            "detach tools from the agent or choose a model of another provider"
        )
    body: JsonObject = {"tools": [_tool(tool, strict="strict" in dialect.takes) for tool in request.tools]}
    if choice is not None:
        body["tool_choice"] = choice
    # The o series refuses the parameter.
    if "parallel_tool_calls" in dialect.takes and not (dialect.effort == "openai" and _O_SERIES.match(request.config.model)):
        body["parallel_tool_calls"] = request.parallel_tool_calls
    return body


def _choice(request: ModelRequest, dialect: Dialect) -> Json:
    """The value of `tool_choice`; None: omitted, so that the model chooses. A forced choice that the server does not support is
    omitted or weakened, because the turn machine checks the calls of a reply.
    """
    mode, allowed = request.choice.mode, request.allowed
    supported = dialect.choices_of(thinks=request.config.enable_reasoner)
    if mode == "none" or (allowed is not None and not allowed):
        return "none"
    if mode == "named" and "named" in supported:
        return _function(request.choice.name or "")
    forced = mode in ("required", "named") and "required" in supported
    if allowed is not None and len(allowed) < len(request.tools) and "allowed" in supported:
        narrowed = {"mode": "required" if forced else "auto", "tools": [_function(name) for name in allowed]}
        return {"type": "allowed_tools", "allowed_tools": narrowed}
    return "required" if forced else None


def _function(name: str) -> JsonObject:
    return {"type": "function", "function": {"name": name}}


def _tool(tool: ToolSpec, *, strict: bool) -> JsonObject:
    function: JsonObject = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    if strict and tool.strict and (schema := closed(tool.parameters)) is not None:
        function |= {"parameters": schema, "strict": True}
    return {"type": "function", "function": function}
