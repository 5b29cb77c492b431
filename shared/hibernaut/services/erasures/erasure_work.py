"""Carries an erasure out: phase by phase, page by page. Each page stores its progress, so a worker that dies loses one page.

The sweep calls it once a minute for each erasure that is not complete. Two workers at once do no harm: all steps are repeatable,
and the progress has a condition on the version of the record.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.agents.erasure import ErasureCheck, Phase, StoredErasure
from hibernaut.services.erasures.erased_agents import ErasedAgents
from hibernaut.services.erasures.erased_logs import ErasedLogs
from hibernaut.services.erasures.erased_records import ErasedRecords
from hibernaut.services.erasures.erased_remains import ErasedRemains
from hibernaut.services.erasures.erasure_checks import ErasureChecks
from hibernaut.services.erasures.erasure_parts import LEASE_MS, ErasureParts, ErasureWaits, is_planned
from hibernaut.store.identities.erasures import PAGE, place_of

PAGES = 300
"""Pages of one attempt. The sweep that follows continues."""
WAITS_MS = 30_000
"""Milliseconds after which an erasure that waits is tried again."""
_FOLLOWING: dict[Phase, Phase] = {
    "agents": "parts",
    "parts": "others",
    "others": "deliveries",
    "deliveries": "batches",
    "batches": "templates",
    "templates": "blobs",
    "blobs": "check",
    "check": "over",
}
logger = logging.getLogger(__name__)


class ErasureWork:
    """The work on one tenant's erasures."""

    def __init__(self, parts: ErasureParts) -> None:
        self._parts = parts
        self._agents = ErasedAgents(parts)
        self._records = ErasedRecords(parts)
        self._logs = ErasedLogs(parts)
        self._remains = ErasedRemains(parts)
        self._checks = ErasureChecks(parts)

    def go_on(self, erasure_id: str, pages: int = PAGES) -> None:
        """Continue an erasure, or a check that was requested, by at most so many pages. Raises: OSError, StoreUnavailable,
        Conflict; the sweep comes again then.
        """
        erasure = self._parts.stores.erasures.get(erasure_id)
        if erasure is None or erasure.phase == "over":
            return
        try:
            self._work(erasure, pages)
        except ConditionFailed:
            logger.info("erasure taken over", extra={"erasure": erasure_id})

    def _work(self, erasure: StoredErasure, pages: int) -> None:
        """Take pages until there is none left, or the erasure waits. Raises: as `go_on`; ConditionFailed if another worker has
        taken it.
        """
        erasure = self._store(erasure, erasure, LEASE_MS)
        try:
            for _ in range(pages):
                erasure = self._store(erasure, self._advanced(erasure), LEASE_MS)
                if erasure.phase == "over":
                    return
        except ErasureWaits as waits:
            self._store(erasure, waits.progress or erasure, WAITS_MS)
        else:
            self._store(erasure, erasure, 0)

    def _store(self, before: StoredErasure, after: StoredErasure, due_in_ms: int) -> StoredErasure:
        """Store the progress. Raises: ConditionFailed if another worker has stored some."""
        token, now = self._parts.host.ids.token(), self._parts.host.clock.now()
        due_ms = int(now.timestamp() * 1000) + due_in_ms
        over = after.phase == "over"
        lease = now + timedelta(milliseconds=LEASE_MS) if due_in_ms == LEASE_MS and not over else None
        after = after.model_copy(update={"lease": lease})
        changes = self._parts.stores.erasures.change(before, after, None if over else due_ms, token)
        admitted = self._parts.stores.erasures.admit(before) if before.senders and not after.senders else []
        self._parts.stores.writer.write(changes, *admitted, token=token)
        if over and after.state != before.state:
            logger.info("person erased", extra={"erasure": after.id})
        return after.model_copy(update={"version": before.version + 1})

    def _advanced(self, erasure: StoredErasure) -> StoredErasure:
        """The erasure after its next page."""
        steps: dict[Phase, Callable[[StoredErasure], StoredErasure | None]] = {
            "agents": self._an_agent,
            "parts": self._a_record,
            "others": self._logs.advance,
            "deliveries": self._remains.deliveries,
            "batches": self._remains.batches,
            "templates": self._remains.templates,
            "blobs": self._remains.blobs,
            "check": self._checks.advance,
        }
        return steps[erasure.phase](erasure) or self._next_phase(erasure)

    def _an_agent(self, erasure: StoredErasure) -> StoredErasure | None:
        """Erase the next agent that bears the identity. Each one stops bearing it, so the remaining ones are the progress."""
        if not erasure.cursor:
            self._agents.fence(erasure)
            self._parts.plan(
                erasure.id, "block", self._parts.records.identities.blocks_of([erasure.identity_id])[erasure.identity_id]
            )
            return erasure.model_copy(update={"cursor": "fenced"})
        for agent_id in self._agents.marked(erasure):
            agent = self._parts.records.agents.get(agent_id)
            if agent is not None and erasure.identity_id in agent.identity_ids:
                self._agents.erase(erasure, agent)
                return erasure
        return None

    def _a_record(self, erasure: StoredErasure) -> StoredErasure | None:
        """Erase the next record of the receipt that is not done. Agents that stay are done later."""
        lines = self._parts.stores.erasures.lines(erasure.id, after=erasure.cursor, limit=PAGE)
        for line in lines:
            if is_planned(line):
                self._records.erase(erasure, line)
                return erasure.model_copy(update={"cursor": place_of(line)})
        return erasure.model_copy(update={"cursor": place_of(lines[-1])}) if len(lines) == PAGE else None

    def _next_phase(self, erasure: StoredErasure) -> StoredErasure:
        now, following = self._parts.host.clock.now(), _FOLLOWING[erasure.phase]
        if erasure.phase == "others":
            if any(map(is_planned, self._parts.stores.erasures.lines(erasure.id))):
                following = "parts"  # An agent of older data, without a mark, has been deleted meanwhile.
            else:
                self._logs.finish_left(erasure)
        changes: dict[str, object] = {"phase": following, "cursor": ""}
        if following == "blobs":
            changes["settled_at"] = now
        if following == "check":
            changes["check"] = ErasureCheck(state="requested", requested_at=now)
        if following == "over":
            return self._over(erasure)
        return erasure.model_copy(update=changes)

    def _over(self, erasure: StoredErasure) -> StoredErasure:
        """The erasure after a complete check. Raises: ErasureWaits if an erasure that is not completed has left remnants, because
        the index may still receive deletions.
        """
        now, check = self._parts.host.clock.now(), erasure.check
        queried, found = self._checks.in_index(erasure)
        remnants = [*(check.found if check else ()), *found]
        complete = ErasureCheck(
            state="completed", requested_at=check.requested_at if check else now, completed_at=now, found=remnants, index=queried
        )
        if erasure.state == "running" and remnants:
            new_check = ErasureCheck(state="requested", requested_at=now)
            raise ErasureWaits(erasure.model_copy(update={"check": new_check, "cursor": ""}))
        changes = {"phase": "over", "cursor": "", "check": complete, "state": "completed", "senders": []}
        return erasure.model_copy(update={**changes, "completed_at": erasure.completed_at or now})
