"""Which agents a restricted key reaches, and to which agents a record belongs.

A record belongs to the agent that its conversation, run or step belongs to. A block belongs to all agents that it is attached to.
Tools, folders, files and archives belong to the tenant; they can be attributed to no agent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, assert_never

from hibernaut.schemas.access.api_key import Principal
from hibernaut.schemas.ids import is_id
from hibernaut.store.agents.agents import tags_of
from hibernaut.store.stores import TenantStores

RecordKind = Literal["agent", "conversation", "run", "job", "step", "message", "block"]


class AgentAccess:
    """Decides for one tenant. Reads the record that is named, and an agent's list row if the key names tags."""

    def __init__(self, stores: TenantStores) -> None:
        self._stores = stores

    def reaches(self, principal: Principal, kind: RecordKind, identifier: str, *, changing: bool) -> bool:
        """Whether a restricted key may read the record, or change it. A block may be changed if the key reaches all its agents.

        False as well for a record that does not exist.
        """
        owners = set(self._owners(kind, identifier))
        reached = self.reached(principal, owners)
        return bool(owners) and (reached == owners if changing else bool(reached))

    def reached(self, principal: Principal, agent_ids: Iterable[str]) -> set[str]:
        """The agents among `agent_ids` that the key reaches: by id, or by one of its tags."""
        requested = set(agent_ids)
        reachable = requested & principal.agent_ids
        remaining = sorted(requested - reachable)
        if remaining and principal.agent_tags:
            rows = self._stores.agents.rows_of(remaining)
            reachable |= {each for each in rows if not principal.agent_tags.isdisjoint(tags_of(rows[each]))}
        return reachable

    def _owners(self, kind: RecordKind, identifier: str) -> list[str]:
        match kind:
            case "agent":
                return [identifier]
            case "conversation":
                if is_id(identifier, "agent"):  # its default conversation
                    return [identifier]
                found = self._stores.conversation_records.get(identifier) if is_id(identifier, "conv") else None
                return [found.agent_id] if found is not None else []
            case "run" | "job":
                run_id = f"run-{identifier.removeprefix('job-')}" if identifier.startswith("job-") else identifier
                state = self._stores.runs.get(run_id) if is_id(run_id, "run") else None
                return [state.run.agent_id] if state is not None else []
            case "step":
                step = self._stores.steps.get(identifier) if is_id(identifier, "step") else None
                return [step.agent_id] if step is not None and step.agent_id else []
            case "message":
                message = self._stores.messages.get(identifier) if is_id(identifier, "message") else None
                return [message.agent_id] if message is not None and message.agent_id else []
            case "block":
                return self._stores.blocks.agents_of(identifier) if is_id(identifier, "block") else []
            case never:
                assert_never(never)
