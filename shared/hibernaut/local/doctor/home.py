"""`hibernaut doctor` of a data folder: its files, its records, the configured models, and what would be different on AWS.

It changes nothing, also while a server has the folder open. Only `--models` asks providers.
"""

from __future__ import annotations

import ipaddress
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from hibernaut import __version__
from hibernaut.adapters.table.sqlite_check import FileDamaged, faults_of, format_of
from hibernaut.adapters.table.sqlite_rows import FORMAT
from hibernaut.local.doctor import data_checks
from hibernaut.local.doctor.findings import Examination, Finding, findings_of
from hibernaut.local.doctor.stack_checks import Result
from hibernaut.local.server import listening
from hibernaut.ports.storage.table import TableError
from hibernaut.schemas.errors import HibernautError
from hibernaut.schemas.immutable import immutable
from hibernaut.wiring.data_folder import INDEX, SECRETS, TABLE, DataFolderUnusable, is_open
from hibernaut.wiring.inspection import Inspection, inspection_of_folder
from hibernaut.wiring.settings import EmbeddedSettings

LEAST_FREE = 1024 * 1024 * 1024
PORT = 8283


@immutable
class Home:
    """A data folder with the settings of this environment. `asks`: request the providers' lists of models."""

    settings: EmbeddedSettings
    asks: bool = False

    @property
    def data(self) -> Path:
        return self.settings.data


def engine(_place: Home) -> Iterator[Result]:
    """The version and the engine."""
    yield (
        "ok",
        f"Hibernaut {__version__}, SQLite {sqlite3.sqlite_version}; the embedded profile needs neither Java nor an account",
    )


def folder(place: Home) -> Iterator[Result]:
    """Modes, lock and free space of the folder."""
    if not (place.data / TABLE).is_file():
        yield (
            "note",
            f"{place.data} contains no agents yet",
            "hibernaut dev creates them there; name another folder with --data-dir",
        )
        return
    in_use = is_open(place.data)
    yield "ok", f"{place.data}, {'open in a server' if in_use else 'not open in any server'}"
    for name in (".", TABLE, INDEX, SECRETS):
        file = place.data / name
        if file.exists() and (shared := stat.S_IMODE(file.stat().st_mode) & 0o077):
            yield (
                "warning",
                f"{file.resolve()} is open to other users (mode …{shared:02o})",
                "the next start of the server makes it private",
            )
    free = shutil.disk_usage(place.data).free
    if free < LEAST_FREE:
        yield "warning", f"{free // 1_000_000:,} MB are free on its disk", "make room: without it nothing can be written"


def table(place: Home) -> Iterator[Result]:
    """The format and the integrity of the table, and whether the index is there."""
    file = place.data / TABLE
    if not file.is_file():
        return
    found = format_of(file)
    if found not in (0, FORMAT):
        yield (
            "failure",
            f"{TABLE} has format {found}, this version reads format {FORMAT}",
            "use the version of Hibernaut that wrote it",
        )
        return
    if faults := faults_of(file):
        yield "failure", f"{TABLE} is damaged: {faults[0]}", "stop the server and restore a backup: hibernaut restore"
        return
    yield "ok", f"{TABLE} is whole, format {found}, {file.stat().st_size // 1_000_000:,} MB"
    index = place.data / INDEX
    if not index.is_file():
        yield "note", f"{INDEX} is missing", "the server builds it anew at its next start"
    elif faults := faults_of(index):
        yield "failure", f"{INDEX} is damaged: {faults[0]}", f"stop the server and delete {INDEX}: it is built anew"


def waiting(records: Inspection) -> Iterator[Result]:
    """What waits for the index and for the sweep."""
    pointers, unfinished = records.waiting_pointers(), records.unfinished()
    yield "ok", f"pointers that wait for the index: {pointers:,}; unfinished runs, files, approvals and schedules: {unfinished:,}"


def api_keys(records: Inspection) -> Iterator[Result]:
    """The API keys: at home none are needed on loopback."""
    if sum(records.usable_keys().values()):
        yield from data_checks.api_keys(records)
    else:
        yield (
            "note",
            "no API key: requests need none, and the server listens on this machine alone",
            "hibernaut keys create before --host 0.0.0.0",
        )


def models(place: Home) -> Iterator[Result]:
    """The configured providers, and with `asks` whether they answer."""
    from hibernaut.adapters.model.catalogue import Catalogue
    from hibernaut.adapters.secrets.environment import EnvironmentSecrets

    catalogue = Catalogue(EnvironmentSecrets(place.settings.providers), default_model=place.settings.default_model)
    providers = {name: where for name, where in catalogue.providers().items() if name != "hibernaut"}
    default = place.settings.default_model or "the first that is configured"
    yield (
        "ok",
        f"providers: {', '.join(sorted(providers))}; default model: {default}"
        if providers
        else "no provider: agents use hibernaut/demo",
    )
    if not place.asks:
        yield (
            "note",
            "providers were not asked",
            "hibernaut doctor --models asks each for its list of models, which costs nothing",
        )
        return
    handles = [one.handle or "" for one in catalogue.list()]
    for name in sorted(providers):
        count = sum(handle.startswith(f"{name}/") for handle in handles)
        if count:
            yield "ok", f"{name} answers: {count} models"
        else:
            yield "failure", f"{name} lists no models", "check its key and its address; hibernaut models check tries a model"


def port(_place: Home) -> Iterator[Result]:
    """Whether the usual port is free."""
    try:
        listening("127.0.0.1", PORT).close()
    except OSError as error:
        yield "note", f"port {PORT} is in use: {error.strerror}", "it may be the server itself; another one needs --port"
    else:
        yield "ok", f"port {PORT} is free"


def on_aws(place: Home) -> Iterator[Result]:
    """What is configured here and would not work in a deployed stack."""
    different = []
    for name, value in sorted(place.settings.providers.items()):
        if name.endswith(("_BASE_URL", "_API_BASE")) and _is_near(value):
            different.append(f"{name} names an address that functions on AWS cannot reach")
    if place.settings.default_embedding in (None, "hibernaut/minilm"):
        different.append(
            "memory is embedded by a model of this machine, or not at all: choose -c embedding= or an OpenAI key there"
        )
    if place.settings.upload_limit != EmbeddedSettings(place.data).upload_limit:
        different.append("HIBERNAUT_UPLOAD_LIMIT has no effect there: the API takes 4 MB, and 50 MB by an announced upload")
    for text in different:
        yield "note", text
    if not different:
        yield "ok", "nothing that is configured here fails there"


def _is_near(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return host == "localhost" or "." not in host or host.endswith(".local")


def _of_records(check: Callable[[Inspection], Iterator[Result]]) -> Callable[[Home], Iterator[Result]]:
    def run(place: Home) -> Iterator[Result]:
        if (place.data / TABLE).is_file():
            records, opened = inspection_of_folder(place.data)
            try:
                yield from check(records)
            finally:
                opened.close()

    return run


CHECKS: tuple[Examination[Home], ...] = (
    Examination("engine", engine),
    Examination("folder", folder),
    Examination("table", table),
    Examination("open runs", _of_records(data_checks.open_runs)),
    Examination("waiting work", _of_records(waiting)),
    Examination("API keys", _of_records(api_keys)),
    Examination("models", models),
    Examination("port", port),
    Examination("on AWS", on_aws),
)


def diagnosed(place: Home) -> list[Finding]:
    """The findings of all checks."""
    return findings_of(CHECKS, place, _failure)


def _failure(error: Exception) -> str | None:
    expected = (DataFolderUnusable, TableError, HibernautError, FileDamaged, OSError)
    return f"not checked: {error}" if isinstance(error, expected) else None
