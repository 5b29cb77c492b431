"""Executes a tool on request of the API, not of a model. Writes nothing to a log, and applies tool policies, but no tool rule or
approval.

A built-in tool has the same effects as in a step, in one transaction of its own; a custom tool runs in the sandbox. Sources:
Letta V1 API, API 2.6 and 3; RT 10.7.
"""

from __future__ import annotations

from dataclasses import replace

from hibernaut.domain.memory import memory_edits
from hibernaut.domain.tools import time_limits
from hibernaut.domain.tools.sources import tool_sources
from hibernaut.domain.tools.tool_returns import as_text
from hibernaut.domain.turn.actor import Call
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome, ToolRunner
from hibernaut.schemas.base import JsonObject, message_date
from hibernaut.schemas.errors import InvalidArgument, NotFound
from hibernaut.schemas.messages.letta_message import ToolReturnMessage
from hibernaut.schemas.runs.run import RunOptions, StoredRun
from hibernaut.schemas.tools.tool import StoredTool, ToolExecutionResult, ToolRunFromSource, ToolType
from hibernaut.services.host import Host
from hibernaut.services.records import Records
from hibernaut.services.steps.step_work import StepLoader, StepWork, ToolEffects
from hibernaut.services.tool_calls.call_policies import CallPolicies
from hibernaut.services.tool_calls.custom_tools import packages_of, unrunnable
from hibernaut.services.tool_calls.memory_changes import ARCHIVAL_INSERT, MemoryChanges, author_of
from hibernaut.services.tool_calls.tool_execution import MEMORY_REFUSED, ToolExecution
from hibernaut.services.tools.tool_packages import ToolPackages
from hibernaut.store.runs.runs import RunState
from hibernaut.store.stores import TenantStores

UNCUT = 1_000_000
"""The characters of output that are retained of a run that the API requested: V1 does not cut it to the tool's limit (RT 10.6).
"""
NO_CALL = "null"
"""The placeholder of ids: there is no message, call or run to name."""


class AdhocToolRuns:
    """Executes tools on request of the API."""

    def __init__(
        self, stores: TenantStores, host: Host, records: Records, *, loader: StepLoader, calls: ToolExecution, runner: ToolRunner
    ) -> None:
        self._tenant = stores.tenant
        self._packages = ToolPackages(stores.tenant, host.packages)
        self._archives = stores.archives
        self._memory = MemoryChanges(stores, host)
        self.policies = CallPolicies(stores, host)
        self._records = records
        self._loader = loader
        self._calls = calls
        self._runner = runner

    def refusal(self, source_type: str | None) -> str | None:
        """Why tools of this source type cannot be run here; None if they can."""
        return self._runner.refusal(source_type)

    def run_attached(self, agent_id: str, name: str, args: JsonObject, *, key_id: str | None = None) -> ToolExecutionResult:
        """Execute a tool of an agent with the agent's secrets and memory. A failure of the tool is a result with status "error".
        `key_id`: the caller's API key.

        Raises: NotFound if the agent or its tool does not exist, Conflict.
        """
        agent = self._records.agent(agent_id)
        tool = next((tool for tool in self._records.tools_of(agent) if tool.name == name), None)
        if tool is None:
            raise NotFound(f"Tool '{name}' not found or not attached to agent '{agent_id}'")
        refusal = self.policies.direct(tool, name, args, agent, key_id)
        if refusal is not None:
            return ToolExecutionResult(status="error", stdout=[], stderr=[refusal])
        if tool.tool_type is ToolType.CUSTOM:
            return self._custom(agent_id, tool, args, key_id)
        if tool.tool_type in (ToolType.LETTA_BUILTIN, ToolType.EXTERNAL_MCP):
            return self._online(agent_id, tool, args, key_id)
        return self._records.until_settled(lambda: self._builtin(agent_id, name, args, key_id))

    def _builtin(self, agent_id: str, name: str, args: JsonObject, key_id: str | None) -> ToolExecutionResult:
        work = self._work(agent_id, key_id)
        (result,), effects = self._calls.run(work, (Call(id=NO_CALL, name=name, args=args),))
        self._commit(work, effects)
        if result.status == "error":
            return ToolExecutionResult(status="error", stdout=[], stderr=[as_text(result.message)])
        return ToolExecutionResult(status="success", func_return=result.message, stdout=[], stderr=[])

    def _online(self, agent_id: str, tool: StoredTool, args: JsonObject, key_id: str | None) -> ToolExecutionResult:
        """A built-in tool that reaches outside, or a tool of an MCP server, changes nothing here, so that there is nothing to
        commit.
        """
        call = Call(id=NO_CALL, name=tool.name or "", args=args)
        result = self._calls.performed(self._work(agent_id, key_id), call, tool)
        if result.status == "error":
            return ToolExecutionResult(status="error", stdout=[], stderr=[result.error or ""])
        return ToolExecutionResult(status="success", func_return=result.value, stdout=[], stderr=[])

    def _custom(self, agent_id: str, tool: StoredTool, args: JsonObject, key_id: str | None) -> ToolExecutionResult:
        work = self._work(agent_id, key_id)
        call = Call(id=NO_CALL, name=tool.name or "", args=args)
        outcome = self._calls.custom.run(work, call, tool, output_limit=UNCUT)
        if outcome.blocks:
            outcome = self._records.until_settled(
                lambda: self._keep_blocks(self._work(agent_id, key_id), tool.name or "", outcome)
            )
        stderr = _stderr_lines(outcome)
        value = outcome.value if outcome.status == "success" else None
        return ToolExecutionResult(status=outcome.status, func_return=value, stdout=list(outcome.stdout), stderr=stderr)

    def _keep_blocks(self, work: StepWork, tool: str, outcome: ToolOutcome) -> ToolOutcome:
        """Store the block values that the function wrote into its `agent_state`, as in a step; an error result if it may not."""
        edits = memory_edits.written_over(outcome.blocks, work.effects.blocks)
        if edits.status == "error":
            return replace(outcome, status="error", error=f"{MEMORY_REFUSED} {edits.message}")
        self._commit(work, work.effects.with_blocks(memory_edits.changed(work.effects.blocks, edits.changes), tool))
        return outcome

    def _commit(self, work: StepWork, effects: ToolEffects) -> None:
        now, token = self._records.clock.now(), self._records.ids.token()
        by = author_of(work, None).model_copy(update={"source": "api", "run_id": None})
        changes, facts, _ = self._memory.of(replace(work, effects=effects), now, token, by)
        if effects.passages:
            by = by.model_copy(update={"tools": [ARCHIVAL_INSERT]})
            changes += self._archives.insert(work.agent, effects.passages, token, by)
        if facts:
            events = [replace(fact, by="api", run_id=None) for fact in facts]
            changes += self._records.events.put(events, self._records.events.types(), token, now)
        if changes:
            self._records.writer.write(*changes, token=token)

    def _work(self, agent_id: str, key_id: str | None) -> StepWork:
        """The state that a step of the agent would start from. Its run is never stored."""
        now = self._records.clock.now()
        run = StoredRun(id=NO_CALL, agent_id=agent_id, created_at=now, options=RunOptions(max_steps=1), key_id=key_id)
        return self._loader.load(RunState(run=run))

    def run_source(self, request: ToolRunFromSource, *, key_id: str | None = None) -> ToolReturnMessage:
        """Execute a source once, without an agent; stores nothing.

        Raises: InvalidToolSource if the source cannot be parsed; InvalidArgument for a source that cannot be run here;
        PackagesRefused, Unavailable (packages).
        """
        reason = unrunnable(request.npm_requirements) or self.refusal(request.source_type)
        if reason is not None:
            raise InvalidArgument(f"INVALID_ARGUMENT: {reason}.")
        time_limits.check(request.metadata_)
        limits, kind = self._calls.limits, request.source_type
        name = request.name or tool_sources.function_name(request.source_code, kind)
        refusal = self.policies.direct(None, name, request.args, None, key_id)
        if refusal is not None:
            return self._returned(ToolOutcome("error", error=refusal))
        packages = self._packages.of(request.pip_requirements, kind)
        outcome = self._runner.run(
            ToolJob(
                name=name,
                source_code=request.source_code,
                source_type=kind,
                args=request.args,
                json_schema=request.json_schema or _schema(request),
                args_json_schema=request.args_json_schema,
                environment={**self._calls.custom.environments.shared(), **(request.env_vars or {})},
                tenant=self._tenant,
                packages=packages_of(packages),
                timeout=time_limits.seconds_of(request.metadata_, limits.timeout),
                memory=limits.memory,
                output_limit=UNCUT,
            )
        )
        return self._returned(outcome)

    def _returned(self, outcome: ToolOutcome) -> ToolReturnMessage:
        return ToolReturnMessage(
            id=NO_CALL,
            date=message_date(self._records.clock.now()),
            tool_return=as_text(outcome.value if outcome.status == "success" else outcome.error),
            status=outcome.status,
            tool_call_id=NO_CALL,
            stdout=list(outcome.stdout),
            stderr=_stderr_lines(outcome),
        )


def _stderr_lines(outcome: ToolOutcome) -> list[str]:
    """The lines of stderr, with the error added if it is not among them: the return value of a failed tool is null."""
    lines = list(outcome.stderr)
    if outcome.error and not any(outcome.error in text for text in lines):
        lines.append(outcome.error)
    return lines


def _schema(request: ToolRunFromSource) -> JsonObject | None:
    """The schema of a source, given or derived; None if it cannot be derived, because a single execution does not need one."""
    if request.args_json_schema is not None:
        return tool_sources.schema_from_args(request.source_code, request.source_type, request.args_json_schema)
    try:
        return tool_sources.derive_schema(request.source_code, request.source_type, request.name)
    except InvalidArgument:
        return None
