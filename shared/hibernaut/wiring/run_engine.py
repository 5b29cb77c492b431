"""What advances runs, put together from its parts: the same for every profile. Imports no engine."""

from __future__ import annotations

from dataclasses import dataclass

from hibernaut.ports.model import Models
from hibernaut.ports.tool_runner import ToolRunner
from hibernaut.services.host import Host
from hibernaut.services.prompt.system_messages import SystemMessages
from hibernaut.services.runs.repairs import Repairs
from hibernaut.services.runs.sending import Sending
from hibernaut.services.runs.sweep import Sweep
from hibernaut.services.search.hybrid_search import HybridSearch
from hibernaut.services.search.search_sources import NoEmbedders, SearchSources
from hibernaut.services.steps.model_step import ModelStep
from hibernaut.services.steps.step_lease import StepLease
from hibernaut.services.steps.step_work import StepLoader
from hibernaut.services.tool_calls.file_tools import FileTools
from hibernaut.services.tool_calls.memory_changes import MemoryChanges
from hibernaut.services.tool_calls.memory_tools import MemoryTools
from hibernaut.services.tool_calls.online_tools import OnlineTools
from hibernaut.services.tool_calls.tool_execution import LookupTools, ToolExecution, ToolLimits
from hibernaut.services.turns.approvals import ApprovalAnswers
from hibernaut.services.turns.compaction import Compaction, CompactionParts
from hibernaut.services.turns.run_commits import RunCommits
from hibernaut.services.turns.run_termination import RunTermination
from hibernaut.services.turns.step_commits import StepCommits
from hibernaut.services.turns.turn_engine import EngineParts, TurnEngine
from hibernaut.store.stores import Stores


@dataclass(frozen=True, slots=True)
class RunEngine:
    """The use cases behind a run's steps."""

    turns: TurnEngine
    endings: RunTermination
    approvals: ApprovalAnswers
    sending: Sending
    repairs: Repairs
    sweep: Sweep
    compactions: Compaction
    prompts: SystemMessages
    loader: StepLoader
    calls: ToolExecution
    runner: ToolRunner
    search: HybridSearch


def run_engine_over(
    stores: Stores, host: Host, models: Models, runner: ToolRunner, limits: ToolLimits, search: HybridSearch | None = None
) -> RunEngine:
    """The chain of steps over these stores, on this host. Without `search` memory is found by words, in the table."""
    search = search or HybridSearch(stores, None, SearchSources(stores, NoEmbedders()))
    prompts = SystemMessages(stores, host.clock)
    loader = StepLoader(stores, prompts, models)
    commits = RunCommits(stores, host)
    approvals = ApprovalAnswers(stores, host)
    endings = RunTermination(stores, host, loader=loader, commits=commits, approvals=approvals)
    lookups = LookupTools(MemoryTools(stores, host, search), FileTools(stores, host, search), OnlineTools(host))
    calls = ToolExecution(stores, host, lookups, runner, limits)
    attempts = StepLease(stores, host)
    parts = EngineParts(
        attempts=attempts,
        loader=loader,
        asking=ModelStep(stores, models, host),
        calls=calls,
        landing=StepCommits(stores, host, memory=MemoryChanges(stores, host), commits=commits),
        endings=endings,
        commits=commits,
    )
    turns = TurnEngine(stores, host, parts)
    sending = Sending(stores, host, models, endings=endings, approvals=approvals)
    repairs = Repairs(stores, host, approvals=approvals, commits=commits)
    compactions = Compaction(
        stores, host, models, CompactionParts(attempts=attempts, loader=loader, prompts=prompts, commits=commits)
    )
    return RunEngine(
        turns=turns,
        endings=endings,
        approvals=approvals,
        sending=sending,
        repairs=repairs,
        sweep=Sweep(stores, host, endings, approvals),
        compactions=compactions,
        prompts=prompts,
        loader=loader,
        calls=calls,
        runner=runner,
        search=search,
    )
