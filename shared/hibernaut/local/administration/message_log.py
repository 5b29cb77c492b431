"""`hibernaut logs`: the newest messages of an agent or of all agents, one line each, and new ones as they arrive."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import field

from hibernaut.local.chat.chat_screen import calls_of, text_of
from hibernaut.local.remote.agent_server import AgentServer, ServerRefused, Unreachable
from hibernaut.local.remote.found_agents import agent_of
from hibernaut.local.terminal import CYAN, DIM, RED, Paint, harmless, one_line
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.immutable import immutable

LOOK = 1.0
"""Seconds between two looks for new messages."""
LONGEST = 400
"""The number of characters of a message in the output."""
PAGE = 100
"""Messages of one request."""


@immutable
class MessageLog:
    """The log of an agent; None: of all agents. `pause` waits for seconds between two looks. `names`: of agents, by the runs that
    were seen.
    """

    server: AgentServer
    agent: str | None
    as_json: bool
    pause: Callable[[float], None] = time.sleep
    names: dict[str, str] = field(default_factory=dict)

    def show(self, number: int, *, follow: bool) -> int:
        """Print the newest messages, oldest first, and with `follow` each further one until an interrupt. Raises: CannotServe."""
        place = f"/v1/agents/{agent_of(self.server, self.agent)['id']}/messages" if self.agent else "/v1/messages"
        newest = self._newest(place, number) if number else []
        last = self._printed(newest, "")
        if not follow:
            return 0
        last = last or self._end(place)
        try:
            while True:
                last = self._further(place, last)
                self.pause(LOOK)
        except KeyboardInterrupt:
            return 0

    def _further(self, place: str, last: str) -> str:
        """Print the messages after a message; returns the newest one. Retries while the server is unreachable."""
        try:
            while page := list(self.server.get(place, limit=PAGE, order="asc", **({"after": last} if last else {}))):
                last = self._printed(page, last)
                if len(page) < PAGE:
                    break
        except Unreachable:
            pass
        except ServerRefused as refused:
            if refused.status != 404 or not last:  # the message was deleted: the log begins anew at its end
                raise
            return self._end(place)
        return last

    def _newest(self, place: str, number: int) -> list[JsonObject]:
        """The newest messages, oldest first. A page counts rows, which may have several messages."""
        return list(self.server.get(place, limit=number, order="desc"))[-number:]

    def _end(self, place: str) -> str:
        """The id of the newest message; "" if there is none."""
        return next((str(one["id"]) for one in self._newest(place, 1)), "")

    def _printed(self, messages: list[JsonObject], last: str) -> str:
        paint = Paint(sys.stdout)
        for message in messages:
            agent = "" if self.agent or self.as_json else self._agent_of(message)
            print(json.dumps(message, ensure_ascii=False) if self.as_json else line_of(message, paint, agent), flush=True)
            last = str(message["id"])
        return last

    def _agent_of(self, message: JsonObject) -> str:
        """The name of the agent whose run a message belongs to; "" where that is not known any more."""
        run_id = str(message.get("run_id") or "")
        if run_id and run_id not in self.names:
            try:
                agent_id = self.server.get(f"/v1/runs/{run_id}")["agent_id"]
                self.names[run_id] = str(self.server.get(f"/v1/agents/{agent_id}")["name"])
            except (ServerRefused, Unreachable):
                self.names[run_id] = ""
        return self.names.get(run_id, "")


def line_of(message: JsonObject, paint: Paint, agent: str = "") -> str:
    """A message in a line: its time, its agent if it is named, its type and text."""
    kind = str(message["message_type"]).removesuffix("_message")
    colour = {"reasoning": DIM, "tool_call": CYAN, "tool_return": DIM, "system": DIM}.get(kind, "")
    if message.get("is_err") or message.get("status") == "error":
        colour = RED
    text = one_line(_text(message), LONGEST)
    sender = f" {harmless(str(message['name']))}:" if message.get("name") and kind == "assistant" else ""
    at = (
        f"{paint(str(message['date'])[:19], DIM)} {harmless(agent):<12} "
        if agent
        else f"{paint(str(message['date'])[:19], DIM)} "
    )
    return f"{at}{kind:<17}{sender} {paint(text, colour) if colour else text}"


def _text(message: JsonObject) -> str:
    if message.get("tool_call") or message.get("tool_calls"):
        return "; ".join(f"{one['name']} {one['arguments']}" for one in calls_of(message))
    if message.get("approvals"):
        return "; ".join(_answer(one) for one in message["approvals"])
    for name in ("content", "reasoning", "tool_return", "summary"):
        if message.get(name) is not None:
            return text_of(message[name])
    return ""


def _answer(one: JsonObject) -> str:
    """What a person, or the client, answered to a call."""
    if "approve" not in one:
        return f"returned {text_of(one.get('tool_return'))}"
    return "approved" if one["approve"] else f"denied: {one.get('reason') or 'without a reason'}"
