"""The command line of `hibernaut keys`: its options, and which function of `local/administration/keys.py` each action calls."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

from hibernaut.schemas.access.scope import Scope
from hibernaut.schemas.ids import DEFAULT_TENANT

EXAMPLES = """\
examples:
  hibernaut keys create --scope admin --name "first key"
  hibernaut keys create --tenant acme --scope write --expires 90d
  hibernaut keys create --scope write --client --agent agent-… --expires 12h
  hibernaut keys rotate key-… --grace 1h
  hibernaut keys create --env prod --scope admin     the keys of a deployed stack
"""
Parsed = TypeVar("Parsed")
Parser = TypeVar("Parser", bound=argparse.ArgumentParser)


def add_keys(commands: argparse._SubParsersAction[Parser], data_dir: str) -> None:
    """Add the command. `data_dir`: the help text of --data-dir."""
    keys = commands.add_parser(
        "keys",
        help="create, list, rotate and revoke API keys of a data folder or of a deployed stack",
        description="Manage the API keys of a data folder, also while a server uses it, or of a deployed stack. Once a key was created, every request "
        "needs one.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = keys.add_subparsers(dest="action", metavar="action", required=True, parser_class=type(keys))
    create = add_action(actions, "create", "create a key; the key alone is the last line of the output", data_dir)
    create.add_argument("--scope", required=True, choices=[scope.value for scope in Scope], help="what the key permits")
    create.add_argument("--name", default="", help="a name for lists")
    create.add_argument("--agent", action="append", default=[], metavar="ID", help="restrict the key to this agent (repeatable)")
    create.add_argument(
        "--agent-tag", action="append", default=[], metavar="TAG", help="restrict the key to agents with this tag (repeatable)"
    )
    create.add_argument("--client", action="store_true", help="a client token: it may talk to its agents and nothing else")
    create.add_argument("--expires", type=_typed(_expiry), metavar="WHEN", help="like 12h, 90d or 2030-01-31T12:00:00Z")
    rotate = add_action(
        actions, "rotate", "create a key with the settings of another one, which expires after a grace period", data_dir
    )
    rotate.add_argument("key_id", metavar="KEY-ID")
    rotate.add_argument(
        "--grace", type=_typed(_duration), default=timedelta(days=1), metavar="TIME", help="like 30m or 7d (default: 1d)"
    )
    add_action(actions, "list", "list the keys of a tenant", data_dir)
    revoke = add_action(actions, "revoke", "make a key unusable", data_dir)
    which = revoke.add_mutually_exclusive_group(required=True)
    which.add_argument("key_id", metavar="KEY-ID", nargs="?")
    which.add_argument("--all", action="store_true", help="all keys of the tenant")


def run_keys(options: argparse.Namespace) -> None:
    """Run the action. Raises: CannotServe, BadSetting."""
    from hibernaut.local.administration import keys

    place = keys.KeyPlace(options.tenant, options.data_dir, options.env)
    match options.action:
        case "create":
            fields = {
                "name": options.name,
                "scope": options.scope,
                "kind": "client" if options.client else "secret",
                "agent_ids": options.agent,
                "agent_tags": options.agent_tag,
                "expires_at": options.expires,
            }
            keys.create(place, fields, as_json=options.json)
        case "rotate":
            keys.rotate(place, options.key_id, grace=options.grace, as_json=options.json)
        case "list":
            keys.list_keys(place, as_json=options.json)
        case _:
            keys.revoke(place, options.key_id, as_json=options.json)


def add_action(actions: argparse._SubParsersAction[Parser], name: str, text: str, data_dir: str) -> Parser:
    """Add an action with the options that say where keys and budgets are."""
    parser = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--data-dir", metavar="DIR", help=data_dir)
    which.add_argument(
        "--env", metavar="NAME", help="the stack hibernaut-NAME of your AWS account and region: dev, staging or prod"
    )
    parser.add_argument("--tenant", metavar="NAME", default=DEFAULT_TENANT, help="the tenant (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _typed(read: Callable[[str], Parsed]) -> Callable[[str], Parsed]:
    def typed(text: str) -> Parsed:
        try:
            return read(text)
        except (ValueError, OverflowError) as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return typed


def _expiry(text: str) -> datetime:
    from hibernaut.local.administration.keys import expiry_of

    return expiry_of(text)


def _duration(text: str) -> timedelta:
    from hibernaut.local.administration.keys import duration_of

    return duration_of(text)
