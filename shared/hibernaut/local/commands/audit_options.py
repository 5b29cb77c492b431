"""The command line of `hibernaut audit`: its options, and which function each action calls."""

from __future__ import annotations

import argparse
from typing import TypeVar

from hibernaut.local.commands.keys_options import add_action

EXAMPLES = """\
examples:
  hibernaut audit verify                           every block, agent and passage of the data folder
  hibernaut audit verify --agent agent-…           one agent and its blocks
  hibernaut audit heads > heads.json               note the newest versions; keep the file elsewhere
  hibernaut audit verify --against heads.json      also: every noted version is still there
  hibernaut audit verify --env prod --tenant acme  a tenant of a deployed stack
"""
Parser = TypeVar("Parser", bound=argparse.ArgumentParser)


def add_audit(commands: argparse._SubParsersAction[Parser], data_dir: str) -> None:
    """Add the command. `data_dir`: the help text of --data-dir."""
    audit = commands.add_parser(
        "audit",
        help="check that the versions of memory were not changed",
        description="Check the chains of versions of a data folder, also while a server uses it, or of a deployed stack. Nothing is changed. A chain "
        "shows changed, exchanged or removed records; a truncated end or completely recomputed chains show only against heads that were noted elsewhere.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = audit.add_subparsers(dest="action", metavar="action", required=True, parser_class=type(audit))
    verify = add_action(actions, "verify", "check all chains; exit code 1: one is broken", data_dir)
    verify.add_argument("--agent", metavar="ID", help="only this agent's settings and its blocks")
    verify.add_argument("--against", metavar="FILE", help="heads of an earlier audit; their versions must still exist")
    heads = add_action(actions, "heads", "print the newest version of each record as JSON, to be noted elsewhere", data_dir)
    heads.add_argument("--agent", metavar="ID", help="only this agent's settings and its blocks")


def run_audit(options: argparse.Namespace) -> int:
    """Run the action; returns the exit code. Raises: CannotServe, BadSetting."""
    from hibernaut.local.administration import audits

    place = audits.AuditPlace(options.tenant, options.agent, options.data_dir, options.env)
    if options.action == "heads":
        return audits.print_heads(place)
    return audits.verify(place, options.against, as_json=options.json)
