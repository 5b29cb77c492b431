"""Composes the use case that indexes memory, in the same way for every profile. Must not import an engine."""

from __future__ import annotations

from hibernaut.ports.memory.embedder import Embedders
from hibernaut.ports.memory.memory_index import MemoryIndex
from hibernaut.services.models.own_models import OwnModels
from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.search.indexing import EmbedderRefusals, Indexing
from hibernaut.services.search.search_sources import SearchSources
from hibernaut.store.stores import Stores


def indexing_of(
    stores: Stores, index: MemoryIndex, embedders: Embedders, own_models: OwnModels | None = None
) -> PerTenant[Indexing]:
    """The use case that writes a tenant's records to the index. All tenants share the record of embedding models that refuse.

    `own_models`: the providers of tenants' own, by which their archives and folders may be embedded too.
    """
    refusals = EmbedderRefusals()

    def indexing(tenant: str) -> Indexing:
        own = stores.of(tenant)
        usable = embedders if own_models is None else own_models.embedders(tenant, embedders)
        return Indexing(own, index, SearchSources(own, usable), refusals, stores.clock)

    return PerTenant(indexing)
