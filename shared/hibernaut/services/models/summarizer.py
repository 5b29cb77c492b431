"""Summaries of messages by a model: in several pieces if the messages do not fit its window, and within a time limit.

The module raises the provider's errors. The caller decides what happens to a conversation without a summary.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hibernaut.domain.models.tokens import count
from hibernaut.domain.turn.actor import Actor
from hibernaut.domain.turn.model_requests import model_request
from hibernaut.domain.window import summaries, transcripts
from hibernaut.domain.window.compaction import Split, summariser
from hibernaut.domain.window.window import tokens
from hibernaut.ports.model import Models
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.errors import MODEL_CALL_ERRORS, ContextWindowExceeded, HibernautError, InvalidModelResponse, ModelTimeout
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message, Role
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.models.model_call import ModelRequest, ToolChoice
from hibernaut.schemas.models.model_settings import CompactionMode, CompactionSettings
from hibernaut.schemas.usage import Usage
from hibernaut.services.host import Host
from hibernaut.services.models.model_retry import CancellationWatch, ModelRetry

LONGEST_CALL = 180.0
"""The time limit of one call of the summariser in seconds."""
PIECE_SHARE = 0.45
"""The share of the summariser's window that one piece of the transcript may fill; the rest is for the summary so far and the
reply.
"""
KNOWN_SHARE = 0.15
"""The share that the summary so far may fill."""
SMALLEST_PIECE = 200
HALVINGS = 3
"""How often the size of the pieces is halved if the summariser rejects a request as too long."""
WHOLE = 0.97
"""The share of the agent's window that a request of the self-compacting modes may fill."""
logger = logging.getLogger(__name__)


@immutable
class SummarySubject:
    """The conversation to summarise: the agent as its run sees it, its system message, and its settings.

    `correction`: the ratio of the provider's token count to ours.
    """

    actor: Actor
    system: str
    settings: CompactionSettings
    fixed_tokens: int = 0
    correction: float = 1.0


@dataclass(slots=True)
class SummaryBudget:
    """The limits of a summary: the `deadline` (monotonic), and `watch`, which raises when the summary is no longer
    needed.

    `used` counts the tokens of all replies so far, including replies without a usable summary.
    """

    watch: CancellationWatch
    deadline: float
    used: Usage = field(default_factory=Usage)


class Summarizer:
    """Summarises messages, in several calls if they do not fit one."""

    def __init__(self, models: Models, host: Host, calls: ModelRetry) -> None:
        self._models = models
        self._calls = calls
        self._clock = host.clock
        self._ids = host.ids

    def summarise(self, mode: CompactionMode, split: Split, subject: SummarySubject, budget: SummaryBudget) -> str:
        """The summary of the messages that leave the window. Raises: ModelError, NotFound, and the error of the watch
        `budget.watch`.
        """
        if mode.startswith("self_"):
            return self._by_itself(mode, split, subject, budget)
        failure: HibernautError | None = None
        for config in self._configs(subject):
            try:
                return self._in_pieces(config, self._prompt(mode, subject), split.gone, subject, budget)
            except MODEL_CALL_ERRORS as error:
                logger.warning("summary failed", extra={"code": error.code, "model": config.handle or config.model})
                failure = error
        raise failure or InvalidModelResponse("There is no model that could summarise.")

    def _configs(self, subject: SummarySubject) -> list[LLMConfig]:
        """The summariser of the settings, then the agent's own model: the default summariser may not be available to the
        agent.
        """
        settings, own = subject.settings, summariser(subject.actor.config)
        if settings.model is None or settings.model == subject.actor.config.handle:
            return [summariser(subject.actor.config, settings), own] if settings.model_settings else [own]
        try:
            return [summariser(self._models.config(settings.model), settings), own]
        except MODEL_CALL_ERRORS as error:
            logger.info("summariser is not to be had", extra={"code": error.code, "model": settings.model})
            return [own]

    def _in_pieces(
        self, config: LLMConfig, prompt: str, rows: Sequence[Message], subject: SummarySubject, budget: SummaryBudget
    ) -> str:
        """Summarise one piece after the other, each together with the summary of the earlier pieces."""
        before = "\n".join(summaries.unpacked(row) for row in rows if row.role == "summary")
        messages = [row for row in rows if row.role != "summary"]
        room = int(PIECE_SHARE * config.context_window / max(1.0, subject.correction)) - count(prompt)
        blank = ModelRequest(config=config, system=prompt, messages=(), timeout=LONGEST_CALL, user=subject.actor.agent_id)
        for halved in range(HALVINGS + 1):
            size = max(SMALLEST_PIECE, room >> halved)
            try:
                return self._folded(blank, messages, before, size, subject, budget)
            except ContextWindowExceeded:
                if halved == HALVINGS or room >> halved <= SMALLEST_PIECE:
                    raise
        raise AssertionError("the last try answers or raises")

    def _folded(
        self, blank: ModelRequest, rows: Sequence[Message], before: str, room: int, subject: SummarySubject, budget: SummaryBudget
    ) -> str:
        pieces = transcripts.pieces(rows, room) or [""]
        summary = before
        for number, piece in enumerate(pieces, 1):
            earlier_summary = summaries.clipped(summary, None, int(KNOWN_SHARE / PIECE_SHARE * room))
            messages = [self._row(subject, "user", summaries.request(piece, earlier_summary, number, len(pieces)))]
            if subject.settings.prompt_acknowledgement:
                messages = [
                    self._row(subject, "user", summaries.READY),
                    self._row(subject, "assistant", summaries.ACKNOWLEDGED),
                    *messages,
                ]
            summary = self._summary_of(replace(blank, messages=messages), subject, budget)
        return summary

    def _by_itself(self, mode: CompactionMode, split: Split, subject: SummarySubject, budget: SummaryBudget) -> str:
        """Append the prompt to the agent's own messages, which its provider has cached, and call its own model without tool use.

        Raises: ContextWindowExceeded if the messages leave no room for the prompt; ModelError, and the error of the watch.
        """
        prompt = self._prompt(mode, subject)
        size = tokens(split.prefix) + subject.fixed_tokens + count(prompt)
        if size * subject.correction > WHOLE * subject.actor.config.context_window:
            raise ContextWindowExceeded("The messages leave no room for the question for a summary.")
        messages = [*split.prefix, self._row(subject, "user", prompt)]
        request = model_request(
            subject.actor,
            messages,
            subject.system,
            subject.actor.names,
            choice=ToolChoice("none"),
            parallel=False,
            timeout=LONGEST_CALL,
        )
        return self._summary_of(request, subject, budget)

    def _prompt(self, mode: CompactionMode, subject: SummarySubject) -> str:
        """The prompt of the mode. The settings' own prompt applies only to the settings' mode; other modes use their default."""
        own = subject.settings.prompt if mode == subject.settings.mode else None
        prompt = own or summaries.default_prompt(mode)
        return (
            f"{prompt}\n\nPut the summary between <summary> and </summary>."
            if subject.settings.prompt_acknowledgement
            else prompt
        )

    def _summary_of(self, request: ModelRequest, subject: SummarySubject, budget: SummaryBudget) -> str:
        """The summary in the model's reply. Raises: ModelError, also if the reply contains no summary; the error of the watch."""
        if self._clock.monotonic() >= budget.deadline:
            raise ModelTimeout("The summary took too long.")
        reply = self._calls.complete(request, budget.watch, budget.deadline)
        budget.used = budget.used.plus(reply.usage)
        text = summaries.body(reply.text, acknowledged=subject.settings.prompt_acknowledgement)
        if not text or reply.finish_reason == "refusal":
            raise InvalidModelResponse("The summariser answered without a summary.")
        return text

    def _row(self, subject: SummarySubject, role: Role, text: str) -> Message:
        """A message for the request only; it is not stored in a log."""
        return Message(
            id=self._ids.new("message"),
            role=role,
            content=[TextContent(text=text)],
            agent_id=subject.actor.agent_id,
            created_at=self._clock.now(),
        )
