"""LettaMessages as rows of a log. V1's API shows one row as several messages with the id of the row (Letta V1 API, API 4.5).

Pure. An event of a compaction is no row. The text of a user's message is the user's own text: V1 returns it without its envelope.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby

from hibernaut.schemas.base import Json, JsonObject


def rows_of(messages: Iterable[JsonObject]) -> list[JsonObject]:
    """The rows of messages in chronological order."""
    grouped = groupby(messages, key=lambda one: str(one["id"]))
    return [row for identifier, parts in grouped if (row := _row(identifier, list(parts))) is not None]


def _row(identifier: str, parts: list[JsonObject]) -> JsonObject | None:
    row: JsonObject = {"type": "message", "id": identifier, "role": "", "content": [], "created_at": parts[0].get("date")}
    for part in parts:
        read = _KINDS.get(str(part.get("message_type")))
        if read is not None:
            read(row, part)
            for name in ("name", "sender_id"):
                row[name] = part.get(name) or row.get(name)
    if row["role"] == "system":
        row["otid"] = parts[0].get("otid")
    return row if row["role"] else None


def _text_reader(role: str) -> Callable[[JsonObject, JsonObject], None]:
    def read(row: JsonObject, part: JsonObject) -> None:
        row["role"] = row["role"] or role
        content = part.get("content")
        row["content"] += [{"type": "text", "text": content}] if isinstance(content, str) else content or []

    return read


def _reasoned(row: JsonObject, part: JsonObject) -> None:
    row["role"] = row["role"] or "assistant"
    native = part.get("source") == "reasoner_model"
    row["content"].append(
        {
            "type": "reasoning",
            "is_native": native,
            "reasoning": part.get("reasoning") or "",
            "signature": part.get("signature"),
        }
    )


def _reasoned_hidden(row: JsonObject, part: JsonObject) -> None:
    row["role"] = row["role"] or "assistant"
    redacted = part.get("state") == "redacted"
    data = part.get("hidden_reasoning") or ""
    row["content"].append({"type": "redacted_reasoning", "data": data} if redacted else {"type": "omitted_reasoning"})


def _call_reader(role: str) -> Callable[[JsonObject, JsonObject], None]:
    def read(row: JsonObject, part: JsonObject) -> None:
        row["role"] = role
        calls = part.get("tool_calls")
        items = calls if isinstance(calls, list) else [part.get("tool_call")]
        row.setdefault("tool_calls", [])
        row["tool_calls"] += [_call(one) for one in items if isinstance(one, dict)]

    return read


def _call(call: Mapping[str, Json]) -> JsonObject:
    function = {"name": call.get("name"), "arguments": call.get("arguments")}
    return {"id": call.get("tool_call_id"), "type": "function", "function": function}


def _read_returns(row: JsonObject, part: JsonObject) -> None:
    row["role"] = "tool"
    row["tool_call_id"] = part.get("tool_call_id")
    returns = part.get("tool_returns") or [part]
    row["tool_returns"] = [
        {
            "tool_call_id": one.get("tool_call_id"),
            "status": one.get("status"),
            "func_response": one.get("tool_return"),
            "stdout": one.get("stdout"),
            "stderr": one.get("stderr"),
        }
        for one in returns
    ]


def _approved(row: JsonObject, part: JsonObject) -> None:
    row["role"] = "approval"
    row["approvals"] = part.get("approvals")
    row["approve"] = part.get("approve")
    row["approval_request_id"] = part.get("approval_request_id")
    row["denial_reason"] = part.get("reason")


def _summarized(row: JsonObject, part: JsonObject) -> None:
    row["role"] = "summary"
    row["content"].append({"type": "text", "text": part.get("summary") or ""})


_KINDS: Mapping[str, Callable[[JsonObject, JsonObject], None]] = {
    "system_message": _text_reader("system"),
    "user_message": _text_reader("user"),
    "assistant_message": _text_reader("assistant"),
    "reasoning_message": _reasoned,
    "hidden_reasoning_message": _reasoned_hidden,
    "tool_call_message": _call_reader("assistant"),
    "approval_request_message": _call_reader("approval"),
    "tool_return_message": _read_returns,
    "approval_response_message": _approved,
    "summary_message": _summarized,
}
