"""What servers that speak Chat Completions refuse by its name, and the request without it. Pure; knows no connection.

The dialect of a server says what all of its models take. Some of its models take less, and a deployment of Azure has a name that
does not tell its model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hibernaut.adapters.model.wire.provider_errors import refuses_streams
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import ModelBadRequest, ModelError

Omitted = frozenset[str]
"""Names of `_NAMES`, and `stream`. With a value (`reasoning_effort=low`): the part is omitted from requests with this value."""
Values = Mapping[str, str]
"""The values of a request that a server may refuse while it takes others, by their names."""
NOTHING: Omitted = frozenset()

_REFUSED = (
    r"(?:not|n't|isn't) (?:be )?(?:support|permit|allow|accept|recogni[sz]|one of|implement|enabl)"
    r"|un(?:support|known|recogni[sz]|expect)|extra (?:inputs|fields|parameters)|incompatible|must be one of|input should be ['\"`]|only the default|must alternate"
)
_NAMES = {
    # "Function tools with reasoning_effort are not supported for … in /v1/chat/completions." (litellm#34569)
    "reasoning": r"tools with reasoning[ _.]?effort",
    # "Model … does not support parameter reasoningEffort." (earendil-works/pi#8381); "`reasoning_effort` must be one of `none` or
    # `default`" (earendil-works/pi#1745); "`reasoning_effort` is not supported with this model" (iamsrikanthnani/pluely#242)
    # '"llama3.1:8b" does not support thinking'; 'think value "medium" is not supported for this model' (Ollama's compatible
    # route)
    "reasoning_effort": r"reasoning[ _.]?effort|support thinking|think value",
    # "'temperature' does not support 0.1 with this model. Only the default (1) value is supported." (microsoft/vscode#274315)
    "temperature": r"temperature",
    "frequency_penalty": r"frequency[ _]?penalty",
    # "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    # (microsoft/vscode-copilot-release#8054)
    "max_tokens": r"\bmax_tokens\b.*\bmax_completion_tokens\b",
    "parallel_tool_calls": r"parallel[ _]?tool[ _]?calls",
    # "tool_choice 'specified' is incompatible with thinking enabled" (can1357/oh-my-pi#827). The turn machine checks the calls of
    # a reply.
    "tool_choice": r"\btool_choice\b",
    "prompt_cache_key": r"prompt_cache_key",
    "stream_options": r"stream_options",
    "strict": r"\bstrict\b",
    # "Conversation roles must alternate user/assistant/user/assistant/..." (suitenumerique/conversations#197: Gemma's template on
    # vLLM)
    "roles": r"roles must alternate",
    # "Extra inputs are not permitted (body.user)"; "Unrecognized request argument supplied: user"
    "user": r"(?:body\.|supplied: ?|(?:parameter|argument|field|property|properties):? ?)['\"`]?user\b",
}
"""How a refusal names each part. Without it the request is sent at once, because none of it is worth a failed turn."""


def after(omitted: Omitted, refusal: ModelError, *, streams: bool) -> Omitted:
    """What to omit after a refusal; the same if it names nothing that a request can do without."""
    if not isinstance(refusal, ModelBadRequest):
        return omitted
    if re.search(_REFUSED, refusal.detail, re.IGNORECASE):
        for name, words in _NAMES.items():
            if name not in omitted and re.search(words, refusal.detail, re.IGNORECASE):
                return omitted | {name}
    return omitted | {"stream"} if streams and refuses_streams(refusal) else omitted


def of_request(learned: Omitted, values: Values) -> Omitted:
    """What a request with these values omits."""
    return learned | {name for name, value in values.items() if f"{name}={value}" in learned}


def of_values(omitted: Omitted, values: Values) -> Omitted:
    """What requests to the same model omit, after the omission from a request with these values."""
    return frozenset(f"{name}={values[name]}" if name in values else name for name in omitted)


def without(body: JsonObject, omitted: Omitted) -> JsonObject:
    """The request without what was refused. A refused `max_tokens` has its newer name; `reasoning` switches the reasoning off in
    requests with tools; with `roles`, users and the assistant take turns.
    """
    if not omitted:
        return body
    rest = {name: value for name, value in body.items() if name not in omitted}
    if "max_tokens" in omitted and "max_tokens" in body:
        rest["max_completion_tokens"] = body["max_tokens"]
    if "strict" in omitted and "tools" in body:
        rest["tools"] = [_loose(tool) for tool in body["tools"]]
    if "reasoning" in omitted and "tools" in body and "reasoning_effort" not in omitted:
        rest["reasoning_effort"] = "none"
    if "roles" in omitted:
        rest["messages"] = alternating(body["messages"])
    return rest


def alternating(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """The messages with those of a user in a row as one, and those of the assistant without calls; with one of the assistant
    between a tool's and a user's, and with one of a user before the assistant's first.
    """
    turns: list[JsonObject] = []
    for message in bridged(messages):
        if message["role"] == "assistant" and (not turns or turns[-1]["role"] in ("system", "developer")):
            turns.append({"role": "user", "content": "Begin."})
        if turns and _as_one(turns[-1], message):
            turns[-1] = turns[-1] | message | {"content": _joined(turns[-1]["content"], message["content"])}
        else:
            turns.append(message)
    return turns


def _as_one(earlier: JsonObject, later: JsonObject) -> bool:
    return earlier["role"] == later["role"] and later["role"] in ("user", "assistant") and not earlier.get("tool_calls")


def bridged(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """The messages, with one of the assistant between a tool's and a user's."""
    found: list[JsonObject] = []
    for message in messages:
        if found and found[-1]["role"] == "tool" and message["role"] in ("user", "system"):
            found.append({"role": "assistant", "content": "I have read the result."})
        found.append(message)
    return found


def _joined(one: Json, other: Json) -> Json:
    """Two contents as one: texts as a text, anything else as a list of parts."""
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    return [part for each in (one, other) for part in ([{"type": "text", "text": each}] if isinstance(each, str) else each or [])]


def _loose(tool: JsonObject) -> JsonObject:
    return tool | {"function": {name: value for name, value in tool["function"].items() if name != "strict"}}
