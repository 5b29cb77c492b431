"""A conversation with an agent: reads lines, sends messages, prints replies, and requests approvals inline.

Knows the routes of messages, runs and approvals. Must not know the format of events, nor the resumption of lost connections.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Literal

from hibernaut.local.chat.chat_commands import perform
from hibernaut.local.chat.chat_screen import ChatScreen, calls_of
from hibernaut.local.chat.own_server import OwnServer
from hibernaut.local.chat.run_stream import RunStream
from hibernaut.local.profiles import CannotServe
from hibernaut.local.remote.agent_server import AgentServer, ServerRefused, Unreachable
from hibernaut.local.remote.found_agents import agent_of, newest_agent
from hibernaut.local.terminal import BOLD, DIM, Paint, harmless
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.immutable import immutable

WAITS = 3
"""The exit code if an approval waits that nobody gave."""
FIRST = {
    "name": "assistant",
    "memory_blocks": [
        {"label": "human", "value": "", "description": "What I know about the person I talk to."},
        {"label": "persona", "value": "I am a helpful assistant who remembers.", "description": "Who I am."},
    ],
}
"""The agent for a server without agents."""
APPROVE = "Run it? [y]es, [n]o, or a reason to refuse: "
Answer = Literal["ask", "yes"]
Read = Callable[[str], str | None]
"""Reads a line, after a prompt; None: there is no further one."""


@immutable
class ChatOptions:
    """The options of a chat. `approvals`: a person decides (`ask`), or every call is approved (`yes`). `message`: the only
    message; None: read lines.
    """

    as_json: bool = False
    approvals: Answer = "ask"
    message: str | None = None


class Chat:
    """A chat. `own`: the server that was started for it; None: the server was there."""

    def __init__(self, server: AgentServer, options: ChatOptions, read: Read, own: OwnServer | None = None) -> None:
        self.options = options
        self.paint = Paint(sys.stdout)
        self.over = False
        self.agent_id = self.name = ""
        self.own = own
        self._read = read
        self._stream = RunStream(server, self._again)
        self._screen = ChatScreen(sys.stdout)
        self._failed = False

    @property
    def server(self) -> AgentServer:
        return self._stream.server

    def talk_to(self, id_or_name: str | None, model: str | None = None) -> None:
        """Choose the agent by id or name; None: the agent with the newest run, or a new agent if there is none. Raises:
        CannotServe.
        """
        found = agent_of(self.server, id_or_name) if id_or_name else newest_agent(self.server)
        if found is None:
            found = dict(self.server.post("/v1/agents/", {**FIRST, **({"model": model} if model else {})}))
            self.tell(f"There was no agent yet, so {found['name']} was created.")
        self.agent_id, self.name = str(found["id"]), harmless(str(found["name"]))

    def hold(self) -> int:
        """Hold the chat to its end; returns the exit code: 1 if the last run failed, WAITS if it waits for an approval. Raises:
        CannotServe.
        """
        if self.options.message is None and not self.options.as_json:
            self.tell(self.paint(f"{self.name} at {self.server.url}. /help lists commands, Ctrl-D ends.", DIM))
        self._answered_first()
        for line in self._lines():
            if line.startswith("/") and self.options.message is None:
                perform(self, line)
            else:
                self.say(line)
            if self.over:
                break
        if self._screen.pending_calls:
            return WAITS
        return 1 if self._failed else 0

    def say(self, text: str) -> None:
        """Send a message and show the answer, with the approvals that it asks for. Raises: CannotServe."""
        self._show(self._stream.sent(self.agent_id, {"role": "user", "content": text}))
        self._approvals()

    def resume(self) -> bool:
        """Follow the run that is under way, and answer what waits. False: there is neither. Raises: CannotServe."""
        found = list(self.server.get("/v1/runs/", agent_id=self.agent_id, active=True, limit=1))
        if found:
            self._show(self._stream.resumed(str(found[0]["id"])))
        elif not self._pending():
            return False
        self._approvals()
        return True

    def stop(self) -> None:
        """Stop the runs of the agent. Raises: ServerRefused (409) if there are none."""
        self.server.post(f"/v1/agents/{self.agent_id}/messages/cancel")

    def tell(self, text: str) -> None:
        """Write a line for the person; to the standard error where the output is for programs."""
        print(text, file=sys.stderr if self.options.as_json else sys.stdout, flush=True)

    # lines

    def _lines(self) -> Iterator[str]:
        if self.options.message is not None:
            yield self.options.message
            return
        prompt = self.paint("> ", BOLD)
        while not self.over and (line := self._read(prompt)) is not None:
            if line.strip():
                yield line.strip()

    def _answered_first(self) -> None:
        """Ask for what waits since before the chat, because the agent takes no message until it is answered."""
        if self._pending():
            self.tell(f"{self.name} waits for an approval since before.")
            self._approvals()

    def _pending(self) -> bool:
        """Whether the agent waits for an approval. If so, its calls become the pending calls of the screen."""
        state = agent_of(self.server, self.agent_id, include="agent.pending_approval")
        request = state.get("pending_approval")
        self._screen.begin()
        for call in calls_of(request) if request else ():
            self._screen.pending_calls.append(call)
            self.tell(harmless(f"? {call['name']} {call['arguments']}"))
        return bool(request)

    # runs

    def _show(self, events: Iterator[JsonObject]) -> None:
        """Show the events of a run. Ctrl-C stops the run, and the events go on to its end."""
        self._screen.begin()
        self._failed = False
        stopping = False
        while True:
            try:
                for event in events:
                    self._failed = self._failed or event.get("message_type") == "error_message"
                    if self.options.as_json:
                        print(json.dumps(event, ensure_ascii=False), flush=True)
                    self._noted(event)
                break
            except KeyboardInterrupt:
                if stopping or not self._stream.run_id:
                    raise
                stopping = True
                self._screen.line("stopping …", DIM)
                events = self._stopped(self._stream.run_id)
        self._screen.end()

    def _noted(self, event: JsonObject) -> None:
        if not self.options.as_json:
            self._screen.show(event)
        elif event.get("message_type") == "approval_request_message":
            self._screen.note(event)
        elif event.get("message_type") == "stop_reason":
            self._screen.stop_reason = str(event["stop_reason"])

    def _stopped(self, run_id: str) -> Iterator[JsonObject]:
        """Cancel a run; the rest of its events. A run that has ended meanwhile stays as it is."""
        self.server.post(f"/v1/agents/{self.agent_id}/messages/cancel", {"run_ids": [run_id]})
        return self._stream.continued()

    def _approvals(self) -> None:
        """Request answers for the pending calls, until there are none. Without input they stay open."""
        while calls := self._screen.pending_calls:
            answers = [answer for call in calls if (answer := self._answer(call)) is not None]
            if len(answers) < len(calls):
                self.tell("The calls wait. /resume asks again.")
                return
            self._show(self._stream.sent(self.agent_id, {"type": "approval", "approvals": answers}))

    def _answer(self, call: JsonObject) -> JsonObject | None:
        approval: JsonObject = {"type": "approval", "tool_call_id": call["tool_call_id"], "approve": True}
        if self.options.approvals == "yes":
            return approval
        line = self._read(f"{harmless(str(call['name']))}: {APPROVE}") if self.options.message is None else None
        if line is None:
            return None
        match line.strip().lower():
            case "y" | "yes":
                return approval
            case "" | "n" | "no":
                return {**approval, "approve": False}
            case _:
                return {**approval, "approve": False, "reason": line.strip()}

    # lost connections

    def _again(self, problem: Unreachable | ServerRefused) -> AgentServer:
        """The server to ask next. One that this chat has started is started again."""
        del problem
        self.tell(self.paint("The connection is lost; waiting for the server …", DIM))
        if self.own is None or self.own.is_alive:
            return self.server
        self.own.close()
        self.own = OwnServer(*self.own.started_with)
        return AgentServer(self.own.url, self.server.key)


def hold_chat(chat: Chat, id_or_name: str | None, model: str | None) -> int:
    """Hold a chat with an agent, and stop the server that was started for it. Raises: CannotServe."""
    try:
        chat.talk_to(id_or_name, model)
        return chat.hold()
    except KeyboardInterrupt:
        raise CannotServe("stopped; what the agent was doing goes on, and /resume in the next chat follows it") from None
    finally:
        if chat.own is not None:
            chat.own.close()
