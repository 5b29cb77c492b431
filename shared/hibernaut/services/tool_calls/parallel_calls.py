"""Which calls of a reply are made at once, and on which threads (decision 57; RT 2.4). Must not know claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context

from hibernaut.domain.turn.actor import Actor, Call
from hibernaut.schemas.runs.turn import ClaimedResult
from hibernaut.schemas.tools.tool import ToolType

MOST_AT_ONCE = 8
"""How many calls of one step are made at once; the others wait for one of these to end."""
PendingResult = Future[ClaimedResult]


def parallel_group(actor: Actor, calls: Sequence[Call], first: int, is_outside: Callable[[Call], bool]) -> list[int]:
    """The indices of the calls from `first` on that are made at once. Empty if these are fewer than two.

    All calls up to the first one whose tool may not run beside others belong to the group. Of these only the outside ones are
    made at once: the others read this server's stores, and read the effects of the calls before them. No call is made at once
    with another one of the same id.
    """
    group: dict[str, int] = {}
    for index in range(first, len(calls)):
        call = calls[index]
        tool = actor.tool(call.name)
        if tool is None or not tool.enable_parallel_execution or call.refusal is not None or call.id in group:
            break
        if tool.tool_type != ToolType.LETTA_MULTI_AGENT_CORE and is_outside(call):
            group[call.id] = index
    return list(group.values()) if len(group) > 1 else []


def at_once(calls: Mapping[int, Callable[[], ClaimedResult]]) -> dict[int, PendingResult]:
    """Make the calls, each on a thread in a copy of the caller's context, and wait for all. Each has its result, or the error
    that it raised.
    """
    if not calls:
        return {}
    with ThreadPoolExecutor(min(len(calls), MOST_AT_ONCE), thread_name_prefix="tool") as pool:
        return {place: pool.submit(copy_context().run, make) for place, make in calls.items()}
