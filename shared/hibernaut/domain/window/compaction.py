"""Divides a window into the part for the summary and the part that remains (RT 6.2, 6.3). Knows neither a model nor
a clock.

A mode decides where to cut. If a mode finds no cut, or its summary fails, the next mode of its chain follows. Every chain ends
with `window.drop_oldest_turns`, which needs no model (invariant 9).
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.models.model_settings import reasoning_defaults, with_settings
from hibernaut.domain.window.window import cuts, newest_input, threshold, tokens, without
from hibernaut.schemas.agents.agent import AgentType
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.models.model_settings import CompactionMode, CompactionSettings

WIDER = 0.1
"""The step by which the sliding window increases the share of messages that it summarises."""
LEAST_SUMMARY = 100
"""The smallest useful room for a summary, in tokens."""
HALF = 0.5
"""The largest share of the window for the newest step of a run that stays when everything else is summarised."""
SUMMARY_SHARE = 0.25
"""The largest share of the context window that a summary may fill."""
REPLY_SHARE, LONGEST_REPLY = 0.2, 8192
"""The limits of a summariser's output: a share of its own window, and an absolute number of tokens."""


@immutable
class Split:
    """A divided window: `gone` is replaced by the summary (an earlier summary comes first), `kept` follows the summary. Neither
    contains the system message.

    `prefix` is the beginning of the window up to the cut, which the provider of the agent's model has cached.
    """

    gone: tuple[Message, ...]
    kept: tuple[Message, ...]
    prefix: tuple[Message, ...]


@immutable
class Measures:
    """The sizes for judging a window, in tokens of our own count.

    `context_window` is the model's, reduced if the provider refused a smaller request; `fixed` is the size of everything that is
    sent besides messages.
    """

    context_window: int
    fixed: int = 0

    @classmethod
    def of(cls, context_window: int, size: int, fixed: int, correction: float, *, exceeded: bool) -> Measures:
        """The measures of a request of `size` tokens; `exceeded`: the provider refused it as too long."""
        limit = int(context_window / correction)
        return cls(min(limit, size) if exceeded else limit, fixed)

    def share(self, part: float) -> int:
        """The tokens available for messages if the whole request is to fill this share of the window."""
        return int(part * self.context_window) - self.fixed


def chain(mode: CompactionMode, failed_compactions: int = 0) -> tuple[CompactionMode, ...]:
    """The modes to try, in order. `failed_compactions` counts the compactions of the same step that did not free enough room."""
    if failed_compactions > 1:
        return ()
    match mode:
        case "self_compact_all":
            return (mode, "self_compact_sliding_window", "all") if not failed_compactions else (mode, "all")
        case "self_compact_sliding_window":
            return (mode, "all") if not failed_compactions else ("self_compact_all", "all")
        case "sliding_window":
            return (mode, "all") if not failed_compactions else ("all",)
        case "all":
            return (mode,)


def split(
    mode: CompactionMode, messages: Sequence[Message], settings: CompactionSettings, measures: Measures, run_id: str | None
) -> Split | None:
    """The divided window; None if this mode finds no cut. The first of `messages` is the system message.

    The input of the current run always remains, and so do calls without returns.
    """
    rows = messages[1:]
    remaining_ids = newest_input(rows, run_id) if run_id else frozenset()
    system = tokens(messages[:1])
    least = 1 if run_id else 2  # a run needs room, an API caller wants fewer messages
    places = [place for place in cuts(rows) if _shrinks(rows[:place], remaining_ids, least)]
    if mode in ("all", "self_compact_all"):
        place = _everything(rows, places, measures.share(HALF) - system, remaining_ids, run_id)
    else:
        share = min(1.0, max(0.0, settings.sliding_window_percentage))
        place = _sliding(rows, places, share, measures.share(1 - share) - system, remaining_ids)
    if place is None:
        return None
    remaining = without(rows, place, remaining_ids)
    leaving = tuple(row for row in rows[:place] if row.id not in remaining_ids)
    return Split(leaving, remaining, tuple(messages[: place + 1]))


def room_for_summary(system: Message, kept: Sequence[Message], measures: Measures) -> int:
    """The tokens available for the summary."""
    limit = measures.context_window
    return min(int(SUMMARY_SHARE * limit), threshold(limit) - measures.fixed - tokens([system, *kept]))


def merged(own: CompactionSettings | None, requested: CompactionSettings | None) -> CompactionSettings:
    """The agent's settings with those of a request on top; a different mode uses its own prompt (RT 6.7)."""
    settings = own or CompactionSettings()
    if requested is None:
        return settings
    changes = {name: getattr(requested, name) for name in requested.model_fields_set if getattr(requested, name) is not None}
    if "clip_chars" in requested.model_fields_set:
        changes["clip_chars"] = requested.clip_chars
    if changes.get("mode", settings.mode) != settings.mode:
        settings = settings.model_copy(update={"prompt": None})
    return settings.model_copy(update=changes)


def summariser(config: LLMConfig, settings: CompactionSettings | None = None) -> LLMConfig:
    """The configuration for summarising with a model: no reasoning, no tools, no response format, and a limited reply."""
    if settings is not None and settings.model_settings is not None:
        config = with_settings(config, settings.model_settings)
    longest = min(config.max_tokens or LONGEST_REPLY, LONGEST_REPLY, max(1, int(REPLY_SHARE * config.context_window)))
    plain = {"max_tokens": longest, "response_format": None, "enable_reasoner": False, "reasoning_effort": None}
    return reasoning_defaults(config.model_copy(update=plain), AgentType.LETTA_V1)


def _shrinks(rows: Sequence[Message], remaining_ids: frozenset[str], least: int) -> bool:
    """Whether enough leaves the window to justify a summary: at least one conversational row, and at least `least` rows in
    all.
    """
    leaving = [row for row in rows if row.id not in remaining_ids]
    return len(leaving) >= least and any(row.role != "summary" for row in leaving)


def _everything(
    rows: Sequence[Message], places: Sequence[int], room: int, remaining_ids: frozenset[str], run_id: str | None
) -> int | None:
    """The last possible cut. The newest step of the current run remains if there is room, because the model has not seen its
    returns yet.
    """
    if not places:
        return None
    place = places[-1]
    steps = [each for each in places[:-1] if run_id and any(row.run_id == run_id and row.step_id for row in rows[each:place])]
    if steps and tokens(without(rows, steps[-1], remaining_ids)) <= room:
        return steps[-1]
    return place


def _sliding(
    rows: Sequence[Message], places: Sequence[int], share: float, room: int, remaining_ids: frozenset[str]
) -> int | None:
    """The smallest share of the messages, in steps from `share` upwards, whose removal makes the rest fit (RT 6.3)."""
    inner = [place for place in places if place < len(rows)]
    for number in range(1, round((1.0 - share) / WIDER) + 1):
        end = round((share + number * WIDER) * (len(rows) + 1)) - 1
        cuts_before = [place for place in inner if place <= end]
        if cuts_before and tokens(without(rows, cuts_before[-1], remaining_ids)) < room:
            return cuts_before[-1]
    return None
