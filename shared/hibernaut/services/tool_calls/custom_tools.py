"""Runs custom tools: the input of a call (RT 10.3, 10.4), and its limits. Must not know claims: the caller has
claimed the call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from hibernaut.domain.tools.time_limits import seconds_of
from hibernaut.domain.turn.actor import Call
from hibernaut.ports.tools.tool_access import NO_TOOL_ACCESS
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome, ToolRunner
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.tools.package_set import PackageSet
from hibernaut.schemas.tools.tool import NpmRequirement, Tool
from hibernaut.services.host import Host
from hibernaut.services.steps.step_work import StepWork, ToolEffects
from hibernaut.services.tool_calls.tool_environments import ToolEnvironments
from hibernaut.services.tool_calls.tool_limits import ToolLimits
from hibernaut.store.stores import TenantStores


class CustomTools:
    """Runs the custom tools of one tenant's agents."""

    def __init__(self, stores: TenantStores, host: Host, runner: ToolRunner, limits: ToolLimits) -> None:
        self._tenant = stores.tenant
        self.environments = ToolEnvironments(stores)
        self._host = host
        self._runner = runner
        self._limits = limits

    def run(self, work: StepWork, call: Call, tool: Tool, *, output_limit: int) -> ToolOutcome:
        """Run a tool once, with the agent's secrets and memory, and with a client for the call's agent. Raises: OSError if it
        cannot be started; SecretUnreadable, MasterKeyUnavailable.
        """
        if (reason := unrunnable(tool.npm_requirements)) is not None:
            return ToolOutcome("error", error=f"Error executing function {call.name}: ImportError: {reason}")
        with self._access(work, tool) as access:
            outcome = self._runner.run(self._job(work, call, tool, client=access, output_limit=output_limit))
        return explained(outcome, tool)

    @contextmanager
    def _access(self, work: StepWork, tool: Tool) -> Iterator[Mapping[str, str] | None]:
        """A tool's access to this server during one call, as `ToolJob.client`: none if its Python source does not contain
        `client`.
        """
        uses_client = tool.source_type == "typescript" or "client" in (tool.source_code or "")
        open_access = self._host.tool_access.open if uses_client else NO_TOOL_ACCESS.open
        access = open_access(self._tenant, work.agent.id, work.state.run.key_id)
        try:
            yield access
        finally:
            self._host.tool_access.close(access)

    def _job(self, work: StepWork, call: Call, tool: Tool, *, client: Mapping[str, str] | None, output_limit: int) -> ToolJob:
        return ToolJob(
            name=call.name,
            source_code=tool.source_code or "",
            args=call.args,
            json_schema=tool.json_schema,
            args_json_schema=tool.args_json_schema,
            source_type=tool.source_type,
            environment=self.environments.of(work.agent, tool.id),
            agent_id=work.agent.id,
            tenant=self._tenant,
            packages=packages_of(tool.packages),
            agent_state=snapshot(work, work.effects),
            timeout=seconds_of(tool.metadata_, self._limits.timeout),
            memory=self._limits.memory,
            output_limit=output_limit,
            client=client,
        )


def unrunnable(packages: Sequence[NpmRequirement] | None) -> str | None:
    """The reason why a tool that requires these packages of npm cannot be run; None if it requires none."""
    if not packages:
        return None
    names = ", ".join(package.name for package in packages)[:200]
    return f"this server installs no packages of npm ({names}): use what Node has, or put their code into the source"


def packages_of(packages: PackageSet | None) -> JsonObject | None:
    """The packages of a tool, as `ToolJob.packages`. A tool of a release that installed none has none."""
    return None if packages is None else packages.model_dump(mode="json")


def explained(outcome: ToolOutcome, tool: Tool) -> ToolOutcome:
    """The outcome. Its error explains a missing module if the packages of the tool were never installed, for example after an
    import without the index.
    """
    error = outcome.error or ""
    if not tool.pip_requirements or tool.packages is not None or "ModuleNotFoundError: " not in error:
        return outcome
    names = ", ".join(each.name for each in tool.pip_requirements)[:200]
    hint = f"The packages that this tool requires ({names}) are not installed. PATCH /v1/tools/{tool.id} with its pip_requirements installs them."
    return replace(outcome, error=f"{error.rstrip('.')}. {hint}")


def longest_output(tool: Tool) -> int:
    """The characters of a call's output that are retained: more than the model receives, because the return states the full
    length.
    """
    return max(tool.return_char_limit * 2, 10_000)


def snapshot(work: StepWork, effects: ToolEffects) -> JsonObject:
    """The agent's state for a custom tool: without tools, rules and secrets."""
    agent = work.agent
    blocks = [{"id": block.id, "label": block.label, "value": block.value, "limit": block.limit} for block in effects.blocks]
    return {
        "id": agent.id,
        "name": agent.name,
        "agent_type": agent.agent_type.value,
        "tags": agent.tags,
        "memory": {"blocks": blocks},
    }
