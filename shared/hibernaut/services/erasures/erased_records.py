"""Erases the records that agents of a person used: blocks with their versions, archives, folders with their files. Others that
use a record keep it.

A block that bears this identity only is deleted even if remaining agents use it.
"""

from __future__ import annotations

from hibernaut.ports.storage.table import Change
from hibernaut.schemas.agents.erasure import ErasureLine, StoredErasure
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.services.erasures.erasure_parts import ErasureParts
from hibernaut.services.memory.archives import delete_archive
from hibernaut.services.memory.blocks import leave_agents
from hibernaut.services.records import by_key
from hibernaut.store.table import keys
from hibernaut.store.versions.version_keys import VERSION
from hibernaut.store.versions.version_store import read_chain


class ErasedRecords:
    """The blocks, archives and folders of an erasure."""

    def __init__(self, parts: ErasureParts) -> None:
        self._parts = parts
        self._stores = parts.stores
        self._records = parts.records

    def erase(self, erasure: StoredErasure, line: ErasureLine) -> None:
        """Erase the record of a line, unless others use it; the line is done then. Raises: Conflict, OSError; a repeated call
        continues.
        """
        match line.kind:
            case "agent":
                self._parts.deletion.conversations.go_on(line.id)
                erased = line
            case "block":
                erased = self._block(erasure, line)
            case "archive":
                erased = self._archive(erasure, line)
            case "folder":
                erased = self._folder(erasure, line)
            case _:
                erased = line
        self._parts.put(erasure.id, erased.model_copy(update={"done": True}))

    def _existing(self, agent_ids: list[str]) -> list[str]:
        rows = self._records.agents.rows_of(agent_ids) if agent_ids else {}
        return [each for each in agent_ids if "name" in rows.get(each, {})]

    def _block(self, erasure: StoredErasure, line: ErasureLine) -> ErasureLine:
        blocks, block = self._records.blocks, self._records.blocks.get(line.id)
        agents = self._existing(blocks.agents_of(line.id))
        if block is not None and line.extent != "whole":
            own = erasure.identity_id in block.identity_ids
            if set(block.identity_ids) - {erasure.identity_id} or (agents and not own):
                self._detach(erasure, block)
                return line.model_copy(update={"extent": "kept", "counts": {"agents_that_keep_blocks": len(agents)}})
        if line.extent != "whole":
            line = self._whole_block(line, block)
            self._parts.put(erasure.id, line)
        for agent_id in agents:
            self._parts.begin(erasure.id, ErasureLine(kind="agent", id=agent_id, extent="parts"))
        self._records.until_settled(lambda: self._delete_block(line.id))
        leave_agents(self._records, line.id, by_key(erasure.key_id))
        self._parts.write([self._records.identities.detach_block(erasure.identity_id, line.id)])
        self._parts.stores.erasures.empty(keys.block(self._records.tenant, line.id).pk)
        return line

    def _whole_block(self, line: ErasureLine, block: StoredBlock | None) -> ErasureLine:
        place = self._records.blocks.history(line.id)
        newest = self._stores.versions.newest(place) if block is None else None
        head = read_chain(block.chain) if block else None
        return line.model_copy(
            update={
                "extent": "whole",
                "counts": {"block_versions": self._parts.stores.erasures.count(place.pk, VERSION)},
                "version": (head.number or None) if head else newest.version if newest else None,
                "hash": (head.hash or None) if head else newest.hash if newest else None,
            }
        )

    def _detach(self, erasure: StoredErasure, block: StoredBlock) -> None:
        def attempt() -> None:
            before = self._records.blocks.get(block.id)
            link: list[Change] = [self._records.identities.detach_block(erasure.identity_id, block.id)]
            if before is None or erasure.identity_id not in before.identity_ids:
                self._parts.write(link)
                return
            identity_ids = [one for one in before.identity_ids if one != erasure.identity_id]
            after, token = before.model_copy(update={"identity_ids": identity_ids}), self._records.ids.token()
            self._stores.writer.write(*self._records.blocks.change(before, after, token), *link, token=token)

        self._records.until_settled(attempt)

    def _delete_block(self, block_id: str) -> None:
        block = self._records.blocks.get(block_id)
        if block is not None:
            self._parts.write(self._records.blocks.erase(block))

    def _archive(self, erasure: StoredErasure, line: ErasureLine) -> ErasureLine:
        archives = self._stores.archives
        agents = self._existing(archives.agents_of(line.id))
        if agents and line.extent != "whole":
            return line.model_copy(update={"extent": "kept", "counts": {"agents_that_keep_archives": len(agents)}})
        if line.extent != "whole":
            own, count = keys.archive(self._records.tenant, line.id).pk, self._parts.stores.erasures.count
            passages = {"passages": count(own, "PASSAGE#"), "passage_versions": count(own, VERSION)}
            line = line.model_copy(update={"extent": "whole", "counts": passages})
            self._parts.put(erasure.id, line)
        if archives.get(line.id) is not None or archives.has_remains(line.id):
            delete_archive(self._stores, self._records, line.id)
        return line

    def _folder(self, erasure: StoredErasure, line: ErasureLine) -> ErasureLine:
        folders, folder = self._records.folders, self._records.folders.get(line.id)
        agents = self._existing(folders.agents_of(line.id))
        if agents and line.extent != "whole":
            return line.model_copy(update={"extent": "kept", "counts": {"agents_that_keep_folders": len(agents)}})
        rows = self._records.files.rows(line.id)
        if line.extent != "whole":
            line = line.model_copy(update={"extent": "whole", "counts": {"files": len(rows)}})
            self._parts.put(erasure.id, line)
        for row in rows:
            self._parts.begin(erasure.id, ErasureLine(kind="file", id=row.file_id, extent="whole", done=True))
        self._parts.files.delete_all(line.id)
        if folder is not None:
            self._parts.write(folders.delete(folder))
        self._parts.files.delete_all(line.id)
        self._parts.stores.erasures.empty(keys.folder(self._records.tenant, line.id).pk)
        return line
