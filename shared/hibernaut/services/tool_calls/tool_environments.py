"""The environment variables of a custom tool: those of the tenant's sandbox configuration, over them the agent's secrets, over
them the facts of the call (RT 10).
"""

from __future__ import annotations

from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.store.stores import TenantStores


class ToolEnvironments:
    """Makes the environments of one tenant's tools."""

    def __init__(self, stores: TenantStores) -> None:
        self._sandboxes = stores.sandboxes
        self._secrets = stores.secrets

    def shared(self) -> dict[str, str]:
        """The variables that all custom tools of the tenant have. Raises: SecretUnreadable, MasterKeyUnavailable,
        NotImplementedHere.
        """
        sandbox = self._sandboxes.now.current()
        return self._secrets.values(sandbox.id, sandbox.variables)

    def of(self, agent: StoredAgent, tool_id: str) -> dict[str, str]:
        """The variables of a call. Raises: SecretUnreadable, MasterKeyUnavailable, NotImplementedHere."""
        found = {**self.shared(), **self._secrets.values(agent.id, agent.secrets)}
        found |= {"LETTA_AGENT_ID": agent.id, "LETTA_TOOL_ID": tool_id}
        if agent.project_id:
            found["LETTA_PROJECT_ID"] = agent.project_id
        return found
