"""A conversation that grows until its window is compacted, for tests of compaction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from hibernaut.domain.window.window import tokens
from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.stop import RunStatus
from hibernaut.schemas.usage import Usage
from tests.support.scripted_model import Streamed, fresh, says
from tests.support.settled import check_settled, check_valid
from tests.support.world import World, data_in

LONG = "a sentence about Oslo, tea and rain. " * 20
WINDOW = 3000
Answer = Callable[[ModelRequest], ModelReply | Streamed]


def is_summary(request: ModelRequest) -> bool:
    last = request.messages[-1].text() if request.messages else ""
    return "<start_transcript>" in last or "context window is nearly full" in last


def unmeasured(reply: ModelReply) -> ModelReply:
    """The reply without usage, as from a provider that reports none."""
    return replace(reply, usage=Usage())


def summary(text: str = "They spoke of Oslo.") -> Answer:
    return lambda _: says(text)


def raises(error: Exception) -> Answer:
    def answer(_: ModelRequest) -> ModelReply:
        raise fresh(error)

    return answer


@dataclass
class Talk:
    """A server whose model gives long answers, reports no usage, and summarises with a scripted answer."""

    folder: Path
    answer: Answer = field(default_factory=summary)
    reply: Answer = lambda _: ModelReply(text=LONG, usage=Usage())
    window: int = WINDOW
    summaries: list[ModelRequest] = field(default_factory=list)
    steps: list[ModelRequest] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world = World(data_in(self.folder, self._says, context_window=self.window))
        self.agent = self.world.make_agent(blocks={"human": "Ann"}, tools=("ring",))

    def _says(self, request: ModelRequest, _number: int) -> ModelReply | Streamed:
        if is_summary(request):
            self.summaries.append(request)
            return self.answer(request)
        self.steps.append(request)
        return self.reply(request)

    def until_full(self, most: int = 30, **options: object) -> str:
        """Send messages until the window is compacted; returns the id of the run in which that happened."""
        for _ in range(most):
            before = self.head().window
            run_id = self.world.send(self.agent, LONG, **options)
            if self.head().window != before:
                return run_id
        raise AssertionError("the window never fills")

    def set(self, **fields: object) -> None:
        stores = self.world.stores
        before = stores.agents.get(self.agent)
        assert before is not None
        after = before.model_copy(update=fields)
        stores.writer.write(*stores.agents.change(before, after, "t"), token="t")

    def head(self) -> Head:
        return self.world.head(self.agent)

    def in_window(self) -> list[Message]:
        found = self.world.stores.conversations.load(self.agent)
        assert found is not None
        return list(found.messages)

    def check(self, run_id: str) -> None:
        """Checks that the run has succeeded, and that the window is valid and below its limit."""
        assert self.world.run(run_id).run.status is RunStatus.COMPLETED
        check_settled(self.world, self.agent)
        check_valid(self.in_window())
        assert tokens(self.in_window()) < self.window
        shown = [row for request in self.steps[-1:] for row in request.messages]
        assert sum(row.role == "summary" for row in shown) <= 1
