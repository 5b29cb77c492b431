"""The command lines of `hibernaut agents list|show|create|delete`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hibernaut.local.commands.texts import read
from hibernaut.schemas.base import JsonObject
from hibernaut.wiring.configuration.variables import BadSetting

if TYPE_CHECKING:
    from hibernaut.local.remote.agent_server import AgentServer

RECORDS = ("list", "show", "create", "delete")
AGENT = "id or name of the agent"
Parser = TypeVar("Parser", bound=argparse.ArgumentParser)


def add_records(actions: argparse._SubParsersAction[Parser]) -> list[Parser]:
    """Add the actions; returns their parsers."""
    list_parser = actions.add_parser("list", help="list agents, newest first")
    list_parser.add_argument("--name", help="only agents with this name")
    list_parser.add_argument("--tag", action="append", default=[], metavar="TAG", help="only agents with this tag (repeatable)")
    list_parser.add_argument("--limit", type=_count, default=100, metavar="N", help="at most this many (default: %(default)s)")
    show_parser = actions.add_parser("show", help="show an agent with its blocks and tools")
    show_parser.add_argument("agent", metavar="AGENT", help=AGENT)
    create_parser = actions.add_parser("create", help="create an agent; prints its id")
    create_parser.add_argument("name", metavar="NAME")
    create_parser.add_argument("--model", metavar="HANDLE", help="its model, as provider/model (default: that of the server)")
    create_parser.add_argument("--embedding", metavar="HANDLE", help="its embedding (default: that of the server)")
    create_parser.add_argument(
        "--system", metavar="TEXT", help="its instructions, or @FILE with them (default: those of its type)"
    )
    create_parser.add_argument(
        "--block",
        action="append",
        default=[],
        metavar="LABEL=TEXT",
        help="a block of its memory; @FILE in place of TEXT reads a file (repeatable; default: human and persona, empty)",
    )
    create_parser.add_argument("--tool", action="append", default=[], metavar="NAME", help="a further tool (repeatable)")
    create_parser.add_argument("--tag", action="append", default=[], metavar="TAG", help="a tag (repeatable)")
    delete_parser = actions.add_parser("delete", help="delete agents with all messages")
    delete_parser.add_argument("agent", nargs="+", metavar="AGENT", help=AGENT)
    delete_parser.add_argument("--yes", action="store_true", help="do not ask")
    parsers = [list_parser, show_parser, create_parser, delete_parser]
    for one in parsers:
        one.add_argument("--json", action="store_true", help="print JSON")
    return parsers


def run_records(server: AgentServer, options: argparse.Namespace) -> int:
    """Run the action; returns the exit code. Raises: CannotServe, BadSetting."""
    from hibernaut.local.administration import agent_records
    from hibernaut.local.remote.terminal_input import is_sure

    match options.action:
        case "list":
            filters: JsonObject = {"name": options.name} if options.name else {}
            if options.tag:
                filters |= {"tags": options.tag, "match_all_tags": True}
            return agent_records.list_agents(server, filters, options.limit, as_json=options.json)
        case "show":
            return agent_records.show_agent(server, options.agent, as_json=options.json)
        case "create":
            return agent_records.create_agent(server, _fields(options), as_json=options.json)
        case _:
            sure = (lambda _: True) if options.yes else is_sure
            return agent_records.delete_agents(server, options.agent, sure, as_json=options.json)


def _fields(options: argparse.Namespace) -> JsonObject:
    """The body of the request. Raises: BadSetting."""
    blocks = [_block(text) for text in options.block] or [{"label": label, "value": ""} for label in ("human", "persona")]
    named = {name: getattr(options, name) for name in ("model", "embedding") if getattr(options, name)}
    if options.system is not None:
        named["system"] = _text(options.system)
    more = {"tools": options.tool} if options.tool else {}
    return {"name": options.name, "memory_blocks": blocks, "tags": options.tag, **named, **more}


def _block(text: str) -> JsonObject:
    label, equals, value = text.partition("=")
    if not label or not equals:
        raise BadSetting(f"--block is LABEL=TEXT or LABEL=@FILE, not {text!r}")
    return {"label": label, "value": _text(value)}


def _text(value: str) -> str:
    return read(Path(value[1:])) if value.startswith("@") else value


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return int(text)
