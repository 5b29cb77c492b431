"""A tenant's view of the table and of the blobs refuses every place of another tenant, before anything is asked of the engine."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hibernaut.ports.storage.table import Check, Delete, Index, Key, Put, Update
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.store.stores import Stores
from hibernaut.store.table import keys
from hibernaut.store.table.tenant_table import ForeignTenant, TenantBlobs, TenantTable
from tests.support.blobs import MemoryBlobs
from tests.support.clocks import ManualClock

THEIRS = Key("ours2#AGENT#agent-1", "AGENT")
OURS = Key("ours#AGENT#agent-1", "AGENT")
PLACES = [THEIRS, keys.blob_collection(), Key("ours", "x"), Key("DUE#00", "x"), Key("", "x")]
CALLS: list[Callable[[TenantTable, Key], object]] = [
    lambda table, key: table.get(key),
    lambda table, key: table.get_many([OURS, key]),
    lambda table, key: table.query(key.pk),
    lambda table, key: table.query(key.pk, index=Index.DUE),
    lambda table, key: table.count(key.pk),
    lambda table, key: table.write(Put({"pk": key.pk, "sk": key.sk})),
    lambda table, key: table.write(Delete(OURS), Update(key, set={"x": 1})),
    lambda table, key: table.write(Delete(key)),
    lambda table, key: table.write(Check(key, ())),
    lambda table, key: table.write(Put({"pk": OURS.pk, "sk": "x", "list_pk": key.pk, "list_sk": "x"})),
    lambda table, key: table.write(Update(OURS, set={"list_pk": key.pk})),
]


class Untouched:
    """An engine of which nothing may be asked."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"{name} was asked of the engine")


@pytest.mark.parametrize("place", PLACES, ids=lambda key: key.pk or "nothing")
@pytest.mark.parametrize("call", CALLS)
def test_a_place_of_somebody_else_is_refused(call: Callable[[TenantTable, Key], object], place: Key) -> None:
    with pytest.raises(ForeignTenant, match="ours"):
        call(TenantTable(Untouched(), "ours"), place)  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["records/theirs/x", "files/ours2/x", "theirs/AGENT/x", "ours", "other/ours/x", ""])
def test_a_blob_of_somebody_else_is_refused(key: str) -> None:
    blobs = TenantBlobs(Untouched(), "ours")  # type: ignore[arg-type]
    for call in (blobs.get, blobs.delete, lambda key: blobs.put(key, b"x")):
        with pytest.raises(ForeignTenant):
            call(key)


def test_an_order_of_somebody_else_is_refused() -> None:
    with pytest.raises(ForeignTenant, match="ours"):
        TenantTable(Untouched(), "ours").write(Update(OURS, set={"due_pk": "ours2#CONVSMESSAGED#agent-1"}))  # type: ignore[arg-type]


def test_an_item_of_ours_may_be_due_for_the_sweep_which_serves_all() -> None:
    written: list[object] = []

    class Noting:
        def write(self, *changes: object) -> None:
            written.extend(changes)

    change = Put({"pk": OURS.pk, "sk": "x", **keys.due("run-1", 1), **keys.listed("ours", "RUNS", "run-1")})
    TenantTable(Noting(), "ours").write(change)  # type: ignore[arg-type]
    assert written == [change]


@pytest.mark.parametrize("name", ["", "a#b", "A", "uploads", "COLLECTION", "DUE"])
def test_stores_are_of_no_name_that_no_tenant_may_have(name: str) -> None:
    with pytest.raises(InvalidArgument, match="cannot name a tenant"):
        Stores(Untouched(), MemoryBlobs(), ManualClock()).of(name)  # type: ignore[arg-type]


def test_what_a_process_keeps_outlives_a_tenants_stores() -> None:
    all_stores = Stores(Untouched(), MemoryBlobs(), ManualClock())  # type: ignore[arg-type]
    window, caches = object(), ("file_windows",)
    for cache in caches:
        getattr(all_stores.of("ours"), cache).keep("file-1", _Sized(window))
    assert [getattr(all_stores.of("ours"), cache).get("file-1").thing for cache in caches] == [window]
    assert [getattr(all_stores.of("theirs"), cache).get("file-1") for cache in caches] == [None]


class _Sized:
    text = "x"

    def __init__(self, thing: object) -> None:
        self.thing = thing
