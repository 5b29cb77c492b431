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
class MigrationOptions:
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


def migrate(options: MigrationOptions) -> int:
    """Migrate, or report what a migration would do; returns the exit code. Raises: CannotServe."""
    source = source_of(options)
    target = Target(Api(options.target, options.target_key, name="the new server"), options.handles)
    try:
        return _dry_run(source, target, options) if options.dry else _migrate(source, target, options)
    except KeyboardInterrupt:
        raise CannotServe(f"stopped. {CONTINUE}") from None
    finally:
        source.close()
        target.close()


def source_of(options: MigrationOptions) -> MigrationSource:
    """The source at a URL. Raises: CannotServe."""
    scheme = urlsplit(options.source).scheme
    if scheme in ("http", "https"):
        return HttpSource(Api(options.source, options.source_key, name="the old server"))
    if scheme in POSTGRES:
        from hibernaut.local.migrating.sources.postgres_source import PostgresSource

        return PostgresSource.at(options.source, options.organization)
    raise CannotServe("--from is http://…, https://… or postgresql://…", 2)


def _migrate(source: MigrationSource, target: Target, options: MigrationOptions) -> int:
    about: JsonObject = {"from": source.label, "to": target.label}
    state = MigrationState(options.state or Path(f"hibernaut-migration-{digest(about)[:8]}.jsonl"), about)
    report, progress = MigrationReport(state.note), report_to(sys.stderr)
    try:
        Migration(source, target, state, report, progress).move()
        progress.line("checking")
        MigrationCheck(target, state, report).run()
    finally:
        progress.end()
        state.close()
    return _write_report(report, state.notes, options)


def _dry_run(source: MigrationSource, target: Target, options: MigrationOptions) -> int:
    report, progress = MigrationReport(lambda _note: None), report_to(sys.stderr)
    try:
        DryRun(source, target, report, progress).run()
    finally:
        progress.end()
    _write_report(report, (), options)
    return 0


def _write_report(report: MigrationReport, notes: Sequence[JsonObject], options: MigrationOptions) -> int:
    """Print the report, and write it to a file; returns the exit code. Raises: CannotServe."""
    print(json.dumps(report.whole(notes), indent=2) if options.as_json else "\n".join(report.lines(notes)))
    if (file := options.report) is not None:
        try:
            file.write_text(json.dumps(report.whole(notes), indent=2), encoding="utf-8")
        except OSError as error:
            raise CannotServe(f"{file} cannot be written: {error.strerror}") from None
    return 1 if report.failed(notes) else 0
