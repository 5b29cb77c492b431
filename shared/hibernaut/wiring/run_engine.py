"""What advances runs, put together from its parts: the same for every profile. Imports no engine."""

from __future__ import annotations

from dataclasses import dataclass

from hibernaut.ports.model import Models
from hibernaut.ports.tool_runner import ToolRunner
from hibernaut.services.host import Host
from hibernaut.services.prompt.system_messages import Prompts
from hibernaut.services.runs.repairs import Repairs
from hibernaut.services.runs.sending import Sending
from hibernaut.services.runs.sweep import Sweep
from hibernaut.services.search.hybrid_search import MemorySearch
from hibernaut.services.search.search_sources import MemorySources, NoEmbedders
from hibernaut.services.steps.model_step import Asking
from hibernaut.services.steps.step_lease import Attempts
from hibernaut.services.steps.step_work import Loader
from hibernaut.services.tool_calls.file_tools import FileTools
from hibernaut.services.tool_calls.memory_changes import MemoryChanges
from hibernaut.services.tool_calls.memory_tools import Recall
from hibernaut.services.tool_calls.online_tools import OnlineTools
from hibernaut.services.tool_calls.tool_execution import Calls, Lookups, ToolLimits
from hibernaut.services.turns.approvals import Approvals
from hibernaut.services.turns.compaction import Compactions
from hibernaut.services.turns.compaction import Parts as CompactionParts
from hibernaut.services.turns.run_commits import Commits
from hibernaut.services.turns.run_termination import Endings
from hibernaut.services.turns.step_commits import StepCommits
from hibernaut.services.turns.turns import Parts, Turns
from hibernaut.store.stores import Stores


@dataclass(frozen=True, slots=True)
class Chain:
    """The use cases behind a run's steps."""

    turns: Turns
    endings: Endings
    approvals: Approvals
    sending: Sending
    repairs: Repairs
    sweep: Sweep
    compactions: Compactions
    prompts: Prompts
    loader: Loader
    calls: Calls
    runner: ToolRunner
    search: MemorySearch


def chain_over(
    stores: Stores, host: Host, models: Models, runner: ToolRunner, limits: ToolLimits, search: MemorySearch | None = None
) -> Chain:
    """The chain of steps over these stores, on this host. Without `search` memory is found by words, in the table."""
    search = search or MemorySearch(stores, None, MemorySources(stores, NoEmbedders()))
    prompts = Prompts(stores, host.clock)
    loader = Loader(stores, prompts, models)
    commits = Commits(stores, host)
    approvals = Approvals(stores, host)
    endings = Endings(stores, host, loader=loader, commits=commits, approvals=approvals)
    lookups = Lookups(Recall(stores, host, search), FileTools(stores, host, search), OnlineTools(host))
    calls = Calls(stores, host, lookups, runner, limits)
    attempts = Attempts(stores, host)
    parts = Parts(
        attempts=attempts,
        loader=loader,
        asking=Asking(stores, models, host),
        calls=calls,
        landing=StepCommits(stores, host, memory=MemoryChanges(stores, host), commits=commits),
        endings=endings,
        commits=commits,
    )
    turns = Turns(stores, host, parts)
    sending = Sending(stores, host, models, endings=endings, approvals=approvals)
    repairs = Repairs(stores, host, approvals=approvals, commits=commits)
    compactions = Compactions(
        stores, host, models, CompactionParts(attempts=attempts, loader=loader, prompts=prompts, commits=commits)
    )
    return Chain(
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
