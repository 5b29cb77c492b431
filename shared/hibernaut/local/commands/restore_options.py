"""The command lines of `hibernaut backup` and `restore`, and which functions they call."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from hibernaut.local.profiles import CannotServe

Parser = TypeVar("Parser", bound=argparse.ArgumentParser)
EXAMPLES = """\
examples:
  hibernaut backup agents.tar.gz
  hibernaut restore agents.tar.gz --data-dir ~/agents
  hibernaut restore --env prod --time 2026-11-23T03:05:00Z --overwrite      bring a stack back to a moment
  hibernaut restore --env prod --time 2026-11-23T03:05:00Z --to staging     copy a moment of one stack into another, empty one
"""


def add_backups(commands: argparse._SubParsersAction[Parser], data_dir: str) -> None:
    """Add both commands. `data_dir`: the help text of --data-dir."""
    backup = commands.add_parser(
        "backup",
        help="write the backup of a data folder to a file",
        description="Write table, large bodies and master key of a data folder to a new file, also while a server uses it. The file is as secret as the folder. "
        "A deployed stack needs no command: its table can be restored to any second of 35 days.",
    )
    backup.add_argument("file", metavar="FILE", help="a new file, like agents.tar.gz")
    backup.add_argument("--data-dir", metavar="DIR", help=data_dir)
    backup.add_argument("--json", action="store_true", help="print JSON")
    restore = commands.add_parser(
        "restore",
        help="bring back a data folder from a file, or a deployed stack to a moment",
        description="Put a backup in place of a data folder, or bring a deployed stack back to a moment: DynamoDB restores its table to a new one, whose items are then "
        "copied and compared. May be interrupted and repeated. docs/operations.md has the runbook.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    restore.add_argument("file", metavar="FILE", nargs="?", help="the file of hibernaut backup")
    which = restore.add_mutually_exclusive_group()
    which.add_argument("--data-dir", metavar="DIR", help=data_dir)
    which.add_argument("--env", metavar="NAME", help="the stack hibernaut-NAME with the moment to restore")
    restore.add_argument("--time", metavar="WHEN", help="the moment, like 2026-11-23T03:05:00Z, or now")
    restore.add_argument("--to", metavar="NAME", help="the stack that gets the records (default: that of --env)")
    restore.add_argument(
        "--table", metavar="NAME", help="a table that DynamoDB has restored already, in place of the stack's own"
    )
    restore.add_argument("--bucket", metavar="NAME", help="the bucket with the large bodies, in place of that of --env")
    restore.add_argument("--without-keys", action="store_true", help="leave API keys out, because the KMS key is another one")
    restore.add_argument("--overwrite", action="store_true", help="delete what the data folder or the stack holds now")
    restore.add_argument(
        "--json", action="store_true", help="print what was restored as JSON, and the progress to the standard error"
    )


def run_backup(options: argparse.Namespace) -> None:
    """Run the command. Raises: CannotServe, BadSetting."""
    from hibernaut.local.administration.folder_backups import backup

    file = Path(options.file).expanduser()
    backup(_data(options), file)
    if options.json:
        print(json.dumps({"file": str(file), "bytes": file.stat().st_size}))
        return
    print(
        f"{file}, {file.stat().st_size / 1_000_000:,.1f} MB. It contains the master key of stored secrets: keep it as secret as the folder."
    )


def run_restore(options: argparse.Namespace) -> None:
    """Run the command. Raises: CannotServe, BadSetting."""
    only_stack = [
        f"--{name.replace('_', '-')}" for name in ("time", "to", "table", "bucket", "without_keys") if getattr(options, name)
    ]
    if options.env:
        if options.file:
            raise CannotServe("FILE is the backup of a data folder; a stack is restored to a --time", 2)
        if not options.time:
            raise CannotServe("--env needs the --time to which the stack is restored", 2)
        _restore_stack(options)
        return
    if only_stack:
        raise CannotServe(f"{only_stack[0]} is for --env", 2)
    if not options.file:
        raise CannotServe("name the FILE of a backup, or a stack with --env", 2)
    from hibernaut.local.administration.folder_backups import restore

    data = _data(options)
    former = restore(Path(options.file).expanduser(), data, overwrite=options.overwrite)
    if options.json:
        print(json.dumps({"data_dir": str(data), "former": str(former) if former else None}))
        return
    print(f"{data} is restored." + (f" The former folder is {former}." if former else ""))
    print("The index is built anew at the next start. Unfinished runs continue with `hibernaut dev --resume` only.")


def _restore_stack(options: argparse.Namespace) -> None:
    from hibernaut.local.administration.deployment import DeployedResources
    from hibernaut.local.administration.stack_outputs import aws_errors
    from hibernaut.local.progress import report_to
    from hibernaut.local.restoring.restore import Restore, moment_of, restore

    try:
        moment = datetime.now(UTC).replace(microsecond=0) if options.time == "now" else moment_of(options.time)
    except ValueError as error:
        raise CannotServe(f"--time: {error}", 2) from error
    if options.time == "now" and not options.table:
        raise CannotServe(
            "--time now needs the --table that holds the records: the newest minutes of a table cannot be restored", 2
        )
    report = report_to(sys.stderr if options.json else sys.stdout)
    try:
        with aws_errors():
            source = DeployedResources(options.env)
            target = source if options.to in (None, options.env) else DeployedResources(options.to)
            keys = not options.without_keys and target is source
            request = Restore(moment, options.table, options.bucket, overwrite=options.overwrite, keys=keys)
            found = restore(source, target, request, report)
            if not keys:
                report.line(
                    f"API keys were left out: hibernaut keys create --env {target.env} --scope admin. Enter providers' own keys again."
                )
    except KeyboardInterrupt as interrupt:
        raise CannotServe("stopped; the stack stays paused until the same command has ended") from interrupt
    finally:
        report.end()
    if options.json:
        print(json.dumps({"stack": target.stack, "moment": moment.isoformat(), "keys": keys, **asdict(found)}))


def _data(options: argparse.Namespace) -> Path:
    from hibernaut.wiring.settings import EmbeddedSettings

    settings = EmbeddedSettings.from_environment()
    return replace(settings, data=Path(options.data_dir).expanduser()).data if options.data_dir is not None else settings.data
