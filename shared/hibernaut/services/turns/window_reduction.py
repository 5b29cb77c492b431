"""Reduction of a window: a summary replaces its oldest messages, or they are dropped if no summary is available.

The module works on values: it neither reads nor writes the table. It calls models through `services.models.summarizer` only.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from hibernaut.domain.models.tokens import count
from hibernaut.domain.window import summaries, window
from hibernaut.domain.window.compaction import LEAST_SUMMARY, Measures, Split, chain, room_for_summary, split
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.errors import MODEL_CALL_ERRORS, HibernautError
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.letta_message import CompactionStats
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.models.compaction import CompactionPlan, DroppedMessage
from hibernaut.schemas.models.model_settings import CompactionMode
from hibernaut.services.host import Host
from hibernaut.services.models.summarizer import Summarizer, SummaryBudget, SummarySubject

SHOWN = 200
"""Characters of a message that a plan shows."""
logger = logging.getLogger(__name__)


@immutable
class CompactionInput:
    """The window to compact. `run_id`: the active run, None for a compaction on request. `again`: the number of compactions that
    the run's current step has had before.
    """

    messages: tuple[Message, ...]
    head: Head
    subject: SummarySubject
    measures: Measures
    trigger: str
    run_id: str | None = None
    again: int = 0

    @property
    def size(self) -> int:
        return window.tokens(self.messages) + self.subject.fixed_tokens


@immutable
class CompactionResult:
    """The reduced window. `kept` begins with the unchanged system message; the `summary`, if there is one, follows it."""

    kept: tuple[Message, ...]
    summary: Message | None = None
    text: str = ""

    @property
    def size(self) -> int:
        return window.tokens(self.kept) + window.tokens([self.summary] if self.summary else [])

    @property
    def messages(self) -> tuple[Message, ...]:
        """The window in order."""
        return self.kept if self.summary is None else (self.kept[0], self.summary, *self.kept[1:])


def divisions(sight: CompactionInput) -> Iterator[tuple[CompactionMode, Split, int]]:
    """The modes of the chain that can divide the window, in order, with what leaves it and the tokens that its summary may have."""
    for mode in chain(sight.subject.settings.mode, sight.again):
        divided = split(mode, sight.messages, sight.subject.settings, sight.measures, sight.run_id)
        if divided is None:
            continue
        room = room_for_summary(sight.messages[0], divided.kept, sight.measures) - summaries.ENVELOPE_TOKENS
        if room >= LEAST_SUMMARY:
            yield mode, divided, room


def plan_of(sight: CompactionInput) -> CompactionPlan:
    """What a compaction would drop, and what would stay. Calls no model."""
    correction, limit = sight.subject.correction, sight.subject.actor.config.context_window
    mode, divided, room = next(divisions(sight), (None, Split((), sight.messages[1:], ()), 0))
    kept = window.tokens([sight.messages[0], *divided.kept]) + sight.subject.fixed_tokens

    def counted(tokens: int) -> int:
        return int(tokens * correction)

    return CompactionPlan(
        mode=mode,
        context_window=limit,
        threshold=window.threshold(limit),
        tokens=counted(sight.size),
        tokens_after=counted(kept),
        summary_limit=counted(room),
        num_messages=len(sight.messages),
        num_messages_after=1 + len(divided.kept) + (mode is not None),
        dropped=[
            DroppedMessage(
                id=row.id,
                role=row.role,
                created_at=row.created_at,
                tokens=counted(window.tokens_of(row)),
                text=_said(row)[:SHOWN],
            )
            for row in divided.gone
        ],
    )


def _said(row: Message) -> str:
    """What a message says, or the calls that it makes."""
    return row.text() or ", ".join(f"{call.function.name}({call.function.arguments})" for call in row.tool_calls or ())


class WindowReduction:
    """Computes a reduced window."""

    def __init__(self, host: Host, summarising: Summarizer) -> None:
        self._summarising = summarising
        self._clock = host.clock
        self._ids = host.ids

    def made(self, sight: CompactionInput, effort: SummaryBudget) -> CompactionResult | None:
        """The reduced window, even if every summariser fails (invariant 9). None if no further message can be removed.

        Raises: the error of the cancellation watch (`effort.eye`).
        """
        try:
            made = self.summarised(sight, effort)
        except MODEL_CALL_ERRORS as error:
            logger.warning("window is made smaller without a summary", extra={"run_id": sight.run_id, "code": error.code})
            made = None
        return made or self.dropped(sight)

    def summarised(self, sight: CompactionInput, effort: SummaryBudget) -> CompactionResult | None:
        """The result of the first mode in the chain that reduces the window. None if no mode can divide the window, or none
        reduces it.

        Raises: HibernautError, the last summariser's, if a mode could divide the window but no summary was produced; the error of
        the cancellation watch (`effort.eye`).
        """
        failure: HibernautError | None = None
        settings = sight.subject.settings
        for mode, divided, room in divisions(sight):
            try:
                answer = self._summarising.summarise(mode, divided, sight.subject, effort)
            except MODEL_CALL_ERRORS as error:
                logger.warning("mode of compaction failed", extra={"mode": mode, "code": error.code})
                failure = error
                continue
            text = summaries.clipped(answer, settings.clip_chars, room)
            made = self._with_summary(sight, divided.kept, text)
            if sight.run_id is None or made.size < window.tokens(sight.messages):
                return made
        if failure is not None:
            raise failure
        return None

    def _with_summary(self, sight: CompactionInput, kept: tuple[Message, ...], text: str) -> CompactionResult:
        now, actor = self._clock.now(), sight.subject.actor
        correction, fixed = sight.subject.correction, sight.subject.fixed_tokens
        room = window.tokens([sight.messages[0], *kept]) + fixed
        stats = CompactionStats(
            trigger=sight.trigger,
            context_tokens_before=int(sight.size * correction),
            context_tokens_after=0,
            context_window=actor.config.context_window,
            messages_count_before=len(sight.messages),
            messages_count_after=len(kept) + 2,
        )
        hidden = max(0, sight.head.messages - len(kept) - 1)
        packed = summaries.packed(text, hidden, stats, now, actor.timezone)
        stats.context_tokens_after = int((room + window.ROW_TOKENS + count(packed)) * correction)
        row = Message(
            id=self._ids.new("message", after=sight.head.last_message),
            role="summary",
            content=[TextContent(text=summaries.packed(text, hidden, stats, now, actor.timezone))],
            agent_id=actor.agent_id,
            conversation_id=actor.conversation_id,
            run_id=sight.run_id,
            created_at=now,
        )
        window.measured([row])
        return CompactionResult((sight.messages[0], *kept), row, text)

    def dropped(self, sight: CompactionInput) -> CompactionResult | None:
        """The window without its oldest whole turns, with no summary. As few turns as necessary are dropped; if an earlier
        compaction was not enough for the provider, all that can be dropped are. None if nothing can be dropped.
        """
        goal = sight.measures.share(window.KEPT)
        if sight.again > 1 and sight.trigger == "context_window_exceeded":
            goal = 0
        kept = window.drop_oldest_turns(sight.messages, goal, sight.run_id)
        return CompactionResult(kept) if len(kept) < len(sight.messages) else None
