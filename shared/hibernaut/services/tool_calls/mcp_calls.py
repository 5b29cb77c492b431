"""Calls of tools of MCP servers in a turn. The caller has claimed the call: it is made at most once.

A call reads the record of its server, so that a changed address or a deleted server takes effect at once in every process.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from hibernaut.domain.tools.mcp.mcp_results import shown
from hibernaut.domain.tools.mcp.mcp_tools import McpFacts, facts_of
from hibernaut.domain.tools.tool_returns import clip
from hibernaut.domain.turn.actor import Call
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.ports.tools.mcp import McpCall, McpFailure
from hibernaut.schemas.errors import HibernautError, StoreUnavailable
from hibernaut.schemas.ids import is_id
from hibernaut.schemas.mcp.server import StoredMcpServer
from hibernaut.schemas.runs.turn import ClaimedResult
from hibernaut.schemas.stop import RunStatus
from hibernaut.schemas.tools.tool import StoredTool, Tool
from hibernaut.services.host import Host
from hibernaut.services.mcp.mcp_targets import McpTargets
from hibernaut.services.steps.step_work import StepWork
from hibernaut.store.stores import TenantStores

NO_SERVER = "The tool's MCP server {name} does not exist here. Ask for it to be added under this name."
MISSING = "The MCP server {name} does not have the tool {tool} any more, so the call was not made. Use another tool."
CHANGED = (
    "The MCP server {name} has changed the arguments of the tool {tool} since they were read, so the call was not made. "
    "Ask for a refresh of the server's tools."
)
logger = logging.getLogger(__name__)


class McpCalls:
    """Performs calls of tools of one tenant's MCP servers."""

    def __init__(self, stores: TenantStores, host: Host, targets: McpTargets) -> None:
        self._servers = stores.mcp_servers
        self._tools = stores.tools
        self._writer = stores.writer
        self._secrets = stores.secrets
        self._runs = stores.runs
        self._mcp = host.mcp
        self._ids = host.ids
        self._targets = targets

    def perform(self, work: StepWork, call: Call, tool: Tool, *, seconds: float, limit: int) -> ClaimedResult:
        """Perform one call within `seconds`; `limit` is the longest return in characters. Every failure is an error result."""
        environment = self._secrets.values(work.agent.id, work.agent.secrets)
        result = self.call_once(tool, call.args, seconds, agent_id=work.agent.id, variables=environment, run_id=work.state.run.id)
        text = clip(str(result.value if result.status == "success" else result.error), limit)
        return result.model_copy(update={"value": text} if result.status == "success" else {"error": text})

    def call_once(
        self,
        tool: Tool,
        args: dict[str, object],
        seconds: float,
        *,
        agent_id: str | None = None,
        variables: dict[str, str] | None = None,
        run_id: str | None = None,
    ) -> ClaimedResult:
        """One call of a stored tool. `agent_id` and `variables`: the agent that calls and its secrets; `run_id`: the run whose
        end cancels the call.
        """
        facts = facts_of(tool)
        server = self._servers.get(facts.server_id) or self._servers.named(facts.server_name)
        if server is None:
            return _failed(NO_SERVER.format(name=facts.server_name or "(without a name)"))
        if facts.state != "available":
            return _refused(facts, server)
        try:
            target = self._targets.of(server, agent_id=agent_id, variables=variables)
            answer = self._mcp.call(target, self._mcp_call(facts, args, run_id), seconds=seconds)
        except McpFailure as failure:
            if failure.problem in ("missing", "changed"):
                refused = replace(facts, server_id=server.id, state=failure.problem)
                self._note(tool, refused)
                return _refused(refused, server)
            extra = {"mcp_server_id": server.id, "problem": failure.problem}
            logger.warning("call of an MCP tool failed", extra=extra)
            return _failed(f"The MCP server {server.server_name} did not make the call: {failure}.")
        read = shown(answer)
        if answer.failed:
            return ClaimedResult(status="error", error=read.text, images=list(read.images))
        return ClaimedResult(status="success", value=read.text, images=list(read.images))

    def _mcp_call(self, facts: McpFacts, args: dict[str, object], run_id: str | None) -> McpCall:
        def is_running() -> bool:
            if run_id is None or not is_id(run_id, "run"):
                return True
            try:
                state = self._runs.get(run_id)
            except StoreUnavailable:  # The MCP client repeats the question soon.
                return True
            return state is not None and state.run.status is RunStatus.RUNNING

        return McpCall(facts.tool_name, args, facts.fingerprint, is_running)

    def _note(self, tool: Tool, facts: McpFacts) -> None:
        """Write the tool's new state to the stored tool. If another request changes the tool meanwhile, a later call writes the
        state.
        """
        current = self._tools.get(tool.id)
        if current is None:
            return
        changed = StoredTool.model_copy(current, update={"metadata_": {**(current.metadata_ or {}), **facts.metadata()}})
        token = self._ids.token()
        try:
            self._writer.write(*self._tools.change(current, changed, token), token=token)
        except (ConditionFailed, HibernautError) as error:
            logger.info("state of an MCP tool not noted", extra={"tool_id": tool.id, "error": type(error).__qualname__})


def _refused(facts: McpFacts, server: StoredMcpServer) -> ClaimedResult:
    text = CHANGED if facts.state == "changed" else MISSING
    return _failed(text.format(name=server.server_name, tool=facts.tool_name))


def _failed(text: str) -> ClaimedResult:
    return ClaimedResult(status="error", error=text)
