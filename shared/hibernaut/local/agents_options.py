"""The command line of `hibernaut agents`: its options, and which function of `local/agent_transfer.py` each action calls."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeVar

from hibernaut.schemas.base import JsonObject
from hibernaut.wiring.settings import BadSetting

HOME = "http://127.0.0.1:8283"
KEY = "API key of that server, or @FILE with the key"
EXAMPLES = """\
examples:
  hibernaut agents export agent-… ada.af --full-history
  hibernaut agents import ada.af --url https://api.example.org --key @key.txt --model openai/gpt-5.4
  hibernaut agents copy agent-… --to https://api.example.org --to-key @key.txt
  hibernaut agents move agent-… --to https://api.example.org --to-key @key.txt
"""
Parser = TypeVar("Parser", bound=argparse.ArgumentParser)


def add_agents(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    agents = commands.add_parser(
        "agents",
        help="export, import, copy and move agents between servers",
        description="Move agents as agent files (.af) between servers that run: at home, deployed, or of Letta.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = agents.add_subparsers(dest="action", metavar="action", required=True, parser_class=type(agents))
    export = actions.add_parser("export", help="write an agent to a file")
    export.add_argument("agent_id", metavar="AGENT-ID")
    export.add_argument("file", metavar="FILE", type=Path)
    export.add_argument("--full-history", action="store_true", help="the whole log, not only the messages in the window")
    export.add_argument("--no-messages", action="store_true", help="leave the messages out")
    export.add_argument("--force", action="store_true", help="overwrite the file")
    load = actions.add_parser("import", help="create the agents of a file; prints their ids")
    load.add_argument("file", metavar="FILE", type=Path)
    load.add_argument("--name", help="name of the agents, in place of the file's with the suffix _copy")
    load.add_argument("--strip-messages", action="store_true", help="leave the messages out")
    copy = actions.add_parser("copy", help="copy an agent to another server; prints its new id")
    move = actions.add_parser("move", help="copy an agent to another server, check the copy, and delete the agent")
    for one in (copy, move):
        one.add_argument("agent_id", metavar="AGENT-ID")
        one.add_argument("--to", required=True, metavar="URL", help="address of the other server")
        one.add_argument("--to-key", default="", metavar="KEY", help=KEY)
        one.add_argument("--name", help="name of the copy (default: that of the agent)")
    move.add_argument(
        "--force", action="store_true", help="delete the agent even if it has what an agent file does not take along"
    )
    for one in (load, copy, move):
        one.add_argument("--model", metavar="HANDLE", help="model of the agents there")
        one.add_argument("--embedding", metavar="HANDLE", help="embedding of the agents there")
        one.add_argument("--keep-tools", action="store_true", help="keep tools there that have the names of the agent's tools")
        one.add_argument(
            "--secrets", type=Path, metavar="FILE", help="JSON object of the names and values of the agents' secrets"
        )
    for one in (export, load, copy, move):
        one.add_argument("--url", default=HOME, help="address of the server (default: %(default)s)")
        one.add_argument("--key", default="", help=KEY)


def run_agents(options: argparse.Namespace) -> int:
    """Run the action; returns the exit code. Raises: CannotServe, BadSetting."""
    from hibernaut.local.agent_transfer import AgentServer, copied, exported, imported, moved

    server = AgentServer(options.url, key_of(options.key))
    if options.action == "export":
        messages = {"full_history": options.full_history, "scrub_messages": options.no_messages}
        return exported(server, options.agent_id, options.file, messages, force=options.force)
    wanted = _wanted(options)
    if options.action == "import":
        return imported(server, options.file, {**wanted, "strip_messages": options.strip_messages})
    other = AgentServer(options.to, key_of(options.to_key))
    if options.action == "copy":
        return copied(server, other, options.agent_id, wanted)
    return moved(server, other, options.agent_id, wanted, force=options.force)


def key_of(given: str) -> str:
    """The key, or the one in the file behind `@`. Raises: BadSetting."""
    return read(Path(given[1:])).strip() if given.startswith("@") else given


def read(path: Path) -> str:
    """The text of a file. Raises: BadSetting."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}") from None


def _wanted(options: argparse.Namespace) -> JsonObject:
    """The options of an import as the API names them."""
    named: JsonObject = {name: getattr(options, name) for name in ("name", "model", "embedding") if getattr(options, name)}
    if options.secrets is not None:
        named["secrets"] = read(options.secrets)
    return {**named, "override_existing_tools": not options.keep_tools}
