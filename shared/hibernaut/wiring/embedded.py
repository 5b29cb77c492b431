"""The embedded profile: SQLite, disk, threads and child processes; one process, no account, no network.

The only module that knows which engines stand behind the ports in this profile.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from types import TracebackType
from typing import Self

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.cipher.key_file import KeyFileCipher
from hibernaut.adapters.clock import SystemClock, TimeOrderedIds
from hibernaut.adapters.door import Door
from hibernaut.adapters.due_threads import DueThreads
from hibernaut.adapters.embedder.catalogue import DefaultEmbedding, EmbedderCatalogue
from hibernaut.adapters.embedder.hosted.http_embedder import SECONDS as EMBEDDING_SECONDS
from hibernaut.adapters.files.child_process import ChildFileReader
from hibernaut.adapters.ingest.threads import IngestThreads
from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.adapters.model.catalogue import Catalogue
from hibernaut.adapters.model.own_providers import OwnProviders
from hibernaut.adapters.oauth_http import DoorOAuth
from hibernaut.adapters.schedules.clock_thread import ScheduleClock
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.adapters.signal import ProcessSignal
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.adapters.table.sqlite_file import FormatUnknown
from hibernaut.adapters.tool_runner.cage.walls import Wall
from hibernaut.adapters.tool_runner.child_process import ChildProcessRunner
from hibernaut.adapters.tool_runner.confinement import Cage
from hibernaut.adapters.tool_runner.spares import Spare
from hibernaut.adapters.web.http import HttpWeb
from hibernaut.adapters.workflow.threads import Drive, Threads
from hibernaut.domain.models.tokens import get_ready
from hibernaut.ports.memory.embedder import Embedders
from hibernaut.ports.memory.memory_index import IndexAsleep
from hibernaut.ports.model import Models
from hibernaut.ports.runs.workflow import Next, RunRef
from hibernaut.ports.storage.cipher import Cipher
from hibernaut.ports.storage.table import Table, TableError
from hibernaut.ports.tools.tool_runner import ToolRunner
from hibernaut.schemas.errors import StoreUnavailable, place_of
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.stop import StopReason
from hibernaut.services.access.access import Access
from hibernaut.services.files.ingestion import Ingestion
from hibernaut.services.host import Host
from hibernaut.services.models.own_models import OwnModels
from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.search.index_poll_worker import IndexPollWorker
from hibernaut.services.search.reindexing import Progress, Reindexing
from hibernaut.services.tool_calls.tool_limits import ToolLimits
from hibernaut.services.tools.package_collector import PackageCollector
from hibernaut.store.schedules.schedule_keys import is_schedule
from hibernaut.store.stores import Stores
from hibernaut.store.table import keys
from hibernaut.wiring.data_folder import BLOBS, INDEX, SECRETS, TABLE, DataFolder, DataFolderUnusable, check_links
from hibernaut.wiring.engines.embedding import own_embedder
from hibernaut.wiring.engines.event_relays import relays_of
from hibernaut.wiring.engines.index_feed import indexing_of
from hibernaut.wiring.engines.packages import folders_of
from hibernaut.wiring.engines.web_search import LazyWebSearch
from hibernaut.wiring.identity import identity_provider_of
from hibernaut.wiring.mcp import LazyMcp
from hibernaut.wiring.run_engine import RunEngines
from hibernaut.wiring.run_resources import SearchEngines
from hibernaut.wiring.settings import EmbeddedSettings
from hibernaut.wiring.tenant_budget import tenant_budget_of
from hibernaut.wiring.tracing import home_tracer

SWEEP_SECONDS = 60.0
COLLECT_MINUTES = 61
"""Minutes between two looks for packages that no tool uses."""
STEPS_PER_WAKE = 1
EVENT_WORKERS = 4
SCHEDULES_AT_ONCE = 500
"""Due items of a shard that the start reads at a time to set the clock."""
REINDEX_LOOK = 1.0
"""Seconds between two checks of whether the rebuilt index is complete."""
logger = logging.getLogger(__name__)


@immutable
class EmbeddedOverrides:
    """Engines that replace those of the profile. `table` wraps the profile's own table."""

    table: Callable[[Table], Table] | None = None
    models: Models | None = None
    runner: ToolRunner | None = None
    embedders: Embedders | None = None


class Embedded:
    """The server's parts in one process: the constructor opens the data folder, `start` begins background work, `close` ends it.

    Only one process may have a data folder open. `unfinished`: the number of unfinished runs, files, approvals and deletions that
    `start` did not resume, because the folder was copied or moved.
    """

    def __init__(self, settings: EmbeddedSettings, overrides: EmbeddedOverrides = EmbeddedOverrides()) -> None:
        """Raises: DataFolderUnusable."""
        self.settings = settings
        self.unfinished = 0
        self._folder, self._file, self._index = _opened(settings)
        self.table: Table = overrides.table(self._file) if overrides.table else self._file
        clock = SystemClock()
        ids = TimeOrderedIds(clock)
        self.workflow = Threads()
        self.ingest = IngestThreads()
        self.events = DueThreads("events", EVENT_WORKERS, "event not passed on")
        self.cipher: Cipher = KeyFileCipher(settings.data / SECRETS)
        self.schedules = ScheduleClock(clock)
        self.packages = folders_of(settings.data, settings.packages, settings.outward.clients, clock)
        secrets = EnvironmentSecrets(settings.providers)
        blobs = DiskBlobs(settings.data / BLOBS)
        self.stores: Stores = Stores(self.table, blobs, clock, indexed=True, retention=settings.history, cipher=self.cipher)
        self.access = Access(
            self.stores,
            self.cipher,
            clock,
            ids,
            required=settings.keys_required,
            alone=True,
            tenant_budget=tenant_budget_of(settings.tenant_budget),
            identity=identity_provider_of(settings.identity, clock),
        )
        cage = Cage(hidden=(settings.data,), network=settings.tool_network)
        self._children = ChildProcessRunner(cage, self.packages.place, spare=Spare())
        self.host = Host(
            clock,
            ids,
            self.workflow,
            ProcessSignal(),
            holder=f"host:{ids.token()}",
            alone=True,
            traces=settings.traces,
            system_prompt=settings.system_prompt,
            web=HttpWeb(settings.outward.clients, pages=settings.outward.pages),
            web_search=LazyWebSearch(secrets),
            mcp=LazyMcp(Door(settings.outward.clients), self._children if settings.mcp_programs else None),
            oauth=DoorOAuth(Door(settings.outward.clients)),
            reader=ChildFileReader(),
            ingest=self.ingest,
            cipher=self.cipher,
            event_delivery=self.events,
            schedule_workers=self.schedules,
            tenant_budget=tenant_budget_of(settings.tenant_budget),
            tracer=home_tracer(settings.tracing, clock),
            rest_after=settings.retention.rest_after,
            retention=settings.retention.messages,
            tool_access=self.access.tools,
            packages=self.packages,
        )
        embedding = DefaultEmbedding(settings.default_embedding, settings.embedding_dimension)
        door = Door(settings.outward.clients)
        offered = EmbedderCatalogue(secrets, default=embedding, dial=lambda: door.client(EMBEDDING_SECONDS))
        self.embedders: Embedders = overrides.embedders or offered
        self.models: Models = overrides.models or Catalogue(
            secrets,
            default_model=settings.default_model,
            embeddings=offered,
            prompt_cache=settings.prompt_cache,
            dial=door.dial,
        )
        self.runner: ToolRunner = overrides.runner or self._children
        limits = ToolLimits(timeout=settings.tool_timeout, reply=settings.agent_reply)
        connections = OwnProviders(secrets, prompt_cache=settings.prompt_cache, door=door, embedder=own_embedder)
        own = OwnModels(self.stores, self.cipher, connections)
        search = SearchEngines(self._index, self.embedders, own)
        self.engines = RunEngines(self.stores, self.host, self.models, self.runner, limits, search, own)
        self.index_worker = IndexPollWorker(
            self.stores.outbox,
            indexing_of(self.stores, self._index, self.embedders, own),
            self.stores.api_keys.tenants,
            storing=self.ingest.busy,
        )
        self.reindexing = Reindexing(self.stores, self._index)
        ingestion = PerTenant(lambda tenant: Ingestion(self.stores.of(tenant), self.host, own.embedders(tenant, self.embedders)))
        self.ingest.bind(lambda tenant, file_id: ingestion.of(tenant).process(file_id))
        relays = relays_of(self.stores, self.host)
        self.events.bind(lambda place: relays.of(keys.tenant_of(place.pk)).take(place))
        self.stores.event_signal.listener = self.events.start
        self.schedules.bind(self.engines.fire)
        self.stores.schedule_signal.listener = self.schedules.note
        self.workflow.bind(Drive(self._advance, self._close_run, self._compact, self._drop))
        self._collector = PackageCollector(self.stores, self.packages.collect)
        self._stopping = threading.Event()
        self._ticker = threading.Thread(target=self._tick, name="sweep", daemon=True)
        self._rebuilder = threading.Thread(target=self._reindex, name="reindex", daemon=True)

    def start(self) -> Self:
        """Resume the unfinished work of the last process, and sweep once a minute from now on.

        In a folder from elsewhere with unfinished work, background work starts only with the setting `resume`: otherwise no run
        or file is resumed, and nothing is embedded. Raises: DataFolderUnusable.
        """
        threading.Thread(target=get_ready, name="vocabulary", daemon=True).start()
        try:
            if not self._folder.own and not self.settings.resume:
                self.unfinished = self._unfinished()
            if not self.unfinished:
                self._folder.claim()
                self._take_up()
        except TableError as error:
            raise _damaged(self.settings, error) from error
        return self

    def _unfinished(self) -> int:
        return len(self.stores.due.unfinished())

    def _take_up(self) -> None:
        self.packages.clear()
        self.engines.sweep.run(everything=True)
        for page in self.stores.due.pages(None, SCHEDULES_AT_ONCE):
            for item in (item for items in page for item in items if is_schedule(item.key)):
                self.schedules.note(item.key, item.due_ms)
        self.schedules.open()
        self._ticker.start()
        self.index_worker.start()
        if self._index.is_new or not self.reindexing.end():
            self._rebuilder.start()

    def serve_tools(self, base_url: str, *, port: int, door: int) -> None:
        """Let tools reach this server: at its own port they come to the door, where each request needs a token."""
        self._children.cage.ports, self._children.cage.door = (port,), door
        self.access.tools.base_url = base_url

    def walls(self) -> frozenset[Wall]:
        """The walls around tools on this machine; none where no tool can be started."""
        try:
            return self._children.walls()
        except OSError as error:
            logger.error("tools cannot be started", extra={"error": type(error).__qualname__, "place": place_of(error)})
            return frozenset()

    def end_tools(self) -> None:
        """End the child processes of custom tools, which would outlive a process that ends without `close`."""
        self._children.close()

    def close(self) -> None:
        """End running tools, finish current steps, and release the data folder."""
        self._stopping.set()
        self._children.close()
        self.ingest.close()
        self.workflow.close()
        self.index_worker.close()
        self.schedules.close()
        self.events.close()
        self.host.tracer.close()
        if self._ticker.is_alive():
            self._ticker.join()
        self._index.close()
        self._file.close()
        if self._rebuilder.is_alive():  # The closed files have ended what it did; until then it may read one of them.
            self._rebuilder.join()
        self._folder.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _advance(self, run: RunRef) -> Next:
        return self.engines.of(run.tenant).turns.advance(run.run_id, steps=STEPS_PER_WAKE).next

    def _compact(self, run: RunRef) -> Next:
        return self.engines.of(run.tenant).compactions.compact(run.run_id).next

    def _drop(self, run: RunRef) -> Next:
        return self.engines.of(run.tenant).turns.advance(run.run_id, drop=True).next

    def _close_run(self, run: RunRef) -> None:
        self.engines.of(run.tenant).termination.end(run.run_id, StopReason.ERROR)

    def _reindex(self) -> None:
        """Rebuild an index that was lost or whose rebuild did not end. Runs on a thread, while requests are served."""
        try:
            if self._index.is_new or self.reindexing.broken_off():
                self.reindexing.begin(self.reindexing.tenants(), _ignore_progress)
            while not self.reindexing.end():
                if self._stopping.wait(REINDEX_LOOK):
                    return
        except (IndexAsleep, StoreUnavailable, TableError) as error:
            if self._stopping.is_set():
                return  # The next start goes on with it.
            logger.error("index could not be built anew", extra={"error": type(error).__qualname__, "place": place_of(error)})

    def _tick(self) -> None:
        minutes = count(1)
        while not self._stopping.wait(SWEEP_SECONDS):
            try:
                self.engines.sweep.run()
                self.reindexing.end()  # another process may have started a rebuild and ended
                if next(minutes) % COLLECT_MINUTES == 0:
                    self._collector.run()
            except Exception as error:  # noqa: BLE001  the outermost line of the thread; the next minute's sweep tries again
                logger.error("sweep failed", extra={"error": type(error).__qualname__, "place": place_of(error)})


class ServedDataFolder:
    """The table and the index of a data folder that a running server has open. This process neither indexes nor sweeps."""

    def __init__(self, settings: EmbeddedSettings) -> None:
        """Raises: DataFolderUnusable, TableError, IndexAsleep."""
        check_links(settings.data)
        self._file = SqliteTable(settings.data / TABLE)
        self._index = SqliteMemoryIndex(settings.data / INDEX)
        stores = Stores(self._file, DiskBlobs(settings.data / BLOBS), SystemClock(), indexed=True)
        self.reindexing = Reindexing(stores, self._index)

    def close(self) -> None:
        """Close the table and the index."""
        self._index.close()
        self._file.close()


def _opened(settings: EmbeddedSettings) -> tuple[DataFolder, SqliteTable, SqliteMemoryIndex]:
    """The folder and its two databases; after a failure none of them stays open. Raises: DataFolderUnusable."""
    with ExitStack() as opening:
        folder = DataFolder(settings.data, settings.user_key)
        opening.callback(folder.close)
        try:
            table = SqliteTable(settings.data / TABLE)
            opening.callback(table.close)
            index = SqliteMemoryIndex(settings.data / INDEX)
        except (TableError, IndexAsleep) as error:
            raise _damaged(settings, error) from error
        opening.pop_all()
    return folder, table, index


def _damaged(settings: EmbeddedSettings, error: TableError | IndexAsleep) -> DataFolderUnusable:
    what = f"The data folder {settings.data} cannot be used: {error}."
    if isinstance(error, FormatUnknown):
        return DataFolderUnusable(
            f"{what} Start the version of Hibernaut that wrote it, or choose another folder with --data-dir."
        )
    if isinstance(error, IndexAsleep):
        return DataFolderUnusable(f"{what} Delete {INDEX}, which is built anew, or choose another folder with --data-dir.")
    return DataFolderUnusable(f"{what} Put {TABLE} back from a backup, or choose another folder with --data-dir.")


def _ignore_progress(progress: Progress) -> None:
    """Ignores the progress: a background rebuild reports to nobody."""
    del progress
