"""The JSON envelopes between server and model: tool returns, event notices, and the arguments of calls.

Their keys are Letta's (RT 5.1, 14.1), because clients parse them; the sentences in them are ours. Knows no tool and
no agent.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Literal

from hibernaut.domain.times import model_time
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message

HIDDEN = "[Automatic notice, which the user does not see] "
FIRST_LOGIN = "Never (first login)"
_LONGEST_NOTE = 200
_CUT_BEFORE = re.compile(
    r"\.\.\. \[(?:NOTE: function output was truncated since it exceeded the character limit \((\d+) > \d+\)"
    r"|function output was truncated after \d+ characters, the tool's limit, of (\d+))\]\Z"
)
"""The notes of the tool runners and of `clip` at the end of a text."""


def as_text(value: Json) -> str:
    """A tool's value as text: a string remains, any other value is written as Python writes it (API 5.2: `{'a': None}`)."""
    return value if isinstance(value, str) else str(value)


def pack(status: Literal["success", "error"], message: Json, now: datetime, timezone: str) -> str:
    """The envelope of a tool's return. An object is embedded, None becomes "None", any other value becomes text (API 5.1)."""
    body = {
        "status": "OK" if status == "success" else "Failed",
        "message": message if isinstance(message, dict) else as_text(message),
        "time": model_time(now, timezone),
    }
    return storable(json.dumps(body, indent=2, ensure_ascii=False, default=str))


def storable(text: str) -> str:
    """The text with each lone surrogate replaced by a question mark: tools and models produce them, and UTF-8 cannot encode
    them.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def unpack(text: str) -> str:
    """The message in a packed return, as clients see it. A text that is no envelope is returned unchanged."""
    envelope = json_object(text)
    if envelope is None or "message" not in envelope or "status" not in envelope:
        return text
    return as_text(envelope["message"])


def clip(text: str, limit: int) -> str:
    """The first `limit` characters, and a note if text was cut (API 10.6). Clients match `function output was truncated `.

    A text that was cut before, with more than `limit` characters left, keeps its true length in the note.
    """
    if len(text) <= limit:
        return text
    cut_before = _CUT_BEFORE.search(text, max(0, len(text) - _LONGEST_NOTE))
    length = next(found for found in cut_before.groups() if found) if cut_before else len(text)
    return f"{text[:limit]}... [function output was truncated after {limit} characters, the tool's limit, of {length}]"


def clipped(message: str | JsonObject, limit: int) -> str | JsonObject:
    """As `clip`. An object that is longer than `limit` characters as JSON becomes its shortened JSON text."""
    if isinstance(message, str):
        return clip(message, limit)
    text = json.dumps(message, ensure_ascii=False, default=str)
    return message if len(text) <= limit else clip(text, limit)


def cut_off(packed: str, limit: int) -> str:
    """A packed return, shortened to about `limit` characters; the result is still an envelope."""
    envelope = json_object(packed)
    if envelope is None or not isinstance(envelope.get("message"), str):
        return f"{packed[:limit]}{_rest(len(packed) - limit)}"
    message = envelope["message"]
    keep = max(0, limit - (len(packed) - len(message)))
    return json.dumps({**envelope, "message": message[:keep] + _rest(len(message) - keep)}, indent=2, ensure_ascii=False)


def _rest(number: int) -> str:
    return f"... [{number} more characters are left out: they do not fit your context]"


def heartbeat(reason: str, now: datetime, timezone: str) -> str:
    """The heartbeat notice after which a legacy agent continues (API 14.3)."""
    return _event("heartbeat", now, timezone, reason=HIDDEN + reason)


def login(now: datetime, timezone: str) -> str:
    """The login event, the last of a legacy agent's opening messages."""
    return _event("login", now, timezone, last_login=FIRST_LOGIN)


def user_message(text: str, name: str | None, now: datetime, timezone: str) -> str:
    """The envelope for a user's message in an `initial_message_sequence`; later messages have none (API 14.1)."""
    return _event("user_message", now, timezone, message=text, **({"name": name} if name else {}))


def system_alert(text: str, now: datetime, timezone: str) -> str:
    """The envelope for a notice of the system: a system message in an `initial_message_sequence`, or a summary."""
    return _event("system_alert", now, timezone, message=text)


def unwrapped(row: Message) -> str:
    """A row's text without the `user_message` envelope that the server added (API 14.1). JSON text of the caller remains as it
    is.
    """
    text = row.text()
    envelope = json_object(text) if row.wrapped else None
    if envelope is None or envelope.get("type") != "user_message" or "message" not in envelope:
        return text
    return as_text(envelope["message"])


def _event(kind: str, now: datetime, timezone: str, **fields: str) -> str:
    return json.dumps({"type": kind, **fields, "time": model_time(now, timezone)}, ensure_ascii=False)


def json_object(text: str) -> JsonObject | None:
    """The JSON object in a text; None for any other text."""
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


@immutable
class Arguments:
    """The parsed arguments of a call. `broken`: the text is not a JSON object, the model gets an error, and `values` is empty.

    `request_heartbeat` and `thinking` are None if absent; they are never part of `values`.
    """

    values: JsonObject
    request_heartbeat: bool | None = None
    thinking: str | None = None
    broken: bool = False


def repair_arguments(raw: str) -> Arguments:
    """Parse the arguments of a call leniently (API 2.4).

    An empty text is the empty object; of several concatenated objects the first counts; an object inside a JSON string is decoded
    again; raw line breaks inside a string are accepted. All strings are made `storable`.
    """
    try:
        value = _decoded(storable(raw))
        if isinstance(value, str):
            value = _decoded(value)
        if "\\ud" in raw.lower():  # an escaped surrogate
            value = all_storable(value)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return Arguments({}, broken=True)
    flag, thinking = value.pop("request_heartbeat", None), value.pop("thinking", None)
    return Arguments(
        values=value,
        request_heartbeat=None if flag is None else _truth(flag),
        thinking=None if thinking is None else as_text(thinking),
    )


def _no_json(constant: str) -> Json:
    raise ValueError(constant)


# NaN and Infinity are not JSON, but the value is stored and sent as JSON.
_LENIENT = json.JSONDecoder(strict=False, parse_constant=_no_json)


def _decoded(raw: str) -> Json:
    text = raw.strip()
    if not text:
        return {}
    value, end = _LENIENT.raw_decode(text)
    trailing = text[end:].lstrip()
    return value if not trailing or trailing.startswith("{") else None


def _truth(flag: Json) -> bool:
    return flag.lower() == "true" if isinstance(flag, str) else bool(flag)


def all_storable(value: Json) -> Json:
    """The value with all strings and keys made `storable`."""
    match value:
        case str():
            return storable(value)
        case list():
            return [all_storable(item) for item in value]
        case dict():
            return {storable(key): all_storable(item) for key, item in value.items()}
        case _:
            return value
