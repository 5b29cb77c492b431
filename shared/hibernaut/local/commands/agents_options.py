"""The command line of `hibernaut agents`: its options, and which function of `local/administration/agent_transfer.py` each action
calls.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeVar

from hibernaut.local.commands.agent_records_options import RECORDS, add_records, run_records
from hibernaut.local.commands.texts import address, key_of, read
from hibernaut.schemas.base import JsonObject

HOME = "http://127.0.0.1:8283"
PARTS = ("passages", "conversations", "identities")
"""What a caller may leave out of an agent."""
KEY = "API key of that server, or @FILE with the key"
EXAMPLES = """\
examples:
  hibernaut agents list --tag support
  hibernaut agents create Ada --model openai/gpt-5.4 --block human="Her name is Ann." --block persona=@persona.txt
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
        help="list, show, create and delete agents; export, import, copy and move them between servers",
        description="Agents of a server that runs: at home, deployed, or of Letta. They move as agent files (.af).",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = agents.add_subparsers(dest="action", metavar="action", required=True, parser_class=type(agents))
    records = add_records(actions)
    export = actions.add_parser("export", help="write an agent to a file")
    export.add_argument("agent_id", metavar="AGENT-ID")
    export.add_argument("file", metavar="FILE", type=Path)
    export.add_argument(
        "--full-history", action="store_true", help="the whole agent: its log, passages, conversations and identities"
    )
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
        one.add_argument("--to", required=True, type=address, metavar="URL", help="address of the other server")
        one.add_argument("--to-key", default="", metavar="KEY", help=KEY)
        one.add_argument("--name", help="name of the copy (default: that of the agent)")
    move.add_argument(
        "--force", action="store_true", help="delete the agent even if something of it is left out, or a secret has no value"
    )
    for one in (export, copy, move):
        one.add_argument(
            "--without",
            action="append",
            default=[],
            choices=PARTS,
            help="leave these out, which the whole agent has; may be repeated",
        )
    for one in (load, copy, move):
        one.add_argument("--model", metavar="HANDLE", help="model of the agents there")
        one.add_argument("--embedding", metavar="HANDLE", help="embedding of the agents there")
        one.add_argument("--keep-tools", action="store_true", help="keep tools there that have the names of the agent's tools")
        one.add_argument(
            "--secrets", type=Path, metavar="FILE", help="JSON object of the names and values of the agents' secrets"
        )
    for one in (export, load, copy, move):
        one.add_argument("--json", action="store_true", help="print JSON")
    for one in (*records, export, load, copy, move):
        one.add_argument("--url", default=HOME, type=address, help="address of the server (default: %(default)s)")
        one.add_argument("--key", default="", help=KEY)


def run_agents(options: argparse.Namespace) -> int:
    """Run the action; returns the exit code. Raises: CannotServe, BadSetting."""
    from hibernaut.local.administration.agent_transfer import copy_agent, export_agent, import_agent, move_agent
    from hibernaut.local.remote.agent_server import AgentServer

    server = AgentServer(options.url, key_of(options.key))
    if options.action in RECORDS:
        return run_records(server, options)
    if options.action == "export":
        messages = {"full_history": options.full_history, "scrub_messages": options.no_messages}
        messages |= dict.fromkeys(options.without, False)
        return export_agent(server, options.agent_id, options.file, messages, force=options.force, as_json=options.json)
    import_options = _import_options(options)
    if options.action == "import":
        return import_agent(
            server, options.file, {**import_options, "strip_messages": options.strip_messages}, as_json=options.json
        )
    other = AgentServer(options.to, key_of(options.to_key))
    if options.action == "copy":
        return copy_agent(server, other, options.agent_id, import_options, options.without, as_json=options.json)
    return move_agent(server, other, options.agent_id, import_options, options.without, force=options.force, as_json=options.json)


def _import_options(options: argparse.Namespace) -> JsonObject:
    """The options of an import as the API names them."""
    fields: JsonObject = {name: getattr(options, name) for name in ("name", "model", "embedding") if getattr(options, name)}
    if options.secrets is not None:
        fields["secrets"] = read(options.secrets)
    return {**fields, "override_existing_tools": not options.keep_tools}
