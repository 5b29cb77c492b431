"""What the run engines of all tenants share. Must not import an engine, nor the run engine.

The use cases of search are imported and built at their first use, as those of the run engine are.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from hibernaut.ports.clock import Clock
from hibernaut.ports.memory.embedder import Embedders
from hibernaut.ports.memory.memory_index import MemoryIndex
from hibernaut.ports.model import Models
from hibernaut.ports.tools.tool_runner import ToolRunner
from hibernaut.schemas.immutable import immutable
from hibernaut.services.host import Host
from hibernaut.services.models.model_call import CallThreads
from hibernaut.services.models.own_models import OwnModels
from hibernaut.store.stores import Stores, TenantStores

if TYPE_CHECKING:
    from hibernaut.services.search.hybrid_search import HybridSearch, IndexOutage
    from hibernaut.services.search.index_wake_up import IndexWakeUp
    from hibernaut.services.tool_calls.tool_limits import ToolLimits


class SearchEngines:
    """The engines that the searches of all tenants share, and the memory of an outage of the index."""

    def __init__(
        self, index: MemoryIndex | None = None, embedders: Embedders | None = None, own: OwnModels | None = None
    ) -> None:
        """`index` None: memory is searched by words, in the table. `embedders` None: nothing is embedded. `own`: the providers of
        tenants' own, by which their archives and folders may be embedded too.
        """
        self._index = index
        self._embedders = embedders
        self._own = own
        self._wake_up: IndexWakeUp | None = None

    @cached_property
    def _outage(self) -> IndexOutage:
        from hibernaut.services.search.hybrid_search import IndexOutage

        return IndexOutage()

    @property
    def index(self) -> MemoryIndex | None:
        """The index of memory, if this process reaches one."""
        return self._index

    def wake_up(self, clock: Clock) -> IndexWakeUp:
        """What wakes the index when a run begins; all tenants share it."""
        from hibernaut.services.search.index_wake_up import IndexWakeUp

        if self._wake_up is None:
            self._wake_up = IndexWakeUp(self._index, clock)
        return self._wake_up

    def search(self, stores: TenantStores) -> HybridSearch:
        """The search of one tenant."""
        from hibernaut.services.search.hybrid_search import HybridSearch
        from hibernaut.services.search.search_sources import NoEmbedders, SearchSources

        embedders: Embedders = self._embedders or NoEmbedders()
        if self._own is not None:
            embedders = self._own.embedders(stores.tenant, embedders)
        return HybridSearch(stores, self._index, SearchSources(stores, embedders), self._outage)


@immutable
class RunResources:
    """The ports that the run engines of all tenants share. `models`: the deployment's models; `own`: the tenants' own providers;
    `threads`: the threads of model calls. `stores`: the stores of all tenants.
    """

    host: Host
    models: Models
    own: OwnModels
    runner: ToolRunner
    limits: ToolLimits
    search: SearchEngines
    threads: CallThreads
    stores: Stores
