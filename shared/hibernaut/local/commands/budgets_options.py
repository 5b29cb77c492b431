"""The command line of `hibernaut budgets`: its options, and which function of `local/administration/budgets.py` each action
calls.
"""

from __future__ import annotations

import argparse
from typing import TypeVar

from hibernaut.local.commands.keys_options import add_action
from hibernaut.schemas.access.budget import LIMITS, TENANT

EXAMPLES = """\
examples:
  hibernaut budgets set --tokens-per-day 1000000 --cost-per-month 50      the whole tenant
  hibernaut budgets set --agent agent-… --concurrent-runs 2
  hibernaut budgets set --key key-… --steps-per-day 500 --tenant acme
  hibernaut budgets list
  hibernaut budgets delete --agent agent-…
  hibernaut budgets list --env prod                                       the budgets of a deployed stack
"""
Parser = TypeVar("Parser", bound=argparse.ArgumentParser)


def add_budgets(commands: argparse._SubParsersAction[Parser], data_dir: str) -> None:
    """Add the command. `data_dir`: the help text of --data-dir."""
    budgets = commands.add_parser(
        "budgets",
        help="set, list and delete budgets of a data folder or of a deployed stack",
        description="Limit what a tenant, an API key or an agent may use, in a data folder, also while a server uses it, or in a deployed stack.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = budgets.add_subparsers(dest="action", metavar="action", required=True, parser_class=type(budgets))
    change = add_action(actions, "set", "set a budget, in place of an earlier one of the same subject", data_dir)
    _add_subject(change)
    for name in LIMITS:
        unit = "USD" if name.startswith("cost") else "N"
        change.add_argument(f"--{name.replace('_', '-')}", type=_number, metavar=unit, help=f"limit: {name.replace('_', ' ')}")
    change.add_argument(
        "--warn-at", type=_number, metavar="SHARE", help="the share of a limit at which the server warns (default: 0.8)"
    )
    add_action(actions, "list", "list the budgets of a tenant and what is used of them", data_dir)
    _add_subject(add_action(actions, "delete", "remove a budget", data_dir))


def run_budgets(options: argparse.Namespace) -> None:
    """Run the action. Raises: CannotServe, BadSetting."""
    from hibernaut.local.administration import budgets
    from hibernaut.local.administration.keys import KeyPlace

    place = KeyPlace(options.tenant, options.data_dir, options.env)
    match options.action:
        case "set":
            fields = {name: value for name in (*LIMITS, "warn_at") if (value := getattr(options, name)) is not None}
            budgets.set_budget(place, _subject(options), fields, as_json=options.json)
        case "list":
            budgets.list_budgets(place, as_json=options.json)
        case _:
            budgets.delete(place, _subject(options), as_json=options.json)


def _add_subject(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--agent", metavar="ID", help="the budget of this agent")
    which.add_argument("--key", metavar="ID", help="the budget of this API key (default: that of the tenant)")


def _subject(options: argparse.Namespace) -> str:
    return str(options.agent or options.key or TENANT)


def _number(text: str) -> int | str:
    """A whole number, or the text itself: the schema reads amounts and refuses what is no number."""
    try:
        return int(text)
    except ValueError:
        return text
