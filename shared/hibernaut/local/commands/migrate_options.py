"""The command line of `hibernaut migrate`: its options."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeVar

from hibernaut.local.commands.agents_options import HOME, KEY
from hibernaut.local.commands.texts import key_of

EXAMPLES = """\
examples:
  hibernaut migrate --from http://old-server:8283 --dry-run
  hibernaut migrate --from http://old-server:8283 --from-token @old.txt --to https://api.example.org --to-token @key.txt
  hibernaut migrate --from postgresql://letta:secret@db.example.org/letta --model openai/gpt-5.4

The source is only read. Ctrl-C, a lost connection or a crash loses nothing: the same command continues.
Exit code 0: everything is on the target, compared by counts and digests. docs/migration.md has more.
"""
Parser = TypeVar("Parser", bound=argparse.ArgumentParser)


def add_migrate(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    migrate = commands.add_parser(
        "migrate",
        help="move everything from a Letta server",
        description="Move the agents of a Letta server with all their messages, blocks, tools, archives, folders, identities and groups. Ids stay.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    migrate.add_argument(
        "--from", dest="source", required=True, metavar="URL", help="the server, or its database as postgresql://…"
    )
    migrate.add_argument(
        "--from-token", default="", metavar="KEY", help="password or API key of the old server, or @FILE with it"
    )
    migrate.add_argument("--to", default=HOME, metavar="URL", help="address of the new server (default: %(default)s)")
    migrate.add_argument("--to-token", default="", metavar="KEY", help=KEY)
    migrate.add_argument("--organization", default="", metavar="ID", help="the organization to move, if the database has several")
    migrate.add_argument("--model", metavar="HANDLE", help="model of all agents there (default: their own, where it is served)")
    migrate.add_argument("--embedding", metavar="HANDLE", help="embedding of all agents there")
    migrate.add_argument(
        "--state", type=Path, metavar="FILE", help="file with the progress (default: hibernaut-migration-….jsonl)"
    )
    migrate.add_argument("--report", type=Path, metavar="FILE", help="write the report to this file as JSON, too")
    migrate.add_argument("--json", action="store_true", help="print the report as JSON")
    migrate.add_argument(
        "--dry-run", action="store_true", help="say what would be moved and what would differ, and write nothing"
    )


def run_migrate(options: argparse.Namespace) -> int:
    """Move, or say what would be moved; returns the exit code. Raises: CannotServe, BadSetting."""
    from hibernaut.local.migrating.running import MigrationOptions, migrate

    handles = {name: value for name in ("model", "embedding") if (value := getattr(options, name))}
    return migrate(
        MigrationOptions(
            source=options.source,
            source_key=key_of(options.from_token),
            target=options.to,
            target_key=key_of(options.to_token),
            organization=options.organization,
            handles=handles,
            state=options.state,
            report=options.report,
            dry=options.dry_run,
            as_json=options.json,
        )
    )
