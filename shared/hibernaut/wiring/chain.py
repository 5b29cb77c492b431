"""What advances runs, put together from its parts: the same for every profile. Imports no engine."""

from __future__ import annotations

from dataclasses import dataclass

from hibernaut.ports.model import Models
from hibernaut.ports.tool_runner import ToolRunner
from hibernaut.services.approvals import Approvals
from hibernaut.services.asking import Asking
from hibernaut.services.attempts import Attempts
from hibernaut.services.calls import Calls, Lookups, ToolLimits
from hibernaut.services.commits import Commits
from hibernaut.services.compaction import Compactions
from hibernaut.services.compaction import Parts as CompactionParts
from hibernaut.services.endings import Endings
from hibernaut.services.file_tools import FileTools
from hibernaut.services.host import Host
from hibernaut.services.memory_changes import MemoryChanges
from hibernaut.services.memory_search import MemorySearch
from hibernaut.services.memory_sources import MemorySources, NoEmbedders
from hibernaut.services.prompts import Prompts
from hibernaut.services.recall import Recall
from hibernaut.services.repairs import Repairs
from hibernaut.services.sending import Sending
from hibernaut.services.step_commits import StepCommits
from hibernaut.services.sweep import Sweep
from hibernaut.services.turn_work import Loader
from hibernaut.services.turns import Parts, Turns
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
    lookups = Lookups(Recall(stores, host, search), FileTools(stores, host, search))
    calls = Calls(stores, host, lookups, runner, limits)
    attempts = Attempts(stores, host)
    parts = Parts(
        attempts=attempts,
        loader=loader,
        asking=Asking(stores, models, host),
        calls=calls,
        landing=StepCommits(stores, host, memory=MemoryChanges(stores, host), commits=commits),
        endings=endings,
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
