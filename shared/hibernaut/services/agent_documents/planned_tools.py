"""Plans the tools of an import: the record of each tool of the file, and the outcome for an existing tool of the same name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hibernaut.domain.agent_files.parts import tool
from hibernaut.domain.tools.builtin.builtin_tools import builtin_by_id
from hibernaut.domain.tools.mcp.mcp_tools import is_same
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.tools.tool import StoredTool, Tool
from hibernaut.services.agent_documents.imported_packages import ImportedPackages
from hibernaut.services.agent_documents.kept_ids import KeptIds
from hibernaut.services.records import Records
from hibernaut.services.tools.tools import with_hash


class ToolPlanning:
    """Plans the tools of one import. `override`: tools that exist are overwritten by those of the file."""

    def __init__(
        self, records: Records, kept_ids: KeptIds, packages: ImportedPackages, *, now: datetime, user: str | None, override: bool
    ) -> None:
        self._records = records
        self._kept = kept_ids
        self._packages = packages
        self._now = now
        self._user = user
        self._override = override

    def planned(self, raw: Sequence[JsonObject]) -> tuple[list[StoredTool], dict[str, str]]:
        """The custom tools, and the ids of all by those of the file; "" for one that was left out."""
        tools: dict[str, StoredTool] = {}
        ids: dict[str, str] = {}
        locals_of: dict[str, str] = {}
        for entry in raw:
            local = str(entry["id"])
            read = tool(entry, local, self._kept.notes)
            if read is None or builtin_by_id(read.id):
                ids[local] = read.id if read else ""
                continue
            name = str(read.name)
            if name not in tools:
                tools[name], locals_of[name] = self._tool(read, local), local
            ids[local] = tools[name].id
        existing = self._records.tools.by_name(tools) if tools else {}
        return [self._settled(each, existing.get(name), locals_of[name]) for name, each in tools.items()], ids

    def _tool(self, read: Tool, local: str) -> StoredTool:
        fields = {name: getattr(read, name) for name in Tool.model_fields}
        own = {"id": self._kept.of("tool", local), "created_at": self._now, "created_by_id": self._user}
        return with_hash(StoredTool(**{**fields, **own, "last_updated_by_id": self._user}))

    def _settled(self, planned: StoredTool, existing: StoredTool | None, local: str) -> StoredTool:
        """The tool with its packages, and a note about the tool that has its name."""
        keeps_existing = existing is not None and (not self._override or is_same(existing, planned))
        if existing is not None:
            effect = "stays as it is" if keeps_existing else "was overwritten by the one of the file"
            self._kept.notes.add("replaced", "tool_exists", planned.id, f"There was a tool {planned.name} here; it {effect}.")
        return planned if keeps_existing else self._packages.with_packages(planned, existing, local)
