"""MCP servers in the table: the record, and the unique name.

The records of a tenant are few and lie in one partition, so that one read finds all of them. This module has reads, and changes
that a use case combines into a transaction. It must not know how secrets are encrypted.
"""

from __future__ import annotations

from hibernaut.ports.storage.table import ABSENT, Change, Delete, Item, Op, Put, Term, Update, Value, eq
from hibernaut.schemas.mcp.server import StoredMcpServer
from hibernaut.store.mcp.mcp_server_keys import mcp_server, mcp_server_name
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.lists.row_lists import RowList
from hibernaut.store.table.tenant_table import TenantTable


class McpServerStore:
    """The MCP servers of one tenant. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be
    read.
    """

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def get(self, server_id: str) -> StoredMcpServer | None:
        """The server, or None."""
        item = self._table.get(mcp_server(self._tenant, server_id)) if server_id else None
        return self._read(item) if item else None

    def named(self, name: str) -> StoredMcpServer | None:
        """The server with this name, or None."""
        item = self._table.get(mcp_server_name(self._tenant, name)) if name else None
        return self.get(str(item["server"])) if item else None

    def all(self) -> list[StoredMcpServer]:
        """All servers, oldest first."""
        return [self._read(item) for item in self._listed().all()]

    def count(self) -> int:
        """The number of servers."""
        return self._listed().count()

    def _listed(self) -> RowList:
        return RowList(self._table, mcp_server(self._tenant, "mcp_server").pk, mark="version")

    def _read(self, item: Item) -> StoredMcpServer:
        server = self._codec.record(StoredMcpServer, item)
        server.version = int(item["version"])
        return server

    def create(self, server: StoredMcpServer, token: str) -> list[Change]:
        """The changes that create a server. The condition of the last one is that the name is free."""
        item = self._codec.item(mcp_server(self._tenant, server.id), server, version=server.version, wt=token)
        return [Put(item, ABSENT), self._take_name(server)]

    def change(self, before: StoredMcpServer, after: StoredMcpServer, token: str) -> list[Change]:
        """The changes from `before` to `after`. Conditions: the version is that of `before`, and a new name is free."""
        key = mcp_server(self._tenant, after.id)
        record = after.model_copy(update={"version": before.version + 1})
        attributes: dict[str, Value] = {**self._codec.body(key, record), "version": record.version, "wt": token}
        changes: list[Change] = [Update(key, set=attributes, when=eq(version=before.version), frees=freed(key, before))]
        if after.server_name != before.server_name:
            changes += [self._take_name(after), self._free_name(before)]
        return changes

    def delete(self, server: StoredMcpServer) -> list[Change]:
        """The changes that delete a server with its secrets. Condition: the version is that of `server`."""
        key = mcp_server(self._tenant, server.id)
        return [Delete(key, eq(version=server.version), freed(key, server)), self._free_name(server)]

    def _take_name(self, server: StoredMcpServer) -> Put:
        key = mcp_server_name(self._tenant, server.server_name)
        return Put({"pk": key.pk, "sk": key.sk, "server": server.id}, ABSENT)

    def _free_name(self, server: StoredMcpServer) -> Delete:
        return Delete(mcp_server_name(self._tenant, server.server_name), (Term("server", Op.EQ, server.id),))
