"""Plans the tools of an import: what is made of each tool of the file, and what becomes of a tool of its name that exists."""

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
        self, records: Records, kept: KeptIds, packages: ImportedPackages, *, now: datetime, user: str | None, override: bool
    ) -> None:
        self._records = records
        self._kept = kept
        self._packages = packages
        self._now = now
        self._user = user
        self._override = override

    def planned(self, raw: Sequence[JsonObject]) -> tuple[list[StoredTool], dict[str, str]]:
        """The custom tools, and the ids of all by those of the file; "" for one that was left out."""
        made: dict[str, StoredTool] = {}
        ids: dict[str, str] = {}
        locals_of: dict[str, str] = {}
        for entry in raw:
            local = str(entry["id"])
            read = tool(entry, local, self._kept.notes)
            if read is None or builtin_by_id(read.id):
                ids[local] = read.id if read else ""
                continue
            name = str(read.name)
            if name not in made:
                made[name], locals_of[name] = self._tool(read, local), local
            ids[local] = made[name].id
        there = self._records.tools.by_name(made) if made else {}
        return [self._settled(each, there.get(name), locals_of[name]) for name, each in made.items()], ids

    def _tool(self, read: Tool, local: str) -> StoredTool:
        fields = {name: getattr(read, name) for name in Tool.model_fields}
        own = {"id": self._kept.of("tool", local), "created_at": self._now, "created_by_id": self._user}
        return with_hash(StoredTool(**{**fields, **own, "last_updated_by_id": self._user}))

    def _settled(self, planned: StoredTool, there: StoredTool | None, local: str) -> StoredTool:
        """The tool with its packages, and a note about the tool that has its name."""
        stays = there is not None and (not self._override or is_same(there, planned))
        if there is not None:
            done = "stays as it is" if stays else "was overwritten by the one of the file"
            self._kept.notes.add("replaced", "tool_exists", planned.id, f"There was a tool {planned.name} here; it {done}.")
        return planned if stays else self._packages.given(planned, there, local)
