"""The command line of `hibernaut erase`."""

from __future__ import annotations

import argparse
from typing import TypeVar

from hibernaut.local.commands.server_options import JSON, add_server, server_of

EXAMPLES = """\
examples:
  hibernaut erase user-4711                     asks, erases, follows, and prints the receipt
  hibernaut erase identity-… --yes --json > receipt.json
  hibernaut erase identity-… --check            searches again for remains
  hibernaut erase --list

An interrupted command loses nothing: the server continues, and the same command follows it. Exit code 1: there are remains.
docs/security.md says what is erased, and what an erasure does not reach.
"""
Parser = TypeVar("Parser", bound=argparse.ArgumentParser)


def add_erase(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    erase = commands.add_parser(
        "erase",
        help="erase a person everywhere, with a receipt",
        description="Erase the person of an identity: their agents, messages, memory, files, traces and versions. It needs a key of the scope "
        "admin, or a server without keys.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    erase.add_argument(
        "person", nargs="?", metavar="PERSON", help="id of the identity, its identifier_key, or the id of the erasure"
    )
    what = erase.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="search again for remains of an erased person")
    what.add_argument("--show", action="store_true", help="print the erasure as it is, with its receipt")
    what.add_argument("--list", action="store_true", help="list all erasures")
    erase.add_argument("--yes", action="store_true", help="do not ask")
    erase.add_argument("--no-wait", action="store_true", help="print the erasure's id and do not wait for its end")
    erase.add_argument("--json", action="store_true", help=JSON)
    add_server(erase)


def run_erase(options: argparse.Namespace) -> int:
    """Run the command; returns the exit code. Raises: CannotServe, BadSetting."""
    from hibernaut.local.administration.erasing import Erasing
    from hibernaut.local.profiles import CannotServe
    from hibernaut.local.remote.terminal_input import is_sure

    if bool(options.person) is options.list:
        raise CannotServe("name a person, or --list lists the erasures", 2)
    erasing = Erasing(server_of(options), options.json)
    if options.list:
        return erasing.list()
    if options.show:
        return erasing.show(options.person)
    if options.check:
        return erasing.check(options.person, wait=not options.no_wait)
    return erasing.erase(options.person, (lambda _: True) if options.yes else is_sure, wait=not options.no_wait)
