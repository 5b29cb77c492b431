"""How much of a prompt a provider has cached, and whether a model that reads a request finds the current memory.

`python -m benchmarks.prefix`. Real agents and real adapters talk to the conformance kit's servers, which compare the bytes of
each prompt with those before it. The figures are counts: they do not depend on the machine.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from hibernaut.schemas.messages.frozen_prompt import PromptMode
from tests.contracts.model.kit import anthropic_messages, gemini_native, openai_chat, openai_responses
from tests.contracts.model.kit.engine import Engine
from tests.contracts.model.kit.plays import TALE, Think, reply, ring
from tests.contracts.model.kit.server import KitServer, Provider
from tests.support.memory_reader import read_blocks, texts_of

WIRES: dict[str, Provider] = {
    "Responses": openai_responses.PROVIDERS[1],
    "Chat Completions": openai_chat.PROVIDERS[0],
    "Messages": anthropic_messages.PROVIDERS[0],
    "Gemini": gemini_native.PROVIDERS[0],
}
MODES: tuple[PromptMode, ...] = ("frozen", "recompiled")
FILLED = 28
"""Runs before the measured one: together with the system message and the tools, about 20,000 tokens."""
EDITS = 20


@dataclass(frozen=True)
class PrefixShares:
    """Shares from 0 to 1. `stable`, `edited`: what was cached of the three requests of a run. `first`: of its first request after
    an edit. `recalled`: the edits after which a request holds the current value. `tokens`: the prompt's size, by four bytes a
    token.
    """

    stable: float
    edited: float
    first: float
    recalled: float
    dropped: int
    tokens: int


def measure(provider: Provider, mode: PromptMode) -> PrefixShares:
    """One agent: a long log, a run of three steps, an edit, another such run; then an edit before each further run."""
    with tempfile.TemporaryDirectory() as folder, provider.server(provider) as server:
        engine = Engine(Path(folder), provider.variables(server.address), system_prompt=mode)
        engine.make_agent(provider.handle, context_window_limit=200_000)
        for number in range(FILLED):
            server.plays(reply(Think("I listen."), f"I heard tale {number}."))
            engine.send(TALE)
        stable = three_steps(engine, server)
        engine.edit_memory("human", "Ann, who lives in Oslo")
        edited = three_steps(engine, server)
        size = len(server.requests[-1].raw) // 4
        found = 0
        for number in range(EDITS):
            engine.edit_memory("human", f"Ann, who lives in town {number}")
            server.plays(reply(Think("I look."), "I know."))
            engine.send("Where do I live?")
            known = read_blocks(texts_of(server.requests[-1].body))
            found += known.get("human", "").endswith(f"town {number}")
        if server.broken:
            raise SystemExit(f"{provider.name} refused a request: {server.broken[0]}")
        engine.close()
        dropped = server.memory.dropped
    return PrefixShares(sum(stable) / 3, sum(edited) / 3, edited[0], found / EDITS, dropped, size)


def three_steps(engine: Engine, server: KitServer) -> list[float]:
    """The cached share of each request of a run with two tool calls."""
    known = len(server.shares)
    server.plays(reply(Think("First."), ring(1)), reply(Think("Second."), ring(2)), reply(Think("Done."), "Rung."))
    engine.send("Ring twice.")
    shares = server.shares[known:]
    if len(shares) != 3:
        raise SystemExit(f"three requests were expected, not {len(shares)}")
    return shares


def table() -> list[str]:
    """The lines of the table, a line for each wire and mode."""
    lines = [
        f"{'cached share of a three-step run':42} {'stable':>8} {'edited':>8} {'1st req.':>8} {'recalled':>9} {'dropped':>8}"
    ]
    for wire, provider in WIRES.items():
        for mode in MODES:
            one = measure(provider, mode)
            lines.append(
                f"{f'{wire}, {mode} ({one.tokens:,} tokens)':42} {one.stable:8.1%} {one.edited:8.1%} {one.first:8.1%}"
                f" {one.recalled:9.0%} {one.dropped:8}"
            )
    return lines


if __name__ == "__main__":
    print("\n".join(table()))
