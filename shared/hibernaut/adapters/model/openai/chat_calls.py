"""Gathers the tool calls of a Chat Completions reply. Compatible servers number and name them in different ways.

Calls are numbered from 0 or 1, all with 0, or not at all. Ids are sent once, always, empty, or never. Arguments are pieces of
text, a whole text or an object. Knows no connection.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from hibernaut.schemas.base import Json, JsonObject


@dataclass(slots=True)
class ChatCall:
    """A call as received so far. `extra` is its `extra_content`, which contains a signature; `server_id` is the server's id."""

    id: str
    server_id: str = ""
    name: str = ""
    arguments: str = ""
    extra: JsonObject | None = None

    @property
    def complete(self) -> bool:
        """Whether the arguments are a whole JSON object."""
        try:
            return isinstance(json.loads(self.arguments), dict)
        except (ValueError, RecursionError):
            return False

    def item(self) -> JsonObject:
        """The call as a message holds it."""
        item: JsonObject = {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}
        return item | ({"extra_content": self.extra} if self.extra else {})


@dataclass(slots=True)
class ChatCalls:
    """The calls in order. `seed` returns a text that tells replies apart, for the ids of calls that have none."""

    seed: Callable[[], str]
    calls: list[ChatCall] = field(default_factory=list)
    _numbered: dict[int, int] = field(default_factory=dict)

    def place(self, item: JsonObject, function: JsonObject, *, whole: bool) -> int:
        """The position of a piece's call; a new call is appended. `whole`: the piece is a complete call."""
        index, call_id = item.get("index"), item.get("id")
        number = index if isinstance(index, int) and not isinstance(index, bool) else None
        server_id = call_id if isinstance(call_id, str) else ""
        at = None if whole else self._position(number, server_id, function)
        if at is None:
            at = len(self.calls)
            self.calls.append(ChatCall(self._unique(server_id), server_id))
            if number is not None:
                self._numbered[number] = at
        return at

    def _position(self, number: int | None, server_id: str, function: JsonObject) -> int | None:
        at = self._numbered.get(number) if number is not None else self._unnumbered(server_id, function)
        if at is None:
            return None
        call = self.calls[at]
        if server_id and call.server_id and server_id != call.server_id:
            return None  # all calls have the number 0
        if not server_id and function.get("name") and function.get("arguments") and call.complete:
            return None  # all calls have the number 0 and no id
        return at

    def _unnumbered(self, server_id: str, function: JsonObject) -> int | None:
        """A piece without a number continues the call of its id, or the last call, unless it names a function."""
        if server_id:
            return next((at for at, call in enumerate(self.calls) if call.server_id == server_id), None)
        return len(self.calls) - 1 if self.calls and not function.get("name") else None

    def _unique(self, server_id: str) -> str:
        ids = {call.id for call in self.calls}
        if server_id and server_id not in ids:
            return server_id
        seed = f"{self.seed()}/{len(self.calls)}"
        return f"call_{hashlib.sha256(seed.encode(errors='replace')).hexdigest()[:24]}"


def arguments_of(function: JsonObject) -> str:
    """The piece of the arguments that a function of a reply holds."""
    arguments: Json = function.get("arguments")
    return arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments)
