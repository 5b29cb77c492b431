"""Which part of a window is put into a summary, and which stays (run-time digest 6.2, 6.3). No model, no clock.

A window is divided by a mode; where a mode finds no place to do so, or its summary cannot be had, the next of its chain is tried. At the
end of every chain stands `window.drop_oldest_turns`, which needs nobody (invariant 9).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hibernaut.domain.models.model_settings import reasoning_defaults, with_settings
from hibernaut.domain.turn.window import cuts, newest_input, threshold, tokens, without
from hibernaut.schemas.agent import AgentType
from hibernaut.schemas.llm_config import LLMConfig
from hibernaut.schemas.message import Message
from hibernaut.schemas.model_settings import CompactionMode, CompactionSettings

WIDER = 0.1
"""By how much more of the messages each try of the sliding window takes."""
LEAST_SUMMARY = 100
"""Tokens that there must be room for, or a summary is not worth asking for."""
HALF = 0.5
"""The share of the window up to which the newest step of a run stays where everything else is put into the summary."""
SUMMARY_SHARE = 0.25
"""The share of the context window that a summary may fill at most."""
REPLY_SHARE, LONGEST_REPLY = 0.2, 8192
"""What a summariser may write: a share of its own window, and never more than this many tokens."""


@dataclass(frozen=True, slots=True)
class Split:
    """`gone` is what the summary will stand for, an earlier summary first; `kept` stays behind it. The system message is in neither.

    `prefix` is the beginning of the window up to the cut, as the agent's own model has it cached.
    """

    gone: tuple[Message, ...]
    kept: tuple[Message, ...]
    prefix: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Measures:
    """The sizes that a window is judged by, in tokens of our own count.

    `context_window` is the model's, less where the provider refused a smaller request; `fixed` is what is sent beside the messages.
    """

    context_window: int
    fixed: int = 0

    @classmethod
    def of(cls, context_window: int, size: int, fixed: int, correction: float, *, exceeded: bool) -> Measures:
        """`size` is the whole request's, which the provider refused if `exceeded`."""
        limit = int(context_window / correction)
        return cls(min(limit, size) if exceeded else limit, fixed)

    def share(self, part: float) -> int:
        """Tokens that the messages may have, so that all that is sent fills this part of the window."""
        return int(part * self.context_window) - self.fixed


def chain(mode: CompactionMode, again: int = 0) -> tuple[CompactionMode, ...]:
    """The modes that are tried in turn. `again`: how often this step has made room before without its being enough."""
    if again > 1:
        return ()
    match mode:
        case "self_compact_all":
            return (mode, "self_compact_sliding_window", "all") if not again else (mode, "all")
        case "self_compact_sliding_window":
            return (mode, "all") if not again else ("self_compact_all", "all")
        case "sliding_window":
            return (mode, "all") if not again else ("all",)
        case "all":
            return (mode,)


def split(
    mode: CompactionMode, messages: Sequence[Message], settings: CompactionSettings, measures: Measures, run_id: str | None
) -> Split | None:
    """The window divided; None where this mode finds no place for it. `messages` has the system message at its head.

    What the run under way was sent stays in any case, and so do calls that wait for their returns.
    """
    rows = messages[1:]
    stays = newest_input(rows, run_id) if run_id else frozenset()
    system = tokens(messages[:1])
    least = 1 if run_id else 2  # a run needs room, a caller wants fewer messages
    places = [place for place in cuts(rows) if _shrinks(rows[:place], stays, least)]
    if mode in ("all", "self_compact_all"):
        place = _everything(rows, places, measures.share(HALF) - system, stays, run_id)
    else:
        share = min(1.0, max(0.0, settings.sliding_window_percentage))
        place = _sliding(rows, places, share, measures.share(1 - share) - system, stays)
    if place is None:
        return None
    kept = without(rows, place, stays)
    gone = tuple(row for row in rows[:place] if row.id not in stays)
    return Split(gone, kept, tuple(messages[: place + 1]))


def room_for_summary(system: Message, kept: Sequence[Message], measures: Measures) -> int:
    """Tokens that the summary may have."""
    limit = measures.context_window
    return min(int(SUMMARY_SHARE * limit), threshold(limit) - measures.fixed - tokens([system, *kept]))


def merged(own: CompactionSettings | None, given: CompactionSettings | None) -> CompactionSettings:
    """The agent's settings under those of a request: another mode brings its own prompt (run-time digest 6.7)."""
    settings = own or CompactionSettings()
    if given is None:
        return settings
    changes = {name: getattr(given, name) for name in given.model_fields_set if getattr(given, name) is not None}
    if "clip_chars" in given.model_fields_set:
        changes["clip_chars"] = given.clip_chars
    if changes.get("mode", settings.mode) != settings.mode:
        settings = settings.model_copy(update={"prompt": None})
    return settings.model_copy(update=changes)


def summariser(config: LLMConfig, settings: CompactionSettings | None = None) -> LLMConfig:
    """A model as it is asked for a summary: without reasoning, tools and forms, and with a bounded reply."""
    if settings is not None and settings.model_settings is not None:
        config = with_settings(config, settings.model_settings)
    longest = min(config.max_tokens or LONGEST_REPLY, LONGEST_REPLY, max(1, int(REPLY_SHARE * config.context_window)))
    plain = {"max_tokens": longest, "response_format": None, "enable_reasoner": False, "reasoning_effort": None}
    return reasoning_defaults(config.model_copy(update=plain), AgentType.LETTA_V1)


def _shrinks(rows: Sequence[Message], stays: frozenset[str], least: int) -> bool:
    """Whether enough goes that a summary is worth its place: something that was said, and `least` rows in all."""
    gone = [row for row in rows if row.id not in stays]
    return len(gone) >= least and any(row.role != "summary" for row in gone)


def _everything(
    rows: Sequence[Message], places: Sequence[int], room: int, stays: frozenset[str], run_id: str | None
) -> int | None:
    """As far as possible; the newest step of the run under way stays where there is room for it: its returns were never seen."""
    if not places:
        return None
    place = places[-1]
    steps = [each for each in places[:-1] if run_id and any(row.run_id == run_id and row.step_id for row in rows[each:place])]
    if steps and tokens(without(rows, steps[-1], stays)) <= room:
        return steps[-1]
    return place


def _sliding(rows: Sequence[Message], places: Sequence[int], share: float, room: int, stays: frozenset[str]) -> int | None:
    """The first share of the messages, from `share` on in steps, without which the rest fits (run-time digest 6.3)."""
    inner = [place for place in places if place < len(rows)]
    for number in range(1, round((1.0 - share) / WIDER) + 1):
        upto = round((share + number * WIDER) * (len(rows) + 1)) - 1
        fitting = [place for place in inner if place <= upto]
        if fitting and tokens(without(rows, fitting[-1], stays)) < room:
            return fitting[-1]
    return None
