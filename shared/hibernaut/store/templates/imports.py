"""Imports of agent files that are not complete: an item in the index DUE, and a blob with all that is to be written.

A worker takes an import by raising its attempt. Each of its transactions has the condition that the attempt is still its own, so
that an earlier worker writes nothing more, and `rows` counts the messages that are written.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from hibernaut.ports.storage.table import ABSENT, Change, Check, Delete, Put, Update, Value, eq
from hibernaut.schemas.agents.staged_import import AgentSkills
from hibernaut.schemas.immutable import immutable
from hibernaut.store.table import blob_keys, keys
from hibernaut.store.table.bodies.codec import Codec, expired
from hibernaut.store.table.tenant_table import TenantBlobs, TenantTable
from hibernaut.store.templates import import_keys

MARK_LIFE = timedelta(minutes=15)
"""How long a repeated request finds the import of the first one."""


@immutable
class ImportState:
    """An import under way. `attempt`: the newest worker's; `rows`: the number of messages written; `blob`: the key of its
    data.
    """

    id: str
    attempt: int
    rows: int
    blob: str


@immutable
class ImportMark:
    """The import of a request, by the digest of its body, so that a repeated request finds it."""

    digest: str
    import_id: str
    agent_ids: tuple[str, ...]


class ImportStore:
    """The imports of one tenant, and the skills of its agents. Reads raise StoreUnavailable (`store.table.retries`) and
    OSError.
    """

    def __init__(self, table: TenantTable, codec: Codec, blobs: TenantBlobs) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec
        self._blobs = blobs

    def create(self, import_id: str, data: bytes, due_ms: int, token: str) -> tuple[ImportState, Put]:
        """Store the data; returns the import and the change that makes it known. From `due_ms` on, the sweep continues it.
        Raises: OSError.
        """
        key = import_keys.import_of(self._tenant, import_id)
        blob = blob_keys.body_blob(key, secrets.token_hex(16))
        self._blobs.put(blob, data)
        item: dict[str, Value] = {"pk": key.pk, "sk": key.sk, "body": "", "blob": blob, "attempt": 1, "rows": 0, "wt": token}
        return ImportState(import_id, 1, 0, blob), Put({**item, **keys.due(import_id, due_ms)}, ABSENT)

    def get(self, import_id: str) -> ImportState | None:
        """The import; None if it is complete."""
        item = self._table.get(import_keys.import_of(self._tenant, import_id))
        return ImportState(import_id, int(item["attempt"]), int(item["rows"]), str(item["blob"])) if item else None

    def data(self, state: ImportState) -> bytes:
        """The stored data. Raises: KeyError if the import was completed meanwhile, OSError."""
        return self._blobs.get(state.blob)

    def upload_blob(self, upload_id: str) -> str:
        """The key of the blob to which a client uploads a file directly. It is no file of a folder: its
        arrival starts no ingestion, and the collector deletes it after a day.
        """
        return blob_keys.upload_blob(self._tenant, upload_id)

    def uploaded(self, upload_id: str) -> bytes | None:
        """The bytes of a file that a client has uploaded; None if there are none. Raises: OSError."""
        try:
            return self._blobs.get(self.upload_blob(upload_id))
        except KeyError:
            return None

    def mark(self, mark: ImportMark, now: datetime) -> Put:
        """The change that marks a request, in the transaction that makes its import known. The mark expires after `MARK_LIFE`."""
        key = import_keys.mark(self._tenant, mark.digest)
        attributes: dict[str, Value] = {
            "import": mark.import_id,
            "agents": " ".join(mark.agent_ids),
            "ttl": int((now + MARK_LIFE).timestamp()),
        }
        return Put({"pk": key.pk, "sk": key.sk, **attributes})

    def marked(self, digest: str, now: datetime) -> ImportMark | None:
        """The import of the request with this digest; None if there was none, or too long ago."""
        item = self._table.get(import_keys.mark(self._tenant, digest))
        if item is None or expired(item, now):
            return None
        return ImportMark(digest, str(item["import"]), tuple(str(item["agents"]).split()))

    def take(self, state: ImportState, due_ms: int, token: str) -> tuple[ImportState, Update]:
        """The import as this worker's, and the change that takes it. Condition: no worker has taken it since it was read."""
        leased = replace(state, attempt=state.attempt + 1)
        attributes: dict[str, Value] = {"attempt": leased.attempt, "wt": token, **keys.due(state.id, due_ms)}
        return leased, Update(import_keys.import_of(self._tenant, state.id), set=attributes, when=eq(attempt=state.attempt))

    def go_on(self, state: ImportState, rows: int, due_ms: int, token: str) -> Update:
        """The change of each transaction of a worker. Conditions: attempt and `rows` are those of `state`."""
        attributes: dict[str, Value] = {"rows": rows, "wt": token, **keys.due(state.id, due_ms)}
        condition = eq(attempt=state.attempt, rows=state.rows)
        return Update(import_keys.import_of(self._tenant, state.id), set=attributes, when=condition)

    def complete(self, state: ImportState) -> Delete:
        """The change that ends an import. Condition: the attempt is that of `state`."""
        return Delete(import_keys.import_of(self._tenant, state.id), eq(attempt=state.attempt), frees=state.blob)

    def reserve(self, agent_id: str, import_id: str) -> list[Change]:
        """The changes that reserve the id of an agent for an import. Conditions: there is no such agent, no other import has
        reserved it, and nothing of a deleted one is left.
        """
        key = import_keys.reservation(self._tenant, agent_id)
        return [
            Put({"pk": key.pk, "sk": key.sk, "import": import_id}, ABSENT),
            Check(keys.agent(self._tenant, agent_id), ABSENT),
            Check(keys.gone(self._tenant, agent_id), ABSENT),
        ]

    def reserved_by(self, agent_ids: Sequence[str]) -> list[str]:
        """The ids of the imports that have reserved these agents."""
        found = self._table.get_many([import_keys.reservation(self._tenant, agent_id) for agent_id in agent_ids])
        return list(dict.fromkeys(str(item["import"]) for item in found.values()))

    def release(self, agent_id: str) -> Delete:
        """The change that ends a reservation, in the transaction with which the agent exists."""
        return Delete(import_keys.reservation(self._tenant, agent_id))

    def put_skills(self, agent_id: str, skills: AgentSkills) -> Put:
        """The change that stores an agent's skills."""
        return Put(self._codec.item(import_keys.skills(self._tenant, agent_id), skills))

    def skills(self, agent_id: str) -> AgentSkills:
        """The skills that an agent brought along."""
        item = self._table.get(import_keys.skills(self._tenant, agent_id))
        return self._codec.record(AgentSkills, item) if item else AgentSkills()
