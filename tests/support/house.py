"""The embedded house in a folder of its own, with its use cases: for tests that need no HTTP. Nothing in it is a double but what is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hibernaut.ports.table import Change, Table
from hibernaut.rest.dependencies import Services
from hibernaut.schemas.agent import CreateAgentRequest, StoredAgent
from hibernaut.services.per_tenant import PerTenant
from hibernaut.store.stores import TenantStores
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded, EmbeddedOverrides
from hibernaut.wiring.settings import EmbeddedSettings
from tests.support.tables import PassesOn

TENANT = "default"


@dataclass(frozen=True, slots=True)
class House:
    """`table` is what the stores write to: the wrapped one, where it was wrapped."""

    all_services: PerTenant[Services]
    services: Services
    stores: TenantStores
    table: Table

    def agent(self, **fields: object) -> StoredAgent:
        """Make an agent."""
        return self.services.agents.creation.create(CreateAgentRequest.model_validate(fields))

    def stored(self, agent_id: str) -> StoredAgent:
        """The agent as it stands in the table."""
        agent = self.stores.agents.get(agent_id)
        assert agent is not None
        return agent


class Overtaken(PassesOn):
    """A table whose next write is overtaken by what `by` does, once."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.by: Callable[[], object] | None = None

    def write(self, *changes: Change) -> None:
        by, self.by = self.by, None
        if by is not None:
            by()
        super().write(*changes)


@contextmanager
def house_in(folder: Path, table: Callable[[Table], Table] | None = None) -> Iterator[House]:
    """`table` wraps the table, as doubles do."""
    embedded = Embedded(EmbeddedSettings(data=folder), EmbeddedOverrides(table=table))
    try:
        made = services_of(embedded.stores, embedded.host, embedded.models, embedded.engines)
        yield House(made, made.of(TENANT), embedded.stores.of(TENANT), embedded.table)
    finally:
        embedded.close()
