"""Erases the agents of a person: those that have no other identity go whole, with their sleep-time agents; the others lose this
identity.

Before an agent goes, the receipt gets its counts, and the blocks, archives and folders that only it may use are noted: whether
others use them is decided when all agents of the person are gone (`erased_records`).
"""

from __future__ import annotations

from contextlib import suppress

from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.erasure import ErasureLine, StoredErasure
from hibernaut.schemas.errors import NotFound
from hibernaut.services.agents.sleeptime_pairs import sleepers_of
from hibernaut.services.erasures.erasure_parts import ErasureParts
from hibernaut.services.records import without
from hibernaut.store.identities.erasures import PAGE
from hibernaut.store.schedules.schedule_keys import ROW
from hibernaut.store.table import keys
from hibernaut.store.versions.version_keys import VERSION
from hibernaut.store.versions.version_store import read_chain

VERSIONS = 100
"""Versions of one read."""


class ErasedAgents:
    """The agents of an erasure."""

    def __init__(self, parts: ErasureParts) -> None:
        self._parts = parts
        self._records = parts.records

    def marked(self, erasure: StoredErasure) -> list[str]:
        """The ids of the agents that still bear the identity. No further one can: the identity is gone."""
        return self._records.agent_marks.agents_of("IDENTITY", [erasure.identity_id])[erasure.identity_id]

    def fence(self, erasure: StoredErasure) -> None:
        """Refuse further messages to the agents that go whole."""
        ids = self.marked(erasure)
        for start in range(0, len(ids), PAGE):
            agents = self._records.agents.get_many(ids[start : start + PAGE]).values()
            whole = [agent.id for agent in agents if set(agent.identity_ids) == {erasure.identity_id}]
            self._parts.pause_all(erasure, whole)

    def erase(self, erasure: StoredErasure, agent: StoredAgent) -> None:
        """Erase an agent that bears the identity, or what the identity has of it. Raises: Conflict, OSError; a repeated call
        continues.
        """
        if set(agent.identity_ids) - {erasure.identity_id}:
            self._part(erasure, agent.id)
        else:
            self._whole(erasure, agent)

    def _part(self, erasure: StoredErasure, agent_id: str) -> None:
        self._parts.begin(erasure.id, ErasureLine(kind="agent", id=agent_id, extent="parts"))

        with suppress(NotFound):
            self._records.change_agent(agent_id, without("identity_ids", erasure.identity_id), None)

    def _whole(self, erasure: StoredErasure, agent: StoredAgent) -> None:
        for sleeper in sleepers_of(self._records, agent):
            if sleeper.id != agent.id:
                self._whole(erasure, sleeper)
        self._parts.pause(erasure, agent.id)
        conversations = self._parts.conversations(agent.id)
        for conversation in conversations:
            self._parts.deletion.conversations.end_runs(conversation)
        self._plan(erasure, agent)
        head = read_chain(agent.chain)
        line = ErasureLine(
            kind="agent",
            id=agent.id,
            extent="whole",
            counts=self._counts(agent.id, conversations) | {"steps": self._parts.forget_traces(agent.id)},
            version=head.number or None,
            hash=head.hash or None,
            conversation_ids=conversations[1:],
        )
        self._parts.begin(erasure.id, line)
        with suppress(NotFound):  # another worker has deleted it
            self._parts.deletion.delete(agent.id)

    def _counts(self, agent_id: str, conversations: list[str]) -> dict[str, int]:
        tenant, count = self._records.tenant, self._parts.stores.erasures.count
        own = keys.agent(tenant, agent_id).pk
        return {
            "conversations": len(conversations),
            "messages": sum(count(keys.head(tenant, each).pk, "MSG#") for each in conversations),
            "runs": count(own, "RUN#"),
            "schedules": count(own, ROW),
            "agent_versions": count(own, VERSION),
        }

    def _plan(self, erasure: StoredErasure, agent: StoredAgent) -> None:
        """Note what may go with the agent. Of blocks that the agent had before, only deleted ones are noted: their versions
        remain.
        """
        records, copy_ids = self._records, [record for page in self._copies(agent.id) for record in page]
        current = list(dict.fromkeys([*agent.block_ids, *copy_ids]))
        before = [each for each in self._blocks_before(agent.id) if each not in current]
        existing = {
            each for start in range(0, len(before), PAGE) for each in records.blocks.get_many(before[start : start + PAGE])
        }
        self._parts.plan(erasure.id, "block", [*current, *(each for each in before if each not in existing)])
        self._parts.plan(erasure.id, "archive", records.archives.of_agent(agent.id))
        self._parts.plan(erasure.id, "folder", agent.source_ids)

    def _copies(self, agent_id: str) -> list[list[str]]:
        """The private copies of blocks that the agent's conversations have."""
        pages = self._records.conversation_records.pages(agent_id, VERSIONS)
        return [
            [block for record in self._records.conversation_records.get_many(ids).values() for block in record.isolated_block_ids]
            for ids in pages
        ]

    def _blocks_before(self, agent_id: str) -> list[str]:
        """The blocks that the agent's history and its runs name."""
        found: dict[str, None] = {}
        place, after = self._records.agents.history(agent_id), 0
        while links := self._parts.stores.versions.links(place, after=after, limit=VERSIONS):
            found |= dict.fromkeys(each for link in links for each in (link.before or {}).get("block_ids") or ())
            after = links[-1].number
        last = ""
        while runs := self._parts.stores.erasures.run_ids(agent_id, last):
            for state in self._parts.stores.runs.get_many(runs).values():
                found |= dict.fromkeys(state.run.memory_versions)
            last = runs[-1]
        return list(found)
