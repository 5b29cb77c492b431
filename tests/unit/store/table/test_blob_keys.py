"""The key of a blob names its owner, whatever the key: a wrong owner would lose a body, none would leave it for good."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import get_type_hints

import pytest

from hibernaut import store
from hibernaut.ports.storage.table import Key
from hibernaut.store.access import budget_keys, deployment_keys, tool_policy_keys
from hibernaut.store.agents import agent_mark_keys
from hibernaut.store.conversations import resting_keys
from hibernaut.store.identities import identity_keys
from hibernaut.store.table import blob_keys, keys
from hibernaut.store.versions.version_keys import VersionPlace

VALUES: dict[object, object] = {
    str: "x-1",
    str | None: "x-1",
    int: 7,
    bool: True,
    tuple[str, ...]: ("a", "b"),
    datetime: datetime(2026, 1, 1, tzinfo=UTC),
    Key: keys.conversation_row("default", "agent-1", "conv-1"),
}
"""An argument of each type that key functions take."""
BODILESS = {
    agent_mark_keys.agent_mark,
    budget_keys.call,
    budget_keys.used,
    identity_keys.identity_block,
    identity_keys.identity_key,
    keys.blob_collection,
    keys.block_agent,
    resting_keys.tenant_round,
    tool_policy_keys.counted_call,
}
"""The functions whose keys have another form: more parts, or no tenant. Their items must not have a body."""


def key_modules() -> list[ModuleType]:
    names = [found.name for found in pkgutil.walk_packages(store.__path__, "hibernaut.store.") if not found.ispkg]
    return [importlib.import_module(name) for name in names if name.endswith("keys") and not name.endswith("api_keys")]


def functions() -> dict[str, Callable[..., object]]:
    """Every function of a key module that returns the key of an item of a tenant, or the place of a record's versions."""
    return {
        f"{module.__name__.rpartition('.')[2]}.{name}": one
        for module in key_modules()
        if module is not deployment_keys
        for name, one in inspect.getmembers(module, inspect.isfunction)
        if one.__module__ == module.__name__ and get_type_hints(one)["return"] in (Key, VersionPlace)
    }


def key_of(make: Callable[..., object]) -> Key:
    hints = get_type_hints(make)
    given = {name: VALUES[hints[name]] for name in inspect.signature(make).parameters}
    if "tenant" in given:
        given["tenant"] = "default"
    if "pk" in given:
        given["pk"] = keys.head("default", "conv-1").pk
    made = make(**given)
    return made.key(3) if isinstance(made, VersionPlace) else made  # type: ignore[return-value]


def test_the_functions_of_every_module_of_keys_are_found() -> None:
    assert {"keys.tool", "tool_policy_keys.policies", "mcp_server_keys.mcp_server", "version_keys.of_block"} <= set(functions())
    assert set(functions().values()) >= BODILESS


@pytest.mark.parametrize("name", sorted(functions()))
def test_the_blob_of_a_body_names_its_owner(name: str) -> None:
    make = functions()[name]
    key = key_of(make)
    owner = blob_keys.blob_owner(blob_keys.body_blob(key, "n"))
    if make in BODILESS:
        assert owner != key
        return
    assert owner == key
    assert blob_keys.blob_owner(blob_keys.body_blob(key, "n", ephemeral=True)) == key
    assert blob_keys.blob_owner(f"{key.pk}/{key.sk}/n".replace("#", "/")) == key  # a name of the first versions


def test_no_other_module_makes_a_partition() -> None:
    """A partition made elsewhere would miss the test above."""
    found = {
        path.stem
        for path in sorted(Path(next(iter(store.__path__))).rglob("*.py"))
        if not path.stem.endswith("keys")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Key" and node.args
        if any(isinstance(part, ast.JoinedStr) for part in ast.walk(node.args[0]))
    }
    assert found == {"packs"}  # which reads the partition of a pack
