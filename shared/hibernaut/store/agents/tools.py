"""Tools in the table: custom tools with their names and links, and the overridden fields of built-in tools.

A built-in tool comes from the code; a record under its id overrides the few fields in `OVERRIDABLE`. This module has reads, and
changes that a use case combines into a transaction.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from hibernaut.domain.tools.builtin.builtin_tools import builtin_by_id, builtin_tools
from hibernaut.ports.storage.table import ABSENT, PRESENT, Change, Check, Condition, Delete, Item, Op, Put, Term, Value, eq
from hibernaut.schemas.base import wire_time
from hibernaut.schemas.tools.tool import MAX_NAME, StoredTool, Tool
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.lists.row_lists import RowList
from hibernaut.store.table.lost_records import readable
from hibernaut.store.table.tenant_table import TenantTable

OVERRIDABLE = ("tags", "return_char_limit", "default_requires_approval", "enable_parallel_execution", "metadata_", "project_id")
"""The fields of a built-in tool that the API may change."""


class ToolStore:
    """Custom tools, and the overridden fields of built-in tools. Reads raise StoreUnavailable (`store.table.retries`), and
    OSError if a blob cannot be read.
    """

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def get(self, tool_id: str) -> StoredTool | None:
        """The tool, or None."""
        return self.get_many([tool_id]).get(tool_id)

    def get_many(self, tool_ids: Sequence[str]) -> dict[str, StoredTool]:
        """The tools that exist among `tool_ids`, by id; built-in tools with their overridden fields."""
        found = self._table.get_many([keys.tool(self._tenant, tool_id) for tool_id in tool_ids])
        return self.among(tool_ids, list(found.values()))

    def among(self, tool_ids: Sequence[str], items: Sequence[Item]) -> dict[str, StoredTool]:
        """The tools that exist among `tool_ids`, by id. `items`: the items of their records, read earlier."""
        read_tools = [*readable(self._read, items)]
        records = {tool.id: tool for tool in read_tools}
        tools: dict[str, StoredTool] = {}
        for tool_id in tool_ids:
            if builtin := builtin_by_id(tool_id):
                tools[tool_id] = _overridden(builtin, records.get(tool_id))
            elif tool_id in records:
                tools[tool_id] = records[tool_id]
        return tools

    def _read(self, item: Item) -> StoredTool:
        tool = self._codec.record(StoredTool, item)
        tool.version = int(item["version"])
        return tool

    def by_name(self, names: Iterable[str]) -> dict[str, StoredTool]:
        """The tools with these names, by name. A name without a tool is left out."""
        valid_names = [name for name in dict.fromkeys(names) if 0 < len(name) <= MAX_NAME]
        builtin = builtin_tools()
        name_items = self._table.get_many([keys.tool_name(self._tenant, name) for name in valid_names if name not in builtin])
        ids = {name: builtin[name].id for name in valid_names if name in builtin}
        ids |= {key.sk: str(item["tool"]) for key, item in name_items.items()}
        found = self.get_many(list(ids.values()))
        return {name: found[ids[name]] for name in valid_names if name in ids and ids[name] in found}

    def create(self, tool: StoredTool, token: str) -> list[Change]:
        """The changes that create a custom tool. Conditions: the id and the name are free."""
        key = keys.tool(self._tenant, tool.id)
        return [
            Put(self._codec.item(key, tool, version=tool.version, wt=token), ABSENT),
            self._put_row(tool),
            self._take_name(tool),
        ]

    def change(self, before: StoredTool, after: StoredTool, token: str) -> list[Change]:
        """The changes from `before` to `after`. Conditions: the version is that of `before`, and a new name is free."""
        key = keys.tool(self._tenant, after.id)
        record = after.model_copy(update={"version": before.version + 1})
        condition: Condition = ABSENT if before.version == 0 else eq(version=before.version)
        changes: list[Change] = [
            Put(self._codec.item(key, record, version=record.version, wt=token), condition, freed(key, before))
        ]
        if builtin_by_id(after.id):
            return changes
        changes.append(self._put_row(record))
        if after.name != before.name:
            changes += [self._take_name(after), Delete(keys.tool_name(self._tenant, before.name or ""))]
        return changes

    def delete(self, tool: StoredTool) -> list[Change]:
        """The changes that delete a custom tool. Conditions: the version and the owner of the name are those of `tool`. Its links
        remain.
        """
        key = keys.tool(self._tenant, tool.id)
        return [
            Delete(key, eq(version=tool.version), freed(key, tool)),
            Delete(keys.tool_row(self._tenant, tool.id)),
            Delete(keys.tool_name(self._tenant, tool.name or ""), (Term("tool", Op.EQ, tool.id),)),
        ]

    def must_exist(self, tool_id: str) -> list[Check]:
        """The condition that a custom tool exists, for a transaction that attaches it; none for a built-in tool."""
        return [] if builtin_by_id(tool_id) else [Check(keys.tool(self._tenant, tool_id), PRESENT)]

    def attach(self, tool_id: str, agent_id: str) -> list[Change]:
        """The change that creates the link, by which a deletion of the tool finds its agents. A built-in tool needs no link."""
        if builtin_by_id(tool_id):
            return []
        key = keys.tool_agent(self._tenant, tool_id, agent_id)
        return [Put({"pk": key.pk, "sk": key.sk})]

    def detach(self, tool_id: str, agent_id: str) -> list[Change]:
        """The change that deletes the link, if the tool has one."""
        return [] if builtin_by_id(tool_id) else [Delete(keys.tool_agent(self._tenant, tool_id, agent_id))]

    def agents_of(self, tool_id: str) -> list[str]:
        """The ids of the agents that a custom tool is attached to."""
        links = self._table.query(keys.tool(self._tenant, tool_id).pk, prefix="AGENT#")
        return [keys.last_part(str(link["sk"])) for link in links]

    def listed(self) -> RowList:
        """The list rows of all tools. Built-in tools come first, because their ids are the oldest."""
        return RowList(self._table, keys.tool_row(self._tenant, "tool").pk, mark="name", extra_rows=_builtin_rows())

    def rows_of(self, tool_ids: Sequence[str], names: Sequence[str] = ()) -> list[Item]:
        """The list rows of the tools with one of these ids or names. A tool that matches both appears once."""
        distinct_names = dict.fromkeys(names)
        builtin = [row for row in _builtin_rows() if str(row["sk"]) in tool_ids or row["name"] in distinct_names]
        name_items = self._table.get_many(
            [keys.tool_name(self._tenant, name) for name in distinct_names if 0 < len(name) <= MAX_NAME]
        )
        ids = dict.fromkeys([*tool_ids, *(str(item["tool"]) for item in name_items.values())])
        return [*builtin, *self._table.get_many([keys.tool_row(self._tenant, tool_id) for tool_id in ids]).values()]

    def _put_row(self, tool: StoredTool) -> Put:
        key = keys.tool_row(self._tenant, tool.id)
        return Put({"pk": key.pk, "sk": key.sk, **_listed(tool)})

    def _take_name(self, tool: StoredTool) -> Change:
        key = keys.tool_name(self._tenant, tool.name or "")
        return Put({"pk": key.pk, "sk": key.sk, "tool": tool.id}, ABSENT)


def _overridden(tool: Tool, record: StoredTool | None) -> StoredTool:
    """A built-in tool with its overridden fields. Its version is 0 until a field is overridden."""
    original = _original(tool.id)
    if record is None:
        return original.model_copy()
    overrides = {name: getattr(record, name) for name in OVERRIDABLE}
    overridden = original.model_copy(update={**overrides, "version": record.version})
    overridden.read_from(record.blob)
    return overridden


@functools.cache
def _original(tool_id: str) -> StoredTool:
    """A built-in tool without overridden fields, which is copied for each step: a copy takes a tenth of the time. Raises:
    KeyError.
    """
    if (tool := builtin_by_id(tool_id)) is None:
        raise KeyError(tool_id)
    return StoredTool.model_construct(**{name: getattr(tool, name) for name in Tool.model_fields}, version=0)


@functools.cache
def _builtin_rows() -> tuple[Item, ...]:
    """The list rows of the built-in tools in the order of their ids."""
    rows = [_listed(_overridden(tool, None)) | {"sk": tool.id} for tool in builtin_tools().values()]
    return tuple(sorted(rows, key=lambda row: str(row["sk"])))


def _listed(tool: StoredTool) -> dict[str, Value]:
    """The attributes that lists filter and order by. Built-in tools have an earlier creation time than all others."""
    return {
        "name": tool.name or "",
        "tool_type": tool.tool_type.value,
        "description": tool.description or "",
        "tags": json.dumps(tool.tags),
        "created_at": _time(tool.created_at),
    }


def _time(moment: datetime | None) -> str:
    return wire_time(moment) if moment else ""
