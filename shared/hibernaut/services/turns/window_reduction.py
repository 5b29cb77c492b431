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


def divisions(window_input: CompactionInput) -> Iterator[tuple[CompactionMode, Split, int]]:
    """The modes of the chain that can divide the window, in order, with the messages that leave it and the token limit of its
    summary.
    """
    for mode in chain(window_input.subject.settings.mode, window_input.again):
        divided = split(mode, window_input.messages, window_input.subject.settings, window_input.measures, window_input.run_id)
        if divided is None:
            continue
        room = room_for_summary(window_input.messages[0], divided.kept, window_input.measures) - summaries.ENVELOPE_TOKENS
        if room >= LEAST_SUMMARY:
            yield mode, divided, room


def plan_of(window_input: CompactionInput) -> CompactionPlan:
    """What a compaction would drop, and what would stay. Calls no model."""
    correction, limit = window_input.subject.correction, window_input.subject.actor.config.context_window
    mode, divided, room = next(divisions(window_input), (None, Split((), window_input.messages[1:], ()), 0))
    remaining_tokens = window.tokens([window_input.messages[0], *divided.kept]) + window_input.subject.fixed_tokens

    def corrected(tokens: int) -> int:
        return int(tokens * correction)

    return CompactionPlan(
        mode=mode,
        context_window=limit,
        threshold=window.threshold(limit),
        tokens=corrected(window_input.size),
        tokens_after=corrected(remaining_tokens),
        summary_limit=corrected(room),
        num_messages=len(window_input.messages),
        num_messages_after=1 + len(divided.kept) + (mode is not None),
        dropped=[
            DroppedMessage(
                id=row.id,
                role=row.role,
                created_at=row.created_at,
                tokens=corrected(window.tokens_of(row)),
                text=_text_of(row)[:SHOWN],
            )
            for row in divided.gone
        ],
    )


def _text_of(row: Message) -> str:
    """The text of a message, or its tool calls."""
    return row.text() or ", ".join(f"{call.function.name}({call.function.arguments})" for call in row.tool_calls or ())


class WindowReduction:
    """Computes a reduced window."""

    def __init__(self, host: Host, summarising: Summarizer) -> None:
        self._summarising = summarising
        self._clock = host.clock
        self._ids = host.ids

    def reduce(self, window_input: CompactionInput, budget: SummaryBudget) -> CompactionResult | None:
        """The reduced window, even if every summariser fails (invariant 9). None if no further message can be removed.

        Raises: the error of the cancellation watch (`budget.watch`).
        """
        try:
            result = self.summarise_first(window_input, budget)
        except MODEL_CALL_ERRORS as error:
            logger.warning("window is made smaller without a summary", extra={"run_id": window_input.run_id, "code": error.code})
            result = None
        return result or self.drop_turns(window_input)

    def summarise_first(self, window_input: CompactionInput, budget: SummaryBudget) -> CompactionResult | None:
        """The result of the first mode in the chain that reduces the window. None if no mode can divide the window, or none
        reduces it.

        Raises: HibernautError, the last summariser's, if a mode could divide the window but no summary was produced; the error of
        the cancellation watch (`budget.watch`).
        """
        failure: HibernautError | None = None
        settings = window_input.subject.settings
        for mode, divided, room in divisions(window_input):
            try:
                answer = self._summarising.summarise(mode, divided, window_input.subject, budget)
            except MODEL_CALL_ERRORS as error:
                logger.warning("mode of compaction failed", extra={"mode": mode, "code": error.code})
                failure = error
                continue
            text = summaries.clipped(answer, settings.clip_chars, room)
            reduced = self._with_summary(window_input, divided.kept, text)
            if window_input.run_id is None or reduced.size < window.tokens(window_input.messages):
                return reduced
        if failure is not None:
            raise failure
        return None

    def _with_summary(self, window_input: CompactionInput, remaining: tuple[Message, ...], text: str) -> CompactionResult:
        now, actor = self._clock.now(), window_input.subject.actor
        correction, fixed = window_input.subject.correction, window_input.subject.fixed_tokens
        room = window.tokens([window_input.messages[0], *remaining]) + fixed
        stats = CompactionStats(
            trigger=window_input.trigger,
            context_tokens_before=int(window_input.size * correction),
            context_tokens_after=0,
            context_window=actor.config.context_window,
            messages_count_before=len(window_input.messages),
            messages_count_after=len(remaining) + 2,
        )
        summarised = max(0, window_input.head.messages - len(remaining) - 1)
        text_of_row = summaries.packed(text, summarised, stats, now, actor.timezone)
        stats.context_tokens_after = int((room + window.ROW_TOKENS + count(text_of_row)) * correction)
        row = Message(
            id=self._ids.new("message", after=window_input.head.last_message),
            role="summary",
            content=[TextContent(text=summaries.packed(text, summarised, stats, now, actor.timezone))],
            agent_id=actor.agent_id,
            conversation_id=actor.conversation_id,
            run_id=window_input.run_id,
            created_at=now,
        )
        window.measured([row])
        return CompactionResult((window_input.messages[0], *remaining), row, text)

    def drop_turns(self, window_input: CompactionInput) -> CompactionResult | None:
        """The window without its oldest whole turns, with no summary. As few turns as necessary are dropped; if an earlier
        compaction was not enough for the provider, all that can be dropped are. None if nothing can be dropped.
        """
        goal = window_input.measures.share(window.REMAINING)
        if window_input.again > 1 and window_input.trigger == "context_window_exceeded":
            goal = 0
        remaining = window.drop_oldest_turns(window_input.messages, goal, window_input.run_id)
        return CompactionResult(remaining) if len(remaining) < len(window_input.messages) else None
