"""The command lines of `hibernaut doctor` and `redrive`, and which functions they call."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

Parser = TypeVar("Parser", bound=argparse.ArgumentParser)
STACK = "the stack hibernaut-NAME of your AWS account and region: dev, staging or prod"


def add_doctor(commands: argparse._SubParsersAction[Parser], data_dir: str) -> None:
    """Add the command. `data_dir`: the help text of --data-dir."""
    doctor = commands.add_parser(
        "doctor",
        help="say what is wrong with a data folder or a deployed stack, and what to do",
        description="Check a data folder, also while a server uses it, or a deployed stack. Nothing is changed, and no secret is printed. "
        "Exit code 0: nothing is wrong; 1: something is, or could not be checked.",
    )
    which = doctor.add_mutually_exclusive_group()
    which.add_argument("--data-dir", metavar="DIR", help=data_dir)
    which.add_argument("--env", metavar="NAME", help=STACK)
    doctor.add_argument("--models", action="store_true", help="ask the configured providers of this machine for their models")
    doctor.add_argument("--json", action="store_true", help="print JSON")


def add_redrive(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    redrive = commands.add_parser(
        "redrive",
        help="reprocess the dead letters of a deployed stack",
        description="Send the event of each dead letter to its function again, and delete the letter when the function has succeeded. Every function "
        "takes an event twice without harm: the command may be interrupted and repeated. Exit code 1: some letters stay.",
    )
    redrive.add_argument("--env", metavar="NAME", required=True, help=STACK)
    redrive.add_argument("--dry-run", action="store_true", help="list the letters by kind and change nothing")
    redrive.add_argument(
        "--kind",
        action="append",
        default=[],
        choices=("sweep", "run", "ingest", "stream", "retake", "event", "schedule"),
        help="only these (repeatable)",
    )
    redrive.add_argument("--limit", type=_count, default=0, metavar="N", help="at most this many letters")
    redrive.add_argument(
        "--runs", action="store_true", help="restart now all runs that wait for the sweep, in place of the letters"
    )
    redrive.add_argument("--json", action="store_true", help="print the numbers of letters or runs as JSON")


def _count(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return int(text)


def run_redrive(options: argparse.Namespace) -> int:
    """Run the command; returns the exit code. Raises: CannotServe."""
    from hibernaut.local.administration.deployment import DeployedResources
    from hibernaut.local.administration.redriving import Redrive, Redriving, restart_runs
    from hibernaut.local.administration.stack_outputs import aws_errors
    from hibernaut.local.profiles import CannotServe

    if options.runs and (options.dry_run or options.kind or options.limit):
        raise CannotServe("--runs restarts runs and reprocesses no letters; omit the other options", 2)
    say = partial(print, file=sys.stderr if options.json else sys.stdout, flush=True)
    with aws_errors():
        place = DeployedResources(options.env)
        if options.runs:
            restarted = restart_runs(place, say)
            if options.json:
                print(json.dumps(restarted))
            return 0
        request = Redrive(tuple(options.kind), options.limit, dry=options.dry_run)
        try:
            outcome = Redriving(place, say).redrive(request)
        except KeyboardInterrupt as interrupt:
            raise CannotServe("stopped; letters that were not reprocessed are in the queue") from interrupt
    if options.json:
        print(json.dumps(outcome.as_json()))
    return 1 if outcome.failed else 0


def run_doctor(options: argparse.Namespace) -> int:
    """Run the command; returns the exit code. Raises: CannotServe, BadSetting."""
    from hibernaut.local.doctor.findings import healthy, printed

    if options.env:
        from hibernaut.local.administration.deployment import DeployedResources
        from hibernaut.local.administration.stack_outputs import aws_errors
        from hibernaut.local.doctor import deployed

        with aws_errors():
            title, findings = f"The stack hibernaut-{options.env}", deployed.diagnosed(DeployedResources(options.env))
    else:
        from hibernaut.local.doctor import home
        from hibernaut.wiring.settings import EmbeddedSettings

        settings = EmbeddedSettings.from_environment()
        if options.data_dir is not None:
            settings = replace(settings, data=Path(options.data_dir).expanduser())
        title, findings = f"The data folder {settings.data}", home.diagnosed(home.Home(settings, asks=options.models))
    print(printed(title, findings, as_json=options.json))
    return 0 if healthy(findings) else 1
