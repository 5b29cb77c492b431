"""Finds the packages of tools, among the blobs, that no tool uses any more. No item names them: any number of tools may have one
set.

A set is deleted when no tool of its tenant uses it and its record was not written for `RETENTION`; the builder writes the record
again when it hands out the set. The answer to a request is deleted after a day.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from hibernaut.ports.storage.blobs import BlobEntry, Blobs
from hibernaut.ports.storage.table import Table
from hibernaut.schemas.tools.tool import StoredTool
from hibernaut.store.table import blob_keys, keys
from hibernaut.store.table.bodies.codec import Codec

RETENTION = timedelta(days=30)
"""The time for which a set that no tool uses is retained: far longer than a tool takes to be saved with it."""
ANSWERED = timedelta(days=1)
AT_ONCE = 100
"""Tools that are read at a time."""


class PackageBlobs:
    """The sets of all tenants."""

    def __init__(self, table: Table, blobs: Blobs, codec: Codec) -> None:
        self._table = table
        self._blobs = blobs
        self._codec = codec

    def free(self, page: Sequence[BlobEntry], now: datetime) -> list[str]:
        """The blobs of a page that are no longer needed: of a set its record comes before its zip file. Raises: OSError,
        StoreUnavailable.
        """
        entries = [entry for entry in page if entry.key.startswith(blob_keys.PACKAGES)]
        used_digests: dict[str, set[str]] = {}
        found: list[str] = []
        for entry in entries:
            tenant, name = blob_keys.of_package_blob(entry.key)
            digest, _, kind = name.partition(".")
            if kind == "json" and entry.at < now - RETENTION:
                if tenant not in used_digests:
                    used_digests[tenant] = self._used(tenant)
                if digest not in used_digests[tenant]:
                    found += [entry.key, blob_keys.package_blob(tenant, f"{digest}.zip")]
            elif (kind == "zip" and entry.at < now - RETENTION and not self._recorded(tenant, digest)) or (
                not kind and entry.at < now - ANSWERED
            ):
                found.append(entry.key)
        return list(dict.fromkeys(found))

    def _recorded(self, tenant: str, digest: str) -> bool:
        try:
            self._blobs.get(blob_keys.package_blob(tenant, f"{digest}.json"))
        except KeyError:
            return False
        return True

    def _used(self, tenant: str) -> set[str]:
        rows = self._table.query(keys.tool_row(tenant, "tool").pk)
        ids = [str(row["sk"]) for row in rows]
        return {digest for start in range(0, len(ids), AT_ONCE) for digest in self._digests(tenant, ids[start : start + AT_ONCE])}

    def _digests(self, tenant: str, ids: Sequence[str]) -> Iterator[str]:
        for item in self._table.get_many([keys.tool(tenant, tool_id) for tool_id in ids]).values():
            try:
                tool = self._codec.record(StoredTool, item)
            except KeyError:  # deleted meanwhile
                continue
            if tool.packages is not None:
                yield tool.packages.digest
