"""The stores of one tenant never read or write a place of another one, whatever ids, records, items and keys of the other they
are given.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.ports.storage.table import Change, Check, Delete, Item, Key, Put, Table, Update
from hibernaut.schemas.memory.passage import Archive, Passage
from hibernaut.store.access import deployment_keys
from hibernaut.store.agents.pauses import PauseStore
from hibernaut.store.events.webhooks import WebhookStore
from hibernaut.store.identities.erasures import ErasureStore
from hibernaut.store.mcp.mcp_servers import McpServerStore
from hibernaut.store.mcp.oauth import OAuthStore
from hibernaut.store.runs.batches import BatchStore
from hibernaut.store.schedules.schedules import ScheduleStore
from hibernaut.store.stores import Stores, TenantStores
from hibernaut.store.table import blob_keys
from hibernaut.store.table.lists.row_lists import RowList
from hibernaut.store.table.tenant_table import ForeignTenant
from hibernaut.store.templates.imports import ImportStore
from hibernaut.store.templates.templates import TemplateStore
from tests.support.blobs import MemoryBlobs
from tests.support.drawn_arguments import AT, DrawnArguments, Holdings
from tests.support.scripted_model import calls, in_turn, says
from tests.support.tables import PassesOn, all_items
from tests.support.world import TENANT as THEIRS
from tests.support.world import World, data_in

OURS = "ours"
LARGE = "x" * 200_000
NOT_ENDED = {
    ("runs", "journal_of"),
    ("file_windows", "keep"),
    ("events", "remember"),
    ("resting", "take_out_again"),
    ("search_outbox", "rows"),
}
"""They want more of their arguments than types say."""
PARTS = {"table", "codec", "blobs"}
"""What the stores of a tenant make repositories of; the views themselves have tests of their own."""
MADE_AT_USE = {
    "pauses": PauseStore,
    "templates": TemplateStore,
    "imports": ImportStore,
    "batches": BatchStore,
    "webhooks": WebhookStore,
    "schedules": ScheduleStore,
    "mcp_servers": McpServerStore,
    "oauth": OAuthStore,
    "erasures": ErasureStore,
}
"""The repositories that are imported and made at each use."""


class NotedTable(PassesOn):
    """A table that notes each partition that is named to it."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.named: set[str] = set()

    def get(self, key: Key) -> Item | None:
        self.named.add(key.pk)
        return super().get(key)

    def get_many(self, wanted: Sequence[Key]) -> dict[Key, Item]:
        self.named |= {key.pk for key in wanted}
        return super().get_many(wanted)

    def query(self, pk: str, **asked: Any) -> list[Item]:
        self.named.add(pk)
        return super().query(pk, **asked)

    def count(self, pk: str, **asked: Any) -> int:
        self.named.add(pk)
        return super().count(pk, **asked)

    def write(self, *changes: Change) -> None:
        for change in changes:
            attributes = change.item if isinstance(change, Put) else change.set if isinstance(change, Update) else {}
            self.named |= {change.key.pk, str(attributes.get("list_pk", change.key.pk))}
        super().write(*changes)


class NotedBlobs(MemoryBlobs):
    """Blobs that note each key that is named to them."""

    def __init__(self) -> None:
        super().__init__()
        self.named: set[str] = set()

    def put(self, key: str, data: bytes, *, durable: bool = True) -> None:
        self.named.add(key)
        super().put(key, data, durable=durable)

    def get(self, key: str) -> bytes:
        self.named.add(key)
        return super().get(key)

    def delete(self, key: str) -> None:
        self.named.add(key)
        super().delete(key)


@dataclass
class Neighbours:
    """One table with what another tenant has in it, and our stores over it."""

    table: NotedTable
    blobs: NotedBlobs
    stores: TenantStores
    theirs: Holdings

    def call(self, repository: str, name: str, choose: Callable[[Sequence[Any]], Any]) -> None:
        """Call a method with what is theirs, read the list that it answers, and write the changes. Raises: whatever the
        method likes.
        """
        method = getattr(getattr(self.stores, repository), name)
        given, named = DrawnArguments(self.theirs, choose).of(method)
        answer = method(*given, **named)
        rows = answer.walk() if isinstance(answer, RowList) else answer
        answer = list(islice(rows, 5)) if isinstance(rows, Iterator) else rows
        parts = answer if isinstance(answer, list | tuple) else [answer]
        if changes := [each for each in parts if isinstance(each, Put | Update | Delete | Check)]:
            with suppress(Exception):
                self.stores.writer.write(*changes)

    def held(self) -> list[object]:
        """What is theirs, as it stands now."""
        items = [self.table._table.get(Key(str(item["pk"]), str(item["sk"]))) for item in self.theirs.items]
        return [*items, *(self.blobs.kept.get(key) for key in self.theirs.blobs)]

    def check(self) -> None:
        """Nobody named a place that is not ours, but the deployment's limits on requests, from which a deletion removes its
        agent's.
        """
        assert {pk for pk in self.table.named if not pk.startswith(f"{OURS}#")} <= {deployment_keys.rates().pk}
        assert {key for key in self.blobs.named if not key.startswith(blob_keys.blob_prefixes(OURS))} == set()


@pytest.fixture
def neighbours(tmp_path: Path) -> Iterator[Neighbours]:
    """They have an agent with a block and a tool that has talked, an archive, and large records in blobs."""
    data = data_in(tmp_path, in_turn(calls(("knock", {"x": "front"})), says("Hello."), says(LARGE)))
    data.blobs = blobs = NotedBlobs()
    world = World(data, indexed=True)
    agent = world.make_agent(blocks={"human": LARGE}, tools=("knock",))
    for text in ("hello", "and then?"):
        world.send(agent, text)
    archive = Archive(id="archive-00000000-0000-4000-8000-000000000000", name="notes", created_at=AT)
    passage = Passage(id="passage-00000000-0000-4000-8000-000000000000", text=LARGE, archive_id=archive.id, created_at=AT)
    world.stores.writer.write(*world.stores.passages.make(archive), *world.stores.passages.add(archive.id, [passage]))
    items = list(all_items(data.table).values())
    ids = {part for item in items for part in f"{item['pk']}#{item['sk']}".split("#")}
    hostile = [f"{THEIRS}#AGENT#{agent}", f"{THEIRS}#AGENTS", f"../{THEIRS}/x", "#", "", f"x#{THEIRS}#RUN"]
    table = NotedTable(data.table)
    stores = Stores(table, blobs, data.clock, indexed=True, cipher=data.cipher).of(OURS)
    blobs.named.clear()
    yield Neighbours(table, blobs, stores, Holdings(items, sorted(blobs.kept), [*sorted(ids), *hostile]))
    data.table.close()  # type: ignore[attr-defined]


def methods() -> list[tuple[str, str]]:
    """Every public method of every repository."""
    kinds = {name: get_origin(hint) or hint for name, hint in get_type_hints(TenantStores).items() if name not in PARTS}
    made_at_use = {name: each for name, each in vars(TenantStores).items() if isinstance(each, property)}
    assert set(made_at_use) == set(MADE_AT_USE)
    kinds |= MADE_AT_USE
    functions = ((name, inspect.getmembers(kind, inspect.isfunction)) for name, kind in kinds.items())
    return [(name, method) for name, found in functions for method, _ in found if not method.startswith("_")]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.data())
def test_no_method_of_a_store_touches_what_another_tenant_has(neighbours: Neighbours, data: st.DataObject) -> None:
    before = neighbours.held()
    for repository, name in data.draw(st.lists(st.sampled_from(methods()), min_size=10, max_size=20)):
        with suppress(Exception):
            neighbours.call(repository, name, lambda values: data.draw(st.sampled_from(list(values))))
        neighbours.check()
    assert neighbours.held() == before


def test_a_tenant_is_named_to_no_method_of_the_shared_stores_but_of() -> None:
    """Repositories that another method made would be none of those above."""
    public = ((name, method) for name, method in inspect.getmembers(Stores, inspect.isfunction) if not name.startswith("_"))
    assert [name for name, method in public if str in get_type_hints(method).values()] == ["of"]


def test_what_is_drawn_lets_nearly_every_method_come_to_its_end_or_to_the_refusal(neighbours: Neighbours) -> None:
    """Else the property above would say little.

    Two rounds for each word: a method that reads what another one has written (`bytes_of`, `text_of`) then meets the word
    of the first round again. How many words there are depends on the events that the turns wrote.
    """
    pending = set(methods())
    for number in range(2 * len(neighbours.theirs.words)):
        turns = iter(range(number, 1_000_000))
        for repository, name in sorted(pending):
            with suppress(Exception):
                with suppress(ForeignTenant):
                    neighbours.call(repository, name, lambda values, turns=turns: values[next(turns) % len(values)])  # type: ignore[misc]
                pending.discard((repository, name))
            neighbours.check()
    assert pending <= NOT_ENDED
