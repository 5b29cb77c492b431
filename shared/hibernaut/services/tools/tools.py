"""Tools: create custom tools from source, find, update and delete them. Of built-in tools only a few fields can be changed.

Parses the source of a tool, never executes it; `adhoc_tool_runs` does. Sources: Letta V1 API, API 2.9; RT 10.2.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from hibernaut.domain.tools import time_limits
from hibernaut.domain.tools.builtin.builtin_tools import builtin_by_id, builtin_tools
from hibernaut.domain.tools.sources import tool_sources
from hibernaut.domain.wire.listing import Page, page
from hibernaut.ports.storage.table import Item
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import InvalidArgument, InvalidToolSource, NameTaken, Unprocessable
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.tools.tool import MAX_NAME, NAME, NpmRequirement, StoredTool, ToolCreate, ToolType, ToolUpdate
from hibernaut.services.memory.blocks import contains
from hibernaut.services.records import Records, by_key, without
from hibernaut.services.tool_calls.custom_tools import unrunnable
from hibernaut.services.tools.adhoc_tool_runs import AdhocToolRuns
from hibernaut.services.tools.tool_packages import ToolPackages
from hibernaut.store.agents.tools import OVERRIDABLE

_OF_CODE = (
    "source_code",
    "source_type",
    "json_schema",
    "args_json_schema",
    "pip_requirements",
    "npm_requirements",
    "description",
)
"""The fields of a built-in tool that cannot be changed."""


@immutable
class ToolFilter:
    """The filter of a list of tools (Letta V1 API, API 2.9)."""

    name: str | None = None
    names: Sequence[str] = ()
    tool_ids: Sequence[str] = ()
    search: str | None = None
    tool_types: Sequence[str] = ()
    exclude_tool_types: Sequence[str] = ()
    return_only_letta_tools: bool = False

    def check(self) -> None:
        """Raises: InvalidArgument for an unknown tool type."""
        valid = [kind.value for kind in ToolType]
        for kind in (*self.tool_types, *self.exclude_tool_types):
            if kind not in valid:
                raise InvalidArgument(f"Invalid tool type '{kind}'. Must be one of: {', '.join(valid)}")

    @property
    def selects(self) -> bool:
        """Whether the filter has a criterion."""
        lists = (self.names, self.tool_ids, self.tool_types, self.exclude_tool_types)
        return self.name is not None or bool(self.search) or self.return_only_letta_tools or any(lists)

    def admits(self, row: Item) -> bool:
        """Whether a list row passes the filter."""
        kind, name = str(row["tool_type"]), str(row["name"])
        if (self.name is not None and name != self.name) or (self.names and name not in self.names):
            return False
        if self.tool_ids and str(row["sk"]) not in self.tool_ids:
            return False
        if (self.tool_types and kind not in self.tool_types) or kind in self.exclude_tool_types:
            return False
        return contains(name, self.search) and (not self.return_only_letta_tools or kind.startswith("letta_"))


class Tools:
    """The use cases of tools. `runs` executes them, `packages` installs what they require."""

    def __init__(self, records: Records, *, runs: AdhocToolRuns, packages: ToolPackages) -> None:
        self._records = records
        self._packages = packages
        self.runs = runs

    def retrieve(self, tool_id: str) -> StoredTool:
        """The tool. Raises: NotFound."""
        return self._records.tool(tool_id)

    def list(self, filters: ToolFilter, page_query: Page) -> Sequence[StoredTool]:
        """A page of the tools that pass the filter, by creation time; built-in tools are the oldest.

        Raises: InvalidArgument, NotFound for a cursor.
        """
        filters.check()

        def select(rows: Sequence[Item]) -> Sequence[Item]:
            return [row for row in rows if filters.admits(row)]

        rows_by_name = self._named_rows(filters)
        if rows_by_name is None:
            rows = self._records.tools.listed().page(page_query, select)
        else:
            rows = page(select(rows_by_name), page_query, id_of=_id, place=_id)
        ids = [_id(row) for row in rows]
        tools = self._records.tools.get_many(ids)
        return [tools[tool_id] for tool_id in ids if tool_id in tools]

    def count(self, filters: ToolFilter) -> int:
        """The number of tools that pass the filter. Without criteria the engine counts, and no row is read.

        Raises: InvalidArgument.
        """
        filters.check()
        if not filters.selects:
            return self._records.tools.listed().count()
        rows_by_name = self._named_rows(filters)
        return sum(filters.admits(row) for row in (self._records.tools.listed().all() if rows_by_name is None else rows_by_name))

    def _named_rows(self, filters: ToolFilter) -> Sequence[Item] | None:
        """The list rows that the filter names by id or by name; None where it names none."""
        if filters.tool_ids:
            return self._records.tools.rows_of(filters.tool_ids)
        names = [filters.name] if filters.name is not None else filters.names
        return self._records.tools.rows_of((), names) if names else None

    def known(self, tool_ids: Sequence[str]) -> Mapping[str, StoredTool]:
        """Those of the tools that exist, by id."""
        return self._records.tools.get_many(tool_ids)

    def builtin(self) -> Sequence[StoredTool]:
        """All built-in tools. They always exist; nothing is written to create them."""
        return list(self._records.tools.by_name(builtin_tools()).values())

    def save(self, request: ToolCreate, *, user: str | None = None) -> StoredTool:
        """Create the tool, or change the one that has its name.

        Raises: InvalidArgument (also as InvalidToolSource, NameTaken or PackagesRefused), Unprocessable, Unavailable (packages),
        Conflict.
        """
        self._refuse_unrunnable(request.source_type, request.npm_requirements)
        time_limits.check(request.metadata_)
        schema = schema_of(request)
        name = str(schema["name"])
        if name in builtin_tools():
            raise NameTaken(f"INVALID_ARGUMENT: '{name}' is the name of a built-in tool.")

        def same_name() -> StoredTool | None:
            return self._records.tools.by_name([name]).get(name)

        packages = self._packages.of(request.pip_requirements, request.source_type, same_name)

        def attempt() -> StoredTool:
            before = same_name()
            tool = self._saved(request, schema, before, user).model_copy(update={"packages": packages})
            token = self._records.ids.token()
            stores = self._records.tools
            changes = stores.create(tool, token) if before is None else stores.change(before, tool, token)
            self._records.writer.write(*changes, token=token)
            return tool

        return self._records.until_settled(attempt)

    def _refuse_unrunnable(self, source_type: str | None, packages: Sequence[NpmRequirement] | None) -> None:
        """Raises: InvalidArgument for a tool that this server could never run."""
        reason = unrunnable(packages) or self.runs.refusal(source_type)
        if reason is not None:
            raise InvalidArgument(f"INVALID_ARGUMENT: {reason}.")

    def _saved(self, request: ToolCreate, schema: JsonObject, before: StoredTool | None, user: str | None) -> StoredTool:
        now = self._records.clock.now()
        previous = {name: getattr(before, name) for name in ("id", "created_at", "created_by_id")} if before else {}
        defaults = {"id": self._records.ids.new("tool"), "created_at": now, "created_by_id": user}
        tool = StoredTool(
            **{**defaults, **previous},
            tool_type=ToolType.CUSTOM,
            name=str(schema["name"]),
            description=request.description or schema.get("description"),
            # V1 stores "json" where the caller names no type, and runs the source as Python all the same (API 2.9).
            source_type=request.source_type or "json",
            source_code=request.source_code,
            json_schema=schema,
            args_json_schema=request.args_json_schema,
            tags=request.tags or (before.tags if before else []),
            return_char_limit=request.return_char_limit,
            pip_requirements=request.pip_requirements,
            npm_requirements=request.npm_requirements,
            default_requires_approval=request.default_requires_approval,
            enable_parallel_execution=bool(request.enable_parallel_execution),
            metadata_=request.metadata_ if request.metadata_ is not None else (before.metadata_ if before else {}),
            last_updated_by_id=user,
        )
        return with_hash(tool)

    def update(self, tool_id: str, request: ToolUpdate, *, user: str | None = None) -> StoredTool:
        """Apply the fields that are not null. Raises: NotFound, InvalidArgument, NameTaken, PackagesRefused, Unavailable
        (packages), Conflict.
        """
        changes = {name: value for name in request.model_fields_set if (value := getattr(request, name)) is not None}
        builtin = builtin_by_id(tool_id)
        if builtin is not None:
            code_fields = [name for name in _OF_CODE if name in changes and changes[name] != getattr(builtin, name)]
            if code_fields:
                raise InvalidArgument(
                    f"INVALID_ARGUMENT: {builtin.name} is a built-in tool: {', '.join(code_fields)} cannot be changed."
                )
            changes = {name: value for name, value in changes.items() if name in OVERRIDABLE}
        if request.json_schema is not None and request.args_json_schema is not None:
            raise InvalidArgument("INVALID_ARGUMENT: Give json_schema or args_json_schema, not both.")

        time_limits.check(changes.get("metadata_"))
        if "source_type" in changes or "npm_requirements" in changes:
            self._refuse_unrunnable(request.source_type, request.npm_requirements)
        if "pip_requirements" in changes and builtin is None:
            current = self._records.tool(tool_id)
            kind = request.source_type or current.source_type
            changes["packages"] = self._packages.of(request.pip_requirements, kind, lambda: current)

        def attempt() -> StoredTool:
            before = self._records.tool(tool_id)
            after = _updated(before, changes, user)
            if after.name != before.name:
                self._refuse_taken(after.name or "")
            token = self._records.ids.token()
            self._records.writer.write(*self._records.tools.change(before, after, token), token=token)
            return after

        return self._records.until_settled(attempt)

    def _refuse_taken(self, name: str) -> None:
        if self._records.tools.by_name([name]):
            raise NameTaken(f"INVALID_ARGUMENT: Tool name {name} already exists")

    def delete(self, tool_id: str, *, key_id: str | None = None) -> None:
        """Delete the tool first, so that it cannot be attached any more, then detach it from its agents. `key_id`: the caller's
        API key.

        Raises: NotFound, InvalidArgument (a built-in tool), Conflict.
        """
        if builtin := builtin_by_id(tool_id):
            raise InvalidArgument(f"INVALID_ARGUMENT: {builtin.name} is a built-in tool and cannot be deleted.")

        def attempt() -> None:
            tool = self._records.tool(tool_id)
            self._records.writer.write(*self._records.tools.delete(tool))

        self._records.until_settled(attempt)
        tools, agent_ids = self._records.tools, self._records.tools.agents_of(tool_id)
        remove = without("tool_ids", tool_id)
        self._records.change_agents(agent_ids, remove, lambda agent_id: tools.detach(tool_id, agent_id), by_key(key_id))


def _id(row: Item) -> str:
    return str(row["sk"])


def schema_of(request: ToolCreate) -> JsonObject:
    """The schema of a tool: the given one, else built from `args_json_schema`, else derived from the source.

    Raises: InvalidToolSource (with the place), InvalidArgument, Unprocessable (TypeScript from which no schema can be derived).
    """
    return checked_schema(_schema_of(request))


def _schema_of(request: ToolCreate) -> JsonObject:
    source, kind = request.source_code, request.source_type
    if request.json_schema is not None:
        schema = checked_schema(request.json_schema)
        tool_sources.check(source, kind, str(schema["name"]))
        return schema
    if request.args_json_schema is not None:
        return tool_sources.schema_from_args(source, kind, request.args_json_schema)
    if kind != tool_sources.TYPESCRIPT:
        return tool_sources.derive_schema(source, kind)
    tool_sources.function_name(source, kind)
    try:
        return tool_sources.derive_schema(source, kind)
    except InvalidToolSource as error:  # V1 answers 422 to every tool in TypeScript without a json_schema
        raise Unprocessable(
            f"The schema cannot be read from the source, so give a json_schema with the tool. {error.detail}"
        ) from error


def checked_schema(schema: JsonObject) -> JsonObject:
    """The schema itself. Raises: InvalidArgument if it has no name, or one that is too long or that some providers refuse, with
    every request of the tool's agents.
    """
    name = schema.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidArgument("INVALID_ARGUMENT: json_schema must have the tool's name under `name`.")
    if len(name) > MAX_NAME:
        raise InvalidArgument(f"INVALID_ARGUMENT: A tool's name has at most {MAX_NAME} characters: {name}")
    if not NAME.fullmatch(name):
        raise InvalidArgument(
            f"INVALID_ARGUMENT: A tool's name has letters a-z, digits, _ and - alone, because not all models take others: {name}"
        )
    return schema


def with_hash(tool: StoredTool) -> StoredTool:
    """The tool with a hash of its source, schema and requirements in its metadata (RT 10.1)."""
    facts = tool.model_dump(mode="json", include={"source_code", "json_schema", "pip_requirements", "npm_requirements"})
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    return tool.model_copy(update={"metadata_": {**(tool.metadata_ or {}), "tool_hash": digest}})


def _updated(before: StoredTool, changes: JsonObject, user: str | None) -> StoredTool:
    after = before.model_copy(update={**changes, "last_updated_by_id": user or before.last_updated_by_id})
    if builtin_by_id(before.id):
        return after
    if "args_json_schema" in changes:
        after.json_schema = tool_sources.schema_from_args(after.source_code or "", after.source_type, changes["args_json_schema"])
    if "json_schema" in changes or "args_json_schema" in changes:
        after.name = str(checked_schema(after.json_schema or {})["name"])
    if "source_code" in changes:
        _refuse_other_name(after)
    return with_hash(after)


def _refuse_other_name(tool: StoredTool) -> None:
    """Refuse a source whose function name differs from the schema's: the call would not find it. Raises: InvalidArgument."""
    source, kind = tool.source_code or "", tool.source_type
    if kind == tool_sources.TYPESCRIPT:
        tool_sources.check(source, kind, tool.name or "")
        return
    found = tool_sources.function_name(source, kind)
    if found != tool.name:
        raise InvalidArgument(
            f"INVALID_ARGUMENT: Tool name '{found}' does not match the name of its json_schema '{tool.name}': change both together."
        )
