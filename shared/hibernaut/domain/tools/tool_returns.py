"""The envelopes between the server and the model: what tools return, what events say, and what the model wrote as arguments.

Their keys are Letta's (run-time digest 5.1, 14.1), because clients read them back; the sentences in them are ours.
Knows no tool and no agent.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from hibernaut.domain.times import model_time
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.message import Message

HIDDEN = "[Automatic notice, which the user does not see] "
FIRST_LOGIN = "Never (first login)"


def as_text(value: Json) -> str:
    """A tool's value as text: a text stays as it is, everything else is written as Python writes it (digest 5.2: `{'a': None}`)."""
    return value if isinstance(value, str) else str(value)


def pack(status: Literal["success", "error"], message: Json, now: datetime, timezone: str) -> str:
    """A tool's return as the model sees it. An object is embedded, None is "None", any other value becomes text (digest 5.1)."""
    body = {
        "status": "OK" if status == "success" else "Failed",
        "message": message if isinstance(message, dict) else as_text(message),
        "time": model_time(now, timezone),
    }
    return storable(json.dumps(body, indent=2, ensure_ascii=False, default=str))


def storable(text: str) -> str:
    """The text with each half of a surrogate pair made a question mark: tools and models write them, and UTF-8 has no bytes for them."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def unpack(text: str) -> str:
    """What clients see of a packed return: its message as text. A text that is no such envelope is its own message."""
    envelope = json_object(text)
    if envelope is None or "message" not in envelope or "status" not in envelope:
        return text
    return as_text(envelope["message"])


def clip(text: str, limit: int) -> str:
    """The first `limit` characters, and a note that there was more (digest 10.6). Clients find it by `function output was truncated `."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}... [function output was truncated after {limit} characters, the tool's limit, of {len(text)}]"


def cut_off(packed: str, limit: int) -> str:
    """A packed return of which the model is sent about `limit` characters: an envelope stays one."""
    envelope = json_object(packed)
    if envelope is None or not isinstance(envelope.get("message"), str):
        return f"{packed[:limit]}{_rest(len(packed) - limit)}"
    message = envelope["message"]
    keep = max(0, limit - (len(packed) - len(message)))
    return json.dumps({**envelope, "message": message[:keep] + _rest(len(message) - keep)}, indent=2, ensure_ascii=False)


def _rest(number: int) -> str:
    return f"... [{number} more characters are left out: they do not fit your context]"


def heartbeat(reason: str, now: datetime, timezone: str) -> str:
    """The notice by which a legacy agent's run goes on (digest 14.3)."""
    return _event("heartbeat", now, timezone, reason=HIDDEN + reason)


def login(now: datetime, timezone: str) -> str:
    """The last of a legacy agent's opening messages."""
    return _event("login", now, timezone, last_login=FIRST_LOGIN)


def user_message(text: str, name: str | None, now: datetime, timezone: str) -> str:
    """A user's message of an `initial_message_sequence`; messages that are sent later are not wrapped (digest 14.1)."""
    return _event("user_message", now, timezone, message=text, **({"name": name} if name else {}))


def system_alert(text: str, now: datetime, timezone: str) -> str:
    """A notice of the system: a system message of an `initial_message_sequence`, or a summary."""
    return _event("system_alert", now, timezone, message=text)


def unwrapped(row: Message) -> str:
    """A row's text, out of the `user_message` envelope into which the server put it (digest 14.1). A caller's own JSON is text."""
    text = row.text()
    envelope = json_object(text) if row.wrapped else None
    if envelope is None or envelope.get("type") != "user_message" or "message" not in envelope:
        return text
    return as_text(envelope["message"])


def _event(kind: str, now: datetime, timezone: str, **fields: str) -> str:
    return json.dumps({"type": kind, **fields, "time": model_time(now, timezone)}, ensure_ascii=False)


def json_object(text: str) -> JsonObject | None:
    """The object that a text is as JSON; None for any other text."""
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a call's arguments say. `broken`: they are no JSON object, and the model should be told; `values` is then empty.

    `request_heartbeat` and `thinking` are None where the model did not give them; they are never among `values`.
    """

    values: JsonObject
    request_heartbeat: bool | None = None
    thinking: str | None = None
    broken: bool = False


def repair_arguments(raw: str) -> Arguments:
    """Read the arguments that a model wrote, forgiving what models get wrong (digest 2.4).

    Nothing at all is the empty object; of objects written one after another the first counts; an object written as a JSON text is
    decoded once more; line breaks inside a text are fine. All texts are made `storable`.
    """
    try:
        value = _decoded(storable(raw))
        if isinstance(value, str):
            value = _decoded(value)
        if "\\ud" in raw.lower():  # an escaped half of a pair
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


# NaN and Infinity are no JSON: what is stored and sent on must be.
_LENIENT = json.JSONDecoder(strict=False, parse_constant=_no_json)


def _decoded(raw: str) -> Json:
    text = raw.strip()
    if not text:
        return {}
    value, end = _LENIENT.raw_decode(text)
    rest = text[end:].lstrip()
    return value if not rest or rest.startswith("{") else None


def _truth(flag: Json) -> bool:
    return flag.lower() == "true" if isinstance(flag, str) else bool(flag)


def all_storable(value: Json) -> Json:
    """The value with all its texts and keys `storable`."""
    match value:
        case str():
            return storable(value)
        case list():
            return [all_storable(item) for item in value]
        case dict():
            return {storable(key): all_storable(item) for key, item in value.items()}
        case _:
            return value
