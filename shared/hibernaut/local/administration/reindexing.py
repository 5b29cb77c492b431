"""`hibernaut reindex`: empties the index of a data folder, writes pointers to all documents, and shows the progress of indexing.

If a server has the folder open, that server does the indexing: this process writes pointers into the table and watches them
disappear. If no server has it open, or the server ends, this process opens the folder and does the indexing. Knows the terminal;
must not know how an index is built.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from hibernaut.local import logs
from hibernaut.local.profiles import CannotServe
from hibernaut.local.progress import Dwindling, ProgressReport, report_to
from hibernaut.ports.memory.memory_index import IndexAsleep
from hibernaut.ports.storage.table import TableError
from hibernaut.schemas.errors import StoreUnavailable
from hibernaut.schemas.immutable import immutable
from hibernaut.services.search.reindexing import Progress, Reindexing
from hibernaut.wiring.data_folder import TABLE, DataFolderInUse, DataFolderUnusable, is_open
from hibernaut.wiring.embedded import Embedded, ServedDataFolder
from hibernaut.wiring.settings import EmbeddedSettings

LOOK = 0.5
"""Seconds between two checks of the remaining work."""
STILL = "Nothing was indexed for a minute: the server's log has the reason. Still waiting."


@immutable
class _OpenDataFolder:
    """A data folder. `served`: another process feeds its index."""

    reindexing: Reindexing
    served: bool


def reindex(data: str | None, out: TextIO) -> int:
    """Rebuild the index, report to `out`, and return when it is complete. Returns the number of records.

    Raises: CannotServe, also after an interrupt, BadSetting.
    """
    settings = EmbeddedSettings.from_environment()
    if data is not None:
        settings = replace(settings, data=Path(data).expanduser())
    if not (settings.data / TABLE).is_file():
        raise CannotServe(f"there is nothing to index: {settings.data} contains no agents; name their folder with --data-dir")
    logs.to_terminal()
    begun = pointed = served = False
    report = report_to(out)
    records = 0

    def pointing(progress: Progress) -> None:
        nonlocal records
        records = progress.records
        if progress.places == progress.of:
            report.line(f"The index is empty and waits for {progress.records:,} records.")

    try:
        while True:
            with _opened(settings) as folder:
                served = folder.served
                report.line(_where(settings.data, again=begun, served=served))
                begun = True
                if not pointed:
                    folder.reindexing.begin(folder.reindexing.tenants(), pointing)
                    pointed = True
                if _watched(folder, settings, report):
                    report.line("Done: the index is complete.")
                    return records
    except KeyboardInterrupt as interrupt:
        raise CannotServe(_interrupted(pointed=pointed, served=served)) from interrupt
    except (DataFolderUnusable, StoreUnavailable, TableError, IndexAsleep) as error:
        raise CannotServe(str(error)) from error
    finally:
        report.end()


@contextmanager
def _opened(settings: EmbeddedSettings) -> Iterator[_OpenDataFolder]:
    """The data folder. Raises: DataFolderUnusable, TableError, IndexAsleep."""
    try:
        embedded = Embedded(settings)
    except DataFolderInUse:
        shared = ServedDataFolder(settings)
        try:
            yield _OpenDataFolder(shared.reindexing, served=True)
        finally:
            shared.close()
        return
    try:
        embedded.index_worker.start()
        yield _OpenDataFolder(embedded.reindexing, served=False)
    finally:
        embedded.close()


def _watched(folder: _OpenDataFolder, settings: EmbeddedSettings, report: ProgressReport) -> bool:
    """Whether the index is complete; False if the process that fed it has ended."""
    dwindling = Dwindling(report, STILL)
    while not folder.reindexing.end():
        dwindling.remaining(folder.reindexing.remaining())
        if folder.served and not is_open(settings.data):
            return False
        time.sleep(LOOK)
    return True


def _where(data: Path, *, again: bool, served: bool) -> str:
    if again:
        return "The server has ended; this process continues."
    return f"Reindexing {data}, " + ("beside the server that has it open." if served else "which no server has open.")


def _interrupted(*, pointed: bool, served: bool) -> str:
    if not pointed:
        return "stopped before the index was emptied completely; run the command again, or start the server, which starts the rebuild again"
    return "stopped watching; the server continues" if served else "stopped; the server continues at its next start"
