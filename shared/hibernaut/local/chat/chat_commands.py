"""The commands of a chat, which begin with a slash: what an agent remembers, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol
from urllib.parse import quote

from hibernaut.local.profiles import CannotServe
from hibernaut.local.remote.agent_server import AgentServer, ServerRefused
from hibernaut.local.terminal import BOLD, Paint, harmless, one_line
from hibernaut.schemas.immutable import immutable

PREVIEW = 60
"""Characters of a block in the list of blocks."""
FOUND = 5
"""Passages that a search shows."""


class CommandedChat(Protocol):
    """What commands use of a chat. `over`: no further line is read."""

    agent_id: str
    name: str
    over: bool
    paint: Paint

    @property
    def server(self) -> AgentServer:
        """The server of the agent."""

    def talk_to(self, id_or_name: str | None) -> None:
        """Choose the agent by id or name. Raises: CannotServe."""

    def resume(self) -> bool:
        """Follow the run that is under way, and answer what waits. False: there is neither. Raises: CannotServe."""

    def stop(self) -> None:
        """Stop the runs of the agent. Raises: ServerRefused (409) if there are none."""

    def tell(self, text: str) -> None:
        """Write a line for the person."""


@immutable
class ChatCommand:
    """A command: what follows its name, what it does, and the function that does it with this text."""

    usage: str
    about: str
    run: Callable[[CommandedChat, str], None]


def perform(chat: CommandedChat, line: str) -> None:
    """Perform the command of a line. An error is printed, and the chat continues."""
    name, _, rest = line[1:].partition(" ")
    command = COMMANDS.get(name)
    if command is None:
        chat.tell(f"There is no command /{name}. /help lists them; a message cannot begin with a slash.")
        return
    try:
        command.run(chat, rest.strip())
    except ServerRefused as refused:
        chat.tell(refused.detail)
    except CannotServe as reason:
        chat.tell(str(reason))


def _help(chat: CommandedChat, _: str) -> None:
    for name, command in COMMANDS.items():
        chat.tell(f"/{name} {command.usage}".ljust(24) + command.about)


def _memory(chat: CommandedChat, label: str) -> None:
    place = f"/v1/agents/{chat.agent_id}/core-memory/blocks"
    if label:
        chat.tell(str(chat.server.get(f"{place}/{quote(label, safe='')}")["value"]))
        return
    for block in chat.server.get(place):
        name = chat.paint(str(block["label"]), BOLD)
        print(f"{name}  {len(block['value']):,}/{block['limit']:,}  {one_line(str(block['value']), PREVIEW)}")


def _block(chat: CommandedChat, rest: str) -> None:
    label, _, value = rest.partition(" ")
    if not label or not value:
        chat.tell("What the block is to say is missing: /block LABEL TEXT. /memory LABEL shows it.")
        return
    chat.server.patch(f"/v1/agents/{chat.agent_id}/core-memory/blocks/{quote(label, safe='')}", {"value": value})
    chat.tell(f"{label} is changed; the agent sees it with the next message.")


def _search(chat: CommandedChat, query: str) -> None:
    if not query:
        chat.tell("What is looked for is missing: /search TEXT.")
        return
    found = chat.server.get(f"/v1/agents/{chat.agent_id}/archival-memory/search", query=query, top_k=FOUND)
    results = found.get("results", []) if isinstance(found, dict) else found
    for one in results:
        chat.tell(harmless(str(one.get("content") or one.get("text") or "")))
    if not results:
        chat.tell("Nothing is found in the archival memory.")


def _stop(chat: CommandedChat, _: str) -> None:
    try:
        chat.stop()
    except ServerRefused as refused:
        if refused.status != 409:
            raise
        chat.tell("Nothing is running.")
    else:
        chat.tell("Stopped.")


def _resume(chat: CommandedChat, _: str) -> None:
    if not chat.resume():
        chat.tell("Nothing is running, and nothing waits for an answer.")


def _agent(chat: CommandedChat, id_or_name: str) -> None:
    if id_or_name:
        chat.talk_to(id_or_name)
    chat.tell(f"{chat.name} ({chat.agent_id}) at {chat.server.url}")


def _quit(chat: CommandedChat, _: str) -> None:
    chat.over = True


COMMANDS: Mapping[str, ChatCommand] = {
    "help": ChatCommand("", "this list", _help),
    "memory": ChatCommand("[LABEL]", "the agent's blocks, or the text of one", _memory),
    "block": ChatCommand("LABEL TEXT", "give a block a text", _block),
    "search": ChatCommand("TEXT", "search the archival memory", _search),
    "stop": ChatCommand("", "stop what the agent is doing; Ctrl-C does it while it answers", _stop),
    "resume": ChatCommand("", "follow a run that is under way, or answer what waits for an approval", _resume),
    "agent": ChatCommand("[NAME]", "whom you talk to, or talk to another agent", _agent),
    "quit": ChatCommand("", "end the chat; Ctrl-D does it too", _quit),
}
"""The commands by their names."""
