"""The command lines of `hibernaut chat`, `logs` and `open`."""

from __future__ import annotations

import argparse
from typing import TypeVar

from hibernaut.local.commands.server_options import JSON, add_server, server_of

EXAMPLES = """\
examples:
  hibernaut chat                                   with the agent that you talked to last, or a new one
  hibernaut chat Ada --url https://api.example.org --key @key.txt
  hibernaut chat Ada -m "What do you know about me?" --json
  echo "Remember that I moved to Oslo." | hibernaut chat Ada

In the chat /help lists the commands: /memory, /block, /search, /stop, /resume, /agent, /quit.
Exit code 3: a call waits for an approval that nobody gave.
"""
Parser = TypeVar("Parser", bound=argparse.ArgumentParser)


def add_chat(commands: argparse._SubParsersAction[Parser], data_dir: str) -> None:
    """Add the command. `data_dir`: the help text of --data-dir."""
    chat = commands.add_parser(
        "chat",
        help="talk to an agent in the terminal; starts a server if none runs",
        description="Talk to an agent. Answers appear as they are written; calls that need an approval are confirmed inline; Ctrl-C stops what the agent "
        "does. If no server runs on this machine, one is started for the chat, with the agents of your data folder.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    chat.add_argument("agent", nargs="?", metavar="AGENT", help="id or name (default: the agent that has run last)")
    chat.add_argument("-m", "--message", metavar="TEXT", help="send this message, show the answer, and end")
    chat.add_argument("--model", metavar="HANDLE", help="model of a new agent")
    chat.add_argument("--yes", action="store_true", help="approve every call without asking")
    chat.add_argument("--json", action="store_true", help="print each event of the answers as a line of JSON")
    chat.add_argument("--data-dir", metavar="DIR", help=f"start a server for this chat with this folder; {data_dir}")
    add_server(chat, default=None)


def run_chat(options: argparse.Namespace) -> int:
    """Hold a chat; returns the exit code. Raises: CannotServe, BadSetting."""
    from hibernaut.local.chat.chat import Chat, ChatOptions, hold_chat
    from hibernaut.local.chat.own_server import OwnServer
    from hibernaut.local.profiles import CannotServe
    from hibernaut.local.remote.agent_server import AgentServer, Unreachable
    from hibernaut.local.remote.terminal_input import read_line

    if options.url and options.data_dir is not None:
        raise CannotServe("--url names a server, and --data-dir starts one: leave one of them out", 2)
    if options.message is not None and not options.message.strip():
        raise CannotServe("--message has no text", 2)
    server, own = server_of(options), None
    if options.url is None:
        try:
            if options.data_dir is not None:
                raise Unreachable("")
            server.get("/v1/health/")
        except Unreachable:
            own = OwnServer(options.data_dir)
            server = AgentServer(own.url, server.key)
    chat_options = ChatOptions(options.json, "yes" if options.yes else "ask", options.message)
    return hold_chat(Chat(server, chat_options, read_line, own), options.agent, options.model)


def add_logs(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    logs = commands.add_parser(
        "logs",
        help="show what agents say and do",
        description="Print the newest messages of an agent, or of all agents, one line each; with -f also new ones as they arrive, until Ctrl-C.",
    )
    logs.add_argument("agent", nargs="?", metavar="AGENT", help="id or name (default: all agents)")
    logs.add_argument("-f", "--follow", action="store_true", help="go on with what follows")
    logs.add_argument("-n", "--number", type=_number, default=20, metavar="N", help="how many messages (default: %(default)s)")
    logs.add_argument("--json", action="store_true", help="print each message as a line of JSON")
    add_server(logs)


def run_logs(options: argparse.Namespace) -> int:
    """Show the log; returns the exit code. Raises: CannotServe, BadSetting."""
    from hibernaut.local.administration.message_log import MessageLog

    return MessageLog(server_of(options), options.agent, options.json).show(options.number, follow=options.follow)


def add_open(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    place = commands.add_parser(
        "open",
        help="open the console of a server in the browser",
        description="Open the console of a server in the browser, and print its address, which is all where there is no browser.",
    )
    place.add_argument("--print", action="store_true", help="print the address and open nothing")
    place.add_argument("--json", action="store_true", help=JSON)
    add_server(place)


def run_open(options: argparse.Namespace) -> int:
    """Open the console; returns the exit code. Raises: CannotServe, BadSetting."""
    from hibernaut.local.remote.console import open_console

    return open_console(server_of(options), as_json=options.json, quiet=options.print)


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) > 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1000")
    return int(text)
