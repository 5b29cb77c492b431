"""A tenant's name never means another place: it is checked wherever a key is made of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.ports.storage.table import Key
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.store.table import blob_keys, keys
from hibernaut.store.table.tenants import LONGEST, RESERVED, is_tenant

WRONG = ["a#b", "", "A", "uploads", "records", "a/b", "-a", "a-", "a b", "é", "a\n", "a" * (LONGEST + 1), "..", "DUE"]
GIVEN = {str: "x", int: 1, bool: False}


def of_tenants() -> list[Callable[..., object]]:
    """Every function of the two modules that makes a key from a tenant."""
    modules = (keys, blob_keys)
    made = [
        one
        for module in modules
        for _, one in inspect.getmembers(module, inspect.isfunction)
        if one.__module__ == module.__name__
    ]
    return [one for one in made if "tenant" in inspect.signature(one).parameters]


def called(make: Callable[..., object], tenant: str) -> object:
    hints = get_type_hints(make)
    return make(**{name: tenant if name == "tenant" else GIVEN[hints[name]] for name in inspect.signature(make).parameters})


@pytest.mark.parametrize("tenant", WRONG)
def test_no_key_is_made_from_a_name_that_no_tenant_may_have(tenant: str) -> None:
    for make in of_tenants():
        with pytest.raises(InvalidArgument, match="cannot name a tenant"):
            called(make, tenant)


@pytest.mark.parametrize("tenant", ["default", "a", "0", "a-b", "org-4f2a", "a" * LONGEST])
def test_every_key_tells_the_tenant_that_it_was_made_from(tenant: str) -> None:
    made = [called(make, tenant) for make in of_tenants()]
    assert {keys.tenant_of(one.pk) for one in made if isinstance(one, Key)} == {tenant}
    blobs = [one for one in made if isinstance(one, str) and "/" in one]
    packages = [one for one in blobs if one.startswith(blob_keys.PACKAGES)]  # which no item owns
    assert [blob_keys.of_package_blob(one)[0] for one in packages] == [tenant]
    owners = [blob_keys.blob_owner(one) for one in blobs if one not in packages]
    assert [keys.tenant_of(owner.pk) for owner in owners if owner] == [tenant] * len(owners) != []


def test_what_the_keys_of_blobs_begin_with_is_reserved() -> None:
    prefixes = (blob_keys.RECORDS, blob_keys.EPHEMERAL, blob_keys.FILES, blob_keys.TEXTS, blob_keys.UPLOADS)
    assert {prefix.rstrip("/") for prefix in prefixes} == RESERVED


@given(st.text(st.characters(codec="utf-8"), max_size=50))
def test_a_blob_whose_key_is_somebodys_has_no_owner_of_another_tenant(name: str) -> None:
    owner = blob_keys.blob_owner(f"{blob_keys.RECORDS}{name}/TOOL/tool-1/TOOL/x")
    assert owner is None or is_tenant(keys.tenant_of(owner.pk))
