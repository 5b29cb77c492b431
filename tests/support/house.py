"""The embedded server in a folder, with its use cases, for tests that need no HTTP. Only the parts that a test passes in are
doubles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.ports.storage.blobs import Blobs
from hibernaut.ports.storage.table import Change, Table
from hibernaut.ports.tools.tool_runner import ToolRunner
from hibernaut.rest.dependencies import Services
from hibernaut.schemas.agents.agent import CreateAgentRequest, StoredAgent
from hibernaut.services.per_tenant import PerTenant
from hibernaut.store.stores import TenantStores
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.data_folder import BLOBS
from hibernaut.wiring.embedded import Embedded, EmbeddedOverrides
from hibernaut.wiring.settings import EmbeddedSettings
from tests.support.tables import PassesOn

TENANT = "default"


@dataclass(frozen=True, slots=True)
class House:
    """The server and its use cases. `table`: the table of the stores, with its wrapper if it has one; `blobs`: their large
    contents.
    """

    all_services: PerTenant[Services]
    services: Services
    stores: TenantStores
    table: Table
    blobs: Blobs

    def agent(self, **fields: object) -> StoredAgent:
        """Create an agent."""
        return self.services.agents.creation.create(CreateAgentRequest.model_validate(fields))

    def stored(self, agent_id: str) -> StoredAgent:
        """The stored agent."""
        agent = self.stores.agents.get(agent_id)
        assert agent is not None
        return agent


class Overtaken(PassesOn):
    """A table that executes `by` once, immediately before the next write."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.by: Callable[[], object] | None = None

    def write(self, *changes: Change) -> None:
        by, self.by = self.by, None
        if by is not None:
            by()
        super().write(*changes)


@contextmanager
def house_in(folder: Path, table: Callable[[Table], Table] | None = None, *, runner: ToolRunner | None = None) -> Iterator[House]:
    """A new server in the folder. `table` wraps its table. `runner`: that of custom tools, if not child processes."""
    embedded = Embedded(EmbeddedSettings(data=folder), EmbeddedOverrides(table=table, runner=runner))
    try:
        made = services_of(embedded.stores, embedded.host, embedded.engines)
        yield House(made, made.of(TENANT), embedded.stores.of(TENANT), embedded.table, DiskBlobs(folder / BLOBS))
    finally:
        embedded.close()
