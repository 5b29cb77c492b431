"""What a scenario acts on: a provider's server, the server of another family, and the agent between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hibernaut.schemas.runs.run import Run
from tests.contracts.model.kit.engine import Engine
from tests.contracts.model.kit.plays import Play, Think, reply
from tests.contracts.model.kit.server import KitServer, Provider


@dataclass
class Stage:
    """`server` is the provider's, `other` that of another family; `runs` are all runs in order."""

    provider: Provider
    server: KitServer
    engine: Engine
    other: KitServer
    runs: list[Run] = field(default_factory=list)

    @property
    def settings_type(self) -> str:
        """The kind of model settings that the API takes for the provider's model."""
        kind = self.engine.models.config(self.provider.handle).model_endpoint_type
        return kind if kind == "anthropic" else "openai"

    def agent(self, **fields: Any) -> None:
        self.engine.make_agent(self.provider.handle, **fields)

    def plays(self, *plays: Play) -> None:
        self.server.plays(*plays)

    def send(self, text: str = "Hello.", **options: Any) -> Run:
        return self.seen(self.engine.send(text, **options))

    def answers(self, **answer: Any) -> Run:
        """The answer to the call that waits: an approval, or what a client's tool returned."""
        waiting = next(row for row in reversed(self.engine.log()) if row.role == "approval" and row.tool_calls)
        assert waiting.tool_calls
        return self.seen(self.engine.answer({"type": "approval", "tool_call_id": waiting.tool_calls[0].id} | answer))

    def seen(self, run: Run) -> Run:
        self.runs.append(run)
        return run

    def says(self, text: str, *, to: str = "Hello.") -> None:
        """A message that is answered with this text, which the agent keeps."""
        self.plays(reply(Think("They said something."), text))
        self.ends_well(self.send(to), text)

    def ends_well(self, run: Run, last: str) -> None:
        """The run ended its turn, and this is the last thing that the agent said."""
        self.check_rules()
        assert (run.status, run.stop_reason) == ("completed", "end_turn"), run
        assert self.server.left == 0, f"{self.server.left} replies were never asked for"
        assert self.spoken()[-1] == last

    def goes_on(self) -> None:
        self.says("I am still here.", to="Are you there?")

    def stays_warm(self) -> None:
        """Each request began with the whole request before it, and no thinking was dropped because something before it had
        changed.
        """
        assert self.server.regrown == []
        assert self.server.memory.dropped == 0

    def check_rules(self) -> None:
        broken = "\n".join(str(each) for each in (*self.server.broken, *self.other.broken))
        assert not broken, broken
        assert self.server.cut == 0, "a prompt lost its beginning"

    def spoken(self) -> list[str]:
        """What the agent said, of all its rows."""
        rows = [row for row in self.engine.log() if row.role == "assistant"]
        return ["".join(part.text for part in row.content if part.type == "text") for row in rows]

    def heard(self) -> str:
        """What users said, of all rows."""
        return "\n".join(row.text() for row in self.engine.log() if row.role == "user")

    def calls(self) -> int:
        """How often a custom tool ran."""
        return len(self.engine.world.runner.effects)
