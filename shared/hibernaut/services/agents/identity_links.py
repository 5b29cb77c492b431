"""The links between identities, agents and blocks (Letta V1 API, API 2.7 and 3).

Agents and blocks name their identities, so an identity is attached in a transaction of the agent or the block, which checks that
the identity exists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hibernaut.ports.storage.table import Change
from hibernaut.schemas.agents.identity import MOST_IDENTITIES
from hibernaut.schemas.errors import InvalidArgument, NotFound
from hibernaut.services.agents.agent_updates import AgentUpdates
from hibernaut.services.records import Records, by_key, without
from hibernaut.store.versions.version_store import Edit


class IdentityLinks:
    """Attaches identities to agents and blocks, and detaches them."""

    def __init__(self, records: Records, updates: AgentUpdates) -> None:
        self._records = records
        self._updates = updates

    def agents_of(self, identity_id: str) -> Sequence[str]:
        """The ids of the agents of an identity, oldest first."""
        return self._records.agent_marks.agents_of("IDENTITY", [identity_id])[identity_id]

    def blocks_of(self, identity_id: str) -> Sequence[str]:
        """The ids of the blocks of an identity, oldest first."""
        return self._records.identities.blocks_of([identity_id])[identity_id]

    def attach_agent(self, identity_id: str, agent_id: str, *, user: str | None = None, key_id: str | None = None) -> None:
        """Attach the identity to an agent; idempotent. `key_id`: the caller's API key, here and below. Raises: NotFound,
        Conflict.
        """
        self._updates.attach_identity(agent_id, identity_id, user=user, key_id=key_id)

    def detach_agent(self, identity_id: str, agent_id: str, *, user: str | None = None, key_id: str | None = None) -> None:
        """Detach the identity from an agent; idempotent. Raises: NotFound, Conflict."""
        self._records.identity(identity_id)
        self._updates.detach_identity(agent_id, identity_id, user=user, key_id=key_id)

    def attach_block(self, identity_id: str, block_id: str, *, key_id: str | None = None) -> None:
        """Attach the identity to a block; idempotent. Raises: NotFound, Conflict, InvalidArgument (the block has too many)."""
        store = self._records.identities

        def with_identity(ids: list[str]) -> list[str]:
            self._records.identity(identity_id)
            if identity_id not in ids and len(ids) >= MOST_IDENTITIES:
                raise InvalidArgument(
                    f"INVALID_ARGUMENT: A block has at most {MOST_IDENTITIES} identities; {block_id} has as many."
                )
            return ids if identity_id in ids else [*ids, identity_id]

        further = (store.must_exist(identity_id), store.attach_block(identity_id, block_id))
        self._change_block(block_id, with_identity, by_key(key_id), further)

    def detach_block(self, identity_id: str, block_id: str, *, key_id: str | None = None) -> None:
        """Detach the identity from a block; idempotent. Raises: NotFound, Conflict."""
        self._records.identity(identity_id)
        self._lose_block(identity_id, block_id, by_key(key_id))

    def _lose_block(self, identity_id: str, block_id: str, edit: Edit) -> None:
        link = self._records.identities.detach_block(identity_id, block_id)
        self._change_block(block_id, lambda ids: [one for one in ids if one != identity_id], edit, [link])

    def _change_block(
        self, block_id: str, decide: Callable[[list[str]], list[str]], edit: Edit, further: Sequence[Change]
    ) -> None:
        """Change the identities of a block. Nothing is written if `decide` returns the same identities."""

        def attempt() -> None:
            before = self._records.block(block_id)
            ids = decide(before.identity_ids)
            if ids == before.identity_ids:
                return
            after, token = before.model_copy(update={"identity_ids": ids}), self._records.ids.token()
            self._records.writer.write(*self._records.blocks.change(before, after, token, edit), *further, token=token)

        self._records.until_settled(attempt)

    def check_exist(self, agent_ids: Sequence[str] | None, block_ids: Sequence[str] | None) -> None:
        """Raises: NotFound for an agent or a block that does not exist, before anything is written."""
        agents = list(dict.fromkeys(agent_ids or ()))
        agent_rows = self._records.agents.rows_of(agents) if agents else {}
        for agent_id in agents:
            if "name" not in agent_rows.get(agent_id, {}):
                raise NotFound(f"Agent with ID {agent_id} not found")
        blocks = list(dict.fromkeys(block_ids or ()))
        block_rows = self._records.blocks.rows_of(blocks) if blocks else {}
        for block_id in blocks:
            if "label" not in block_rows.get(block_id, {}):
                raise NotFound(f"Block with id '{block_id}' not found")

    def attach(
        self,
        identity_id: str,
        agent_ids: Sequence[str] | None,
        block_ids: Sequence[str] | None,
        *,
        key_id: str | None = None,
    ) -> None:
        """Attach the identity to several agents and blocks, each in a transaction of its own. Raises: NotFound, Conflict,
        InvalidArgument.
        """
        for agent_id in dict.fromkeys(agent_ids or ()):
            self.attach_agent(identity_id, agent_id, key_id=key_id)
        for block_id in dict.fromkeys(block_ids or ()):
            self.attach_block(identity_id, block_id, key_id=key_id)

    def replace(
        self,
        identity_id: str,
        agent_ids: Sequence[str] | None,
        block_ids: Sequence[str] | None,
        *,
        key_id: str | None = None,
    ) -> None:
        """Attach the identity to these agents and blocks, and detach it from all others; None leaves them. Raises: as
        `attach`.
        """
        self.attach(identity_id, agent_ids, block_ids, key_id=key_id)
        lost_agents = [one for one in self.agents_of(identity_id) if one not in agent_ids] if agent_ids is not None else []
        lost_blocks = [one for one in self.blocks_of(identity_id) if one not in block_ids] if block_ids is not None else []
        self.leave(identity_id, lost_agents, lost_blocks, key_id=key_id)

    def leave(self, identity_id: str, agent_ids: Sequence[str], block_ids: Sequence[str], *, key_id: str | None = None) -> None:
        """Detach the identity from these agents and blocks. Of a deleted block the link row is removed."""

        # The marks of an agent are its links to identities.
        self._records.change_agents(agent_ids, without("identity_ids", identity_id), lambda _: [], by_key(key_id))
        for block_id in block_ids:
            try:
                self._lose_block(identity_id, block_id, by_key(key_id))
            except NotFound:
                self._records.writer.write(self._records.identities.detach_block(identity_id, block_id))
