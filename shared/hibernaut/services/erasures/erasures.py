"""Erasures of persons: begin one, list them, read a receipt, request a check (`docs/security.md`). The sweep does the work
(`erasure_work`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from hibernaut.domain.wire.listing import Page
from hibernaut.ports.storage.table import TableError
from hibernaut.schemas.agents.erasure import Erasure, ErasureCheck, ErasureSummary, StoredErasure
from hibernaut.schemas.agents.erasure_faults import ErasureRunning
from hibernaut.schemas.agents.identity import StoredIdentity
from hibernaut.schemas.errors import HibernautError, NotFound
from hibernaut.schemas.ids import is_id
from hibernaut.services.erasures.erased_agents import ErasedAgents
from hibernaut.services.erasures.erasure_parts import LEASE_MS, ErasureParts
from hibernaut.services.records import no_identity
from hibernaut.store.table import keys

if TYPE_CHECKING:
    from hibernaut.services.erasures.erasure_work import ErasureWork


FEW_AGENTS, FEW_RUNS = 5, 100
"""The largest number of agents of a person, and of their runs, whose erasure begins in the request."""
PAGES_AT_ONCE = 20
"""Pages that a request takes before it is answered."""


class Erasures:
    """The use cases of erasures. `work` carries them out."""

    def __init__(self, parts: ErasureParts) -> None:
        self._parts = parts
        self._store = parts.stores.erasures
        self._agents = ErasedAgents(parts)

    @cached_property
    def work(self) -> ErasureWork:
        """What carries erasures out."""
        from hibernaut.services.erasures.erasure_work import ErasureWork  # the API only begins them

        return ErasureWork(self._parts)

    def begin(self, identity_id: str, *, key_id: str | None = None) -> Erasure:
        """Begin the erasure of a person, or find the one that has begun. The identity is deleted and its agents refuse messages
        when this returns.

        Raises: NotFound, Conflict.
        """
        if not is_id(identity_id, "identity"):
            raise no_identity(identity_id)
        erasure = self._parts.records.until_settled(lambda: self._begun(identity_id, key_id))
        if erasure.phase == "agents":
            self._agents.fence(erasure)
        if erasure.phase != "agents" or self._is_small(erasure):
            self._hurry(erasure)
        return self.get(erasure.id)

    def _is_small(self, erasure: StoredErasure) -> bool:
        """Whether the agents of the person are few and have had few runs."""
        ids = self._agents.marked(erasure)
        places = [keys.agent(self._parts.records.tenant, agent_id).pk for agent_id in ids[: FEW_AGENTS + 1]]
        return len(ids) <= FEW_AGENTS and sum(self._store.count(pk, "RUN#") for pk in places) <= FEW_RUNS

    def _hurry(self, erasure: StoredErasure) -> None:
        """Take the first pages at once, so that little work is over when the request is answered, unless another worker holds the
        erasure. What fails is left to the sweep.
        """
        if erasure.lease is not None and erasure.lease > self._parts.host.clock.now():
            return
        with suppress(OSError, HibernautError, TableError):
            self.work.go_on(erasure.id, PAGES_AT_ONCE)

    def _begun(self, identity_id: str, key_id: str | None) -> StoredErasure:
        erasure_id = f"erasure-{identity_id[-36:]}"
        earlier = self._store.get(erasure_id)
        if earlier is not None:
            return earlier
        records = self._parts.records
        identity = records.identity(identity_id)
        erasure, token = self._new_erasure(erasure_id, identity, key_id), records.ids.token()
        # The sweep begins when this request may have died.
        created = self._store.create(erasure, int(erasure.started_at.timestamp() * 1000) + LEASE_MS, token)
        records.writer.write(*created, *records.identities.delete(identity), token=token)
        return erasure

    def _new_erasure(self, erasure_id: str, identity: StoredIdentity, key_id: str | None) -> StoredErasure:
        """The record of a new erasure. A message's `sender_id` may be the id of the identity, or its key."""
        salt = self._parts.records.ids.token()
        return StoredErasure(
            id=erasure_id,
            identity_id=identity.id,
            salt=salt,
            digest=digest_of(salt, identity.identifier_key),
            key_id=key_id,
            senders=list(dict.fromkeys([identity.id, identity.identifier_key])),
            started_at=self._parts.host.clock.now(),
        )

    def list(self, page_query: Page) -> Sequence[ErasureSummary]:
        """A page of the erasures, by the creation of their identities. Raises: NotFound for a cursor."""
        ids = [str(row["sk"]) for row in self._store.listed().page(page_query)]
        found = self._store.get_many(ids)
        return [
            ErasureSummary(**found[each].model_dump(include=set(ErasureSummary.model_fields))) for each in ids if each in found
        ]

    def get(self, erasure_id: str) -> Erasure:
        """The erasure with its receipt. Raises: NotFound."""
        erasure = self._stored(erasure_id)
        return erasure.wire(self._store.lines(erasure.id))

    def check(self, erasure_id: str) -> Erasure:
        """Request a check of a completed erasure; the sweep completes a check that the request does not complete. Raises:
        NotFound; ErasureRunning; Conflict.
        """

        def attempt() -> StoredErasure:
            before = self._stored(erasure_id)
            if before.state != "completed":
                raise ErasureRunning("CONFLICT: The erasure is not completed. It ends with a check of its own.", before.id)
            if before.phase == "check":
                return before
            now, token = self._parts.host.clock.now(), self._parts.records.ids.token()
            new_check = ErasureCheck(state="requested", requested_at=now)
            after = before.model_copy(update={"phase": "check", "cursor": "", "check": new_check})
            due_ms = int(now.timestamp() * 1000) + LEASE_MS
            self._parts.records.writer.write(self._store.change(before, after, due_ms, token), token=token)
            return after

        self._hurry(self._parts.records.until_settled(attempt))
        return self.get(erasure_id)

    def _stored(self, erasure_id: str) -> StoredErasure:
        erasure = self._store.get(erasure_id) if is_id(erasure_id, "erasure") else None
        if erasure is None:
            raise NotFound(f"Erasure with ID {erasure_id} not found")
        return erasure


def digest_of(salt: str, identifier_key: str) -> str:
    """By what the operator shows that a receipt is of a person: SHA-256, in hexadecimal, of the salt and the person's key."""
    return hashlib.sha256(f"{salt}{identifier_key}".encode("utf-8", "surrogatepass")).hexdigest()
