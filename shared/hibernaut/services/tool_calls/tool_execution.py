"""Executes the tool calls of a step: memory tools on a working copy, searches on the log, custom tools in the sandbox after a
claim (invariant 5).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol

from hibernaut.domain.agents.agent_calls import ALL_CALLS, AT_ONCE
from hibernaut.domain.memory import memory_edits
from hibernaut.domain.tools.builtin.builtin_online_schemas import UNAVAILABLE
from hibernaut.domain.tools.time_limits import seconds_of
from hibernaut.domain.tools.tool_returns import as_text
from hibernaut.domain.turn.actor import Call, CallResult
from hibernaut.domain.window.open_calls import INTERRUPTED
from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.ports.tools.tool_runner import ToolOutcome, ToolRunner
from hibernaut.schemas.base import Json
from hibernaut.schemas.errors import MasterKeyUnavailable, place_of
from hibernaut.schemas.faults.secret_errors import SecretUnreadable
from hibernaut.schemas.runs.turn import Claim, ClaimedResult
from hibernaut.schemas.tools.tool import Tool, ToolType
from hibernaut.services.host import Host
from hibernaut.services.steps.spans import tool_span
from hibernaut.services.steps.step_lease import LeaseLost
from hibernaut.services.steps.step_work import StepWork, ToolEffects
from hibernaut.services.tool_calls.agent_calls import RepliesPending
from hibernaut.services.tool_calls.call_policies import CallPolicies, is_limited
from hibernaut.services.tool_calls.custom_tools import CustomTools, longest_output
from hibernaut.services.tool_calls.parallel_calls import PendingResult, at_once, parallel_group
from hibernaut.services.tool_calls.tool_limits import ToolLimits
from hibernaut.store.stores import TenantStores

if TYPE_CHECKING:
    from hibernaut.services.tool_calls.agent_calls import AgentCalls
    from hibernaut.services.tool_calls.file_tools import FileTools
    from hibernaut.services.tool_calls.mcp_calls import McpCalls
    from hibernaut.services.tool_calls.memory_tools import MemoryTools
    from hibernaut.services.tool_calls.online_tools import OnlineTools

MARGIN = timedelta(seconds=15)
"""The time between a tool's own time limit and the deadline of its claim."""
TOO_MUCH = "This was too much to be written at once, so nothing of it was done. Do less in one step."
MEMORY_TOO_MUCH = "The call was made, but its changes to memory were too large for one transaction, so none of them was stored."
MEMORY_REFUSED = "The call was made, but its changes to memory are not allowed, so none of them was stored."
NOT_STARTED = "The tool could not be started, so nothing of it was done."
SENT = "The message was sent."
logger = logging.getLogger(__name__)
LONGEST_ONLINE = 30.0
"""The longest time limit in seconds of a page and of a search."""
_UNCLAIMED = (ToolType.LETTA_CORE, ToolType.LETTA_FILES_CORE)
"""The types of tools that have no effect outside the step's transaction."""
_ONLINE_TYPES = (ToolType.LETTA_BUILTIN, ToolType.LETTA_VOICE_SLEEPTIME_CORE)
_MEMORY_TYPES = (ToolType.LETTA_CORE, ToolType.LETTA_MEMORY_CORE, ToolType.LETTA_SLEEPTIME_CORE)


class ClaimHeld(Exception):
    """Another attempt has claimed the call and may still be running it for up to `seconds` from now."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"claimed for another {seconds:.0f} s")


class LookupTools(Protocol):
    """The tools beside memory and custom ones: they read this server's stores, the web and MCP servers, or write to other agents.
    A call reads the property of its kind, so that what no call needs may stay unbuilt.
    """

    @property
    def recall(self) -> MemoryTools: ...

    @property
    def files(self) -> FileTools: ...

    @property
    def online(self) -> OnlineTools: ...

    @property
    def agents(self) -> AgentCalls: ...

    @property
    def mcp(self) -> McpCalls: ...


class ToolExecution:
    """Executes the tool calls of one step."""

    def __init__(
        self,
        stores: TenantStores,
        host: Host,
        lookups: LookupTools,
        runner: ToolRunner,
        limits: ToolLimits,
    ) -> None:
        self._runs = stores.runs
        self._transactions = stores.transactions
        self._writer = stores.writer
        self._lookups = lookups
        self._policies = CallPolicies(stores, host)
        self.custom = CustomTools(stores, host, runner, limits)
        self._host = host
        self._clock = host.clock
        self._ids = host.ids
        self.limits = limits

    def run(self, work: StepWork, calls: tuple[Call, ...]) -> tuple[tuple[CallResult, ...], ToolEffects]:
        """One result for each call, in order, and the changes for the step's transaction. A failure of a tool is an error result.
        Calls that may be made beside each other are made at once (decision 57).

        Calls to other agents that follow each other wait together. Raises: LeaseLost; ClaimHeld if another attempt may still be
        running a call; RepliesPending if a call waits for other agents.
        """
        effects, results, futures = work.effects, [], dict[int, PendingResult]()
        for index, call in enumerate(calls):
            if index not in futures:
                group = parallel_group(
                    work.turn.actor, calls, index, lambda call: is_outside(work, call) and not is_limited(call)
                )
                futures |= at_once({one: partial(self._outside, work, calls[one], effects) for one in group})
            try:
                result, effects = (
                    apply_result(call, futures[index].result(), effects) if index in futures else self._one(work, call, effects)
                )
            except RepliesPending as first:
                raise self._all_pending(work, calls[index + 1 :], first) from None
            results.append(result)
        return tuple(results), effects

    def _all_pending(self, work: StepWork, later: Sequence[Call], first: RepliesPending) -> RepliesPending:
        """Begin the calls to other agents that follow a waiting one directly, at most `AT_ONCE` in all. Each has its own claim,
        so a repeated step begins none of them again. A call of another kind is made when those before it have returned.
        """
        pending_calls = [first]
        for call in later:
            tool = work.turn.actor.tool(call.name)
            to_agent = call.refusal is None and tool is not None and tool.tool_type == ToolType.LETTA_MULTI_AGENT_CORE
            if not to_agent or is_limited(call) or len(pending_calls) == AT_ONCE:
                break
            try:
                self._lookups.agents.call(work, call)
            except RepliesPending as pending:
                pending_calls.append(pending)
        return min(pending_calls, key=lambda one: one.until)

    def unwritten(self, work: StepWork, results: tuple[CallResult, ...]) -> tuple[tuple[CallResult, ...], ToolEffects]:
        """The results of a step whose transaction is too large. Calls whose changes were part of the transaction get error
        results.
        """
        return tuple(self._unwritten(work, result) for result in results), ToolEffects(work.blocks)

    def _unwritten(self, work: StepWork, result: CallResult) -> CallResult:
        if _is_ours(work, result):
            return _error(result.call, TOO_MUCH)
        claim = self._runs.claim(work.state, result.call.id)
        has_edits = claim is not None and claim.result is not None and claim.result.blocks
        return _error(result.call, MEMORY_TOO_MUCH) if has_edits else result

    def _one(self, work: StepWork, call: Call, effects: ToolEffects) -> tuple[CallResult, ToolEffects]:
        tool = work.turn.actor.tool(call.name)
        if call.refusal is not None or tool is None:
            return self._refused(work, call, effects)
        limit = self._policies.limited(work, call)
        if limit is not None:
            return replace(_error(call, limit), limited=True), effects
        if tool.tool_type == ToolType.LETTA_MULTI_AGENT_CORE:
            return apply_result(call, self._lookups.agents.call(work, call), effects)
        if _is_unavailable(tool, call):
            return _error(call, UNAVAILABLE[call.name]), effects
        if is_outside(work, call):
            return apply_result(call, self._outside(work, call, effects), effects)
        started_at = self._clock.monotonic()
        result, effects = self._inside(work, call, tool, effects)
        return replace(result, spent_ns=self._since(started_at)), effects

    def _since(self, started_at: float) -> int:
        return int((self._clock.monotonic() - started_at) * 1e9)

    def _inside(self, work: StepWork, call: Call, tool: Tool, effects: ToolEffects) -> tuple[CallResult, ToolEffects]:
        if call.name in memory_edits.MEMORY_TOOLS and tool.tool_type in _MEMORY_TYPES:
            return self._memory(call, effects)
        if tool.tool_type == ToolType.LETTA_FILES_CORE:
            return self._in_files(replace(work, effects=effects), call)
        return self._core(work, call, effects)

    def _in_files(self, work: StepWork, call: Call) -> tuple[CallResult, ToolEffects]:
        answer = self._lookups.files.call(work, call)
        effects = replace(work.effects, desk=answer.desk) if answer.desk else work.effects
        return CallResult(call, answer.status, answer.message, answer.message), effects

    def _memory(self, call: Call, effects: ToolEffects) -> tuple[CallResult, ToolEffects]:
        edit = memory_edits.apply(call.name, call.args, effects.blocks)
        message = as_text(edit.message)
        if not edit.changes:
            return CallResult(call, edit.status, message, message), effects
        blocks = memory_edits.changed(effects.blocks, edit.changes)
        return CallResult(call, edit.status, message, message), effects.with_blocks(blocks, call.name)

    def _core(self, work: StepWork, call: Call, effects: ToolEffects) -> tuple[CallResult, ToolEffects]:
        if call.name == "send_message":
            return CallResult(call, "success", SENT, SENT), effects
        answer = self._lookups.recall.call(replace(work, effects=effects), call)
        if answer.passage is not None:
            effects = replace(effects, passages=(*effects.passages, answer.passage))
        text = as_text(answer.message)
        return CallResult(call, answer.status, answer.message if isinstance(answer.message, dict) else text, text), effects

    def _refused(self, work: StepWork, call: Call, effects: ToolEffects) -> tuple[CallResult, ToolEffects]:
        """The error result of a call that is not allowed. If an earlier attempt made the call, when the agent still had the tool,
        the result is that of the claim. Raises: ClaimHeld.
        """
        repeated = work.state.journal or work.state.run.resolve
        claim = self._runs.claim(work.state, call.id) if repeated else None
        if claim is None:
            return _error(call, call.refusal or f"There is no tool {call.name}."), effects
        if claim.name in ALL_CALLS:
            return apply_result(call, self._lookups.agents.call(work, call), effects)
        return apply_result(call, self._of_claim(claim), effects)

    def _outside(self, work: StepWork, call: Call, effects: ToolEffects) -> ClaimedResult:
        """Claim an outside call, make it, and record its result; or the result of another attempt's claim. Raises: LeaseLost,
        ClaimHeld.
        """
        tool = work.turn.actor.tool(call.name)
        assert tool is not None  # noqa: S101 -- it is an outside call
        deadline = self._clock.now() + timedelta(seconds=max(self.limits.timeout, LONGEST_ONLINE)) + MARGIN
        claim = Claim(call_id=call.id, name=call.name, holder=work.state.holder, deadline=deadline)
        token = self._ids.token()
        other = self._claim(work, claim, token)
        if other is not None:
            return self._of_claim(other)
        result = self.performed(replace(work, effects=effects), call, tool)
        self._record(work, claim.model_copy(update={"result": result}), token)
        return result

    def _of_claim(self, claim: Claim) -> ClaimedResult:
        """The recorded result of another attempt's call; without one, an error that says that the call may have been made.

        Raises: ClaimHeld.
        """
        if claim.result is None:
            self._still_held(claim)
            return ClaimedResult(status="error", error=INTERRUPTED)
        return claim.result

    def performed(self, work: StepWork, call: Call, tool: Tool) -> ClaimedResult:
        """Make an outside call of a custom tool, a tool of an MCP server, or a built-in tool that reaches outside, once and
        without a claim.
        """
        started_at = self._clock.monotonic()
        try:
            with self._host.tracer.span(tool_span(call.name)) as span:
                result = self._call(work, call, tool)
                span.error = "" if result.status == "success" else "tool_error"
        except OSError as error:
            logger.error("tool could not be started", extra={"tool": call.name, "place": place_of(error)})
            return ClaimedResult(status="error", error=NOT_STARTED)
        except (SecretUnreadable, MasterKeyUnavailable) as error:
            logger.warning("secret cannot be read", extra={"tool": call.name, "code": error.code})
            return ClaimedResult(status="error", error=f"{NOT_STARTED} {error.detail}")
        spent_ns = self._since(started_at)
        logger.info("tool called", extra={"tool": call.name, "tool_status": result.status, "tool_ms": spent_ns // 1_000_000})
        return result.model_copy(update={"spent_ns": spent_ns})

    def _call(self, work: StepWork, call: Call, tool: Tool) -> ClaimedResult:
        if tool.tool_type is ToolType.LETTA_BUILTIN:
            return self._lookups.online.perform(work, call, longest_output(tool))
        if tool.tool_type is ToolType.EXTERNAL_MCP:
            return self._lookups.mcp.perform(
                work, call, tool, seconds=seconds_of(tool.metadata_, self.limits.timeout), limit=longest_output(tool)
            )
        return _claimed(self.custom.run(work, call, tool, output_limit=longest_output(tool)))

    def _claim(self, work: StepWork, claim: Claim, token: str) -> Claim | None:
        """Claim the call. Returns None on success, else the existing claim of another attempt. Raises: LeaseLost."""
        now = self._clock.now()
        try:
            self._writer.write(*self._transactions.claim(work.state, claim, token, now), token=token)
        except ConditionFailed as failure:
            if 1 in failure.failed:
                raise LeaseLost from failure
            other = self._runs.claim(work.state, claim.call_id)
            if other is None:
                raise LeaseLost from failure
            return other
        return None

    def _still_held(self, claim: Claim) -> None:
        """Raises: ClaimHeld while the claim's holder may be running the call. On a host that runs alone, an earlier process never
        is.
        """
        seconds_left = (claim.deadline - self._clock.now()).total_seconds()
        if seconds_left > 0 and not (self._host.alone and claim.holder != self._host.holder):
            raise ClaimHeld(seconds_left)

    def _record(self, work: StepWork, claim: Claim, token: str) -> None:
        """Write the result to the claim, even if the attempt has lost its lease meanwhile."""
        self._writer.write(self._runs.finish_claim(work.state, claim, token))


def is_outside(work: StepWork, call: Call) -> bool:
    """Whether the call has effects outside the step's transaction, so that it must be claimed first."""
    tool = work.turn.actor.tool(call.name)
    if tool is None or call.refusal is not None or call.needs_approval or tool.tool_type in _UNCLAIMED:
        return False
    if _is_unavailable(tool, call):
        return False
    return call.name not in memory_edits.MEMORY_TOOLS or tool.tool_type not in _MEMORY_TYPES


def _is_unavailable(tool: Tool, call: Call) -> bool:
    return tool.tool_type in _ONLINE_TYPES and call.name in UNAVAILABLE


def _is_ours(work: StepWork, result: CallResult) -> bool:
    writes = result.call.name in memory_edits.MEMORY_TOOLS or result.call.name in ("archival_memory_insert", "open_files")
    return writes and result.status == "success" and not is_outside(work, result.call)


def _error(call: Call, text: str) -> CallResult:
    return CallResult(call, "error", text, text)


def _claimed(outcome: ToolOutcome) -> ClaimedResult:
    return ClaimedResult(
        status=outcome.status,
        value=outcome.value,
        error=outcome.error,
        stdout=list(outcome.stdout),
        stderr=list(outcome.stderr),
        blocks=dict(outcome.blocks),
    )


def apply_result(call: Call, result: ClaimedResult, effects: ToolEffects) -> tuple[CallResult, ToolEffects]:
    """The result of an outside call, and the effects with its edits of core memory. Edits that memory does not allow make the
    result an error, and are discarded.
    """
    if result.used is not None:
        effects = replace(effects, used=result.used.plus(effects.used))
    edits = memory_edits.written_over(result.blocks, effects.blocks)
    if edits.status == "error":
        failure = result.model_copy(update={"status": "error"})
        return _result(call, failure, f"{MEMORY_REFUSED} {edits.message}"), effects
    if edits.changes:
        effects = effects.with_blocks(memory_edits.changed(effects.blocks, edits.changes), call.name)
    return _result(call, result, result.value if result.status == "success" else result.error), effects


def _result(call: Call, result: ClaimedResult, message: Json) -> CallResult:
    status: Literal["success", "error"] = result.status
    text = as_text(message)
    packed = message if isinstance(message, dict) else text
    stdout, stderr, images = tuple(result.stdout), tuple(result.stderr), tuple(result.images)
    return CallResult(call, status, packed, text, stdout, stderr, images, spent_ns=result.spent_ns)
