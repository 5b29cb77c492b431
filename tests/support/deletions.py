"""An embedded server whose worker dies at a chosen write, with agents, conversations and runs to delete."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hibernaut.ports.storage.table import Table
from hibernaut.rest.dependencies import Services
from hibernaut.schemas.agents.agent import CreateAgentRequest
from hibernaut.schemas.agents.conversation_record import CreateConversation
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.events import DoneEvent
from hibernaut.schemas.runs.run import RunOptions, StoredRun
from hibernaut.schemas.stop import RunStatus
from hibernaut.store.runs.runs import RunState
from hibernaut.store.stores import TenantStores
from hibernaut.store.table import keys
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.data_folder import TABLE
from hibernaut.wiring.embedded import Embedded, EmbeddedOverrides
from hibernaut.wiring.settings import EmbeddedSettings
from tests.support.tables import CountingTable

TENANT = "default"
SAID = [{"role": "user", "content": "Hello"}]


class Died(BaseException):
    """The worker has died."""


@dataclass
class House:
    """An embedded server. Its worker dies before write number `dies`, or before the first table call beyond its `budget` (0:
    never).
    """

    embedded: Embedded
    services: Services
    dies: int = 0
    writes: int = 0
    budget: int = 0
    calls: int = 0

    def there(self) -> dict[tuple[str, str], str]:
        """All items, but the pointers for the index, as text."""
        with closing(sqlite3.connect(f"file:{self.embedded.settings.data / TABLE}?mode=ro", uri=True)) as file:
            rows = file.execute("SELECT pk, sk, attributes || coalesce(body, '') FROM items WHERE instr(pk, '#TAIL#') = 0")
            return {(pk, sk): f"{pk} {sk} {item}" for pk, sk, item in rows}

    @property
    def stores(self) -> TenantStores:
        return self.embedded.stores.of(TENANT)

    def agent(self) -> str:
        return self.services.agents.creation.create(CreateAgentRequest(initial_message_sequence=SAID)).id

    def conversation(self, agent_id: str) -> str:
        made = self.services.conversations.openings.create(agent_id, CreateConversation())
        self.say(agent_id, made.id)
        return made.id

    def fork(self, agent_id: str, source: str) -> str:
        made = self.services.conversations.openings.fork(source)
        self.say(agent_id, made.id)
        return made.id

    def say(self, agent_id: str, conversation: str) -> None:
        """Append some rows to a log."""
        store, host = self.stores.conversations, self.embedded.host
        head = store.head(conversation)
        assert head is not None
        rows, last = list[Message](), head.last_message
        for _ in range(4):
            last = host.ids.new("message", after=last)
            text = [TextContent(text="said")]
            rows.append(Message(id=last, role="user", content=text, agent_id=agent_id, created_at=host.clock.now()))
        after = head.model_copy(
            update={"version": head.version + 1, "last_message": last, "newest": [last], "messages": head.messages + 4}
        )
        changes = [store.change_head(head, after, "t"), *store.put_rows(head, rows)]
        self.stores.writer.write(*changes, token="t")

    def left(self, identifier: str) -> set[str]:
        """The partitions that contain the id, except those of index pointers."""
        return {pk for pk, sk in self.there() if identifier in f"{pk} {sk}"}

    def sweep(self) -> None:
        """Take up all due items. What each sweep pays to find them, one query per shard of their index, does not count as
        calls.
        """
        self.calls -= len(keys.due_partitions())
        self.embedded.engines.sweep.run(everything=True)

    def count(self, _: int, kind: str) -> None:
        self.calls += kind.startswith("before")
        if self.budget and self.calls > self.budget:
            raise Died
        if kind == "before write" and self.dies:
            self.writes += 1
            if self.writes == self.dies:
                raise Died

    def broken(self, act: Callable[[], None], dies: int = 0, *, budget: int = 0) -> bool:
        """Execute `act`; returns whether the worker died."""
        self.dies, self.writes, self.budget, self.calls = dies, 0, budget, 0
        try:
            act()
        except Died:
            return True
        finally:
            self.dies = self.budget = 0
        return False

    def runs(self, agent_id: str, batches: Sequence[int]) -> None:
        """Write ended runs, each with so many batches of events."""
        stores, host = self.stores, self.embedded.host
        for number in batches:
            now = host.clock.now()
            run = StoredRun(
                id=host.ids.new("run"),
                agent_id=agent_id,
                status=RunStatus.COMPLETED,
                created_at=now,
                options=RunOptions(max_steps=1),
            )
            stores.writer.write(*stores.runs.create(RunState(run), None))
            for seq in range(1, number + 1):
                stores.writer.write(stores.runs.put_events(run.id, seq, [DoneEvent()], now))


@contextmanager
def house_in(folder: Path) -> Iterator[House]:
    made: list[House] = []

    def wrapped(table: Table) -> Table:
        return CountingTable(table, lambda number, kind: made[0].count(number, kind) if made else None)

    embedded = Embedded(EmbeddedSettings(data=folder), EmbeddedOverrides(table=wrapped))
    made.append(House(embedded, services_of(embedded.stores, embedded.host, embedded.engines).of(TENANT)))
    yield made[0]
    embedded.close()
