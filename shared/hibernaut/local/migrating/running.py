"""Runs one migration: opens its source and its target, moves, checks, and tells."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from urllib.parse import urlsplit

from hibernaut.local.migrating.api import CONTINUE, Api
from hibernaut.local.migrating.checks import MigrationCheck
from hibernaut.local.migrating.digests import digest
from hibernaut.local.migrating.dry_run import DryRun
from hibernaut.local.migrating.migration import Migration
from hibernaut.local.migrating.report import MigrationReport
from hibernaut.local.migrating.sources.http_source import HttpSource
from hibernaut.local.migrating.sources.source import MigrationSource
from hibernaut.local.migrating.state import MigrationState
from hibernaut.local.migrating.target import Target
from hibernaut.local.profiles import CannotServe
from hibernaut.local.progress import report_to
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.immutable import immutable

POSTGRES = ("postgresql", "postgres")


@immutable
class Wanted:
    """The options of a migration. `handles`: the model and the embedding of all agents on the target, if they are to change."""

    source: str
    target: str
    source_key: str = field(default="", repr=False)
    target_key: str = field(default="", repr=False)
    organization: str = ""
    handles: JsonObject = field(default_factory=dict)
    state: Path | None = None
    report: Path | None = None
    dry: bool = False
    as_json: bool = False


def migrate(wanted: Wanted) -> int:
    """Move, or say what would be moved; returns the exit code. Raises: CannotServe."""
    source = source_of(wanted)
    target = Target(Api(wanted.target, wanted.target_key, name="the new server"), wanted.handles)
    try:
        return _dry(source, target, wanted) if wanted.dry else _moved(source, target, wanted)
    except KeyboardInterrupt:
        raise CannotServe(f"stopped. {CONTINUE}") from None
    finally:
        source.close()
        target.close()


def source_of(wanted: Wanted) -> MigrationSource:
    """The source that a URL names. Raises: CannotServe."""
    scheme = urlsplit(wanted.source).scheme
    if scheme in ("http", "https"):
        return HttpSource(Api(wanted.source, wanted.source_key, name="the old server"))
    if scheme in POSTGRES:
        from hibernaut.local.migrating.sources.postgres_source import PostgresSource

        return PostgresSource.at(wanted.source, wanted.organization)
    raise CannotServe("--from is http://…, https://… or postgresql://…", 2)


def _moved(source: MigrationSource, target: Target, wanted: Wanted) -> int:
    about: JsonObject = {"from": source.label, "to": target.label}
    state = MigrationState(wanted.state or Path(f"hibernaut-migration-{digest(about)[:8]}.jsonl"), about)
    report, progress = MigrationReport(state.note), report_to(sys.stderr)
    try:
        Migration(source, target, state, report, progress).move()
        progress.line("checking")
        MigrationCheck(target, state, report).run()
    finally:
        progress.end()
        state.close()
    return _told(report, state.notes, wanted)


def _dry(source: MigrationSource, target: Target, wanted: Wanted) -> int:
    report, progress = MigrationReport(lambda _note: None), report_to(sys.stderr)
    try:
        DryRun(source, target, report, progress).run()
    finally:
        progress.end()
    _told(report, (), wanted)
    return 0


def _told(report: MigrationReport, notes: Sequence[JsonObject], wanted: Wanted) -> int:
    """Print the report, and write it to a file; returns the exit code. Raises: CannotServe."""
    print(json.dumps(report.whole(notes), indent=2) if wanted.as_json else "\n".join(report.lines(notes)))
    if (file := wanted.report) is not None:
        try:
            file.write_text(json.dumps(report.whole(notes), indent=2), encoding="utf-8")
        except OSError as error:
            raise CannotServe(f"{file} cannot be written: {error.strerror}") from None
    return 1 if report.failed(notes) else 0
