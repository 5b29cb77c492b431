"""A provider's server on loopback: it enforces the provider's rules, then gives the next reply of the scenario in the provider's
form.

    with SERVER[provider](provider) as server:
        server.plays(reply(Think("hm"), ToolUse("ring")), reply("Done."))
        …                                   # an agent talks to server.url
        assert server.broken == []          # the rules that its requests broke

A wire's server says how replies, faults and prompts look there; what is common stands here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.contracts.model.kit.plays import Fault, ModelSpeech, Play, reply
from tests.contracts.model.kit.rules import BrokenRule, ErrorResponse, Issued, Rule, ServerMemory, first_broken
from tests.support.provider_http import Recorded, ScriptedServer, Wire

FULL = reply("That is all.")
"""What a model says when its script has ended."""
HTML: Wire = {"status": 200, "body": b"<!doctype html><title>Welcome</title>", "headers": {"content-type": "text/html"}}


@dataclass(frozen=True)
class Provider:
    """A provider with one of its models, as a scenario meets it.

    `name` names the scenario's parameter, `handle` the model for an agent. `variables` configures the provider at an address as a
    user would, by environment variables. `thinks`: its model shows thoughts. `lists`: the model list's further rows. `learned`:
    rules of which only a refusal tells that the model has them; a process may break each of them once.
    """

    name: str
    handle: str
    server: Callable[[Provider], KitServer]
    rules: Sequence[Rule]
    variables: Callable[[str], Mapping[str, str]]
    thinks: bool = True
    lists: Sequence[Wire] = ()
    learned: frozenset[str] = frozenset()

    @property
    def model(self) -> str:
        """The model's name for the provider: the handle without its first part."""
        return self.handle.partition("/")[2]


class KitServer(ScriptedServer):
    """What the wires' servers share. `broken` are the rules that requests broke. `taught`: the rules that only a refusal tells
    and that one has told; they are `learned` once a reply proved that the request without that part is taken. `refused`: the
    requests that told them.

    `shares`: how much of each prompt was cached; `regrown`: the numbers of the prompts that do not begin with the whole prompt
    before.
    `ignores_streams`: it answers as a whole whatever it is asked for.
    """

    stops_thinking = False
    """Whether the provider's model can be told not to think."""
    most_tools: int | None = None
    """Tools of one request; more are refused."""
    window = 10_000_000
    """Tokens of a prompt that the server reads; a longer one is cut without an error."""

    cut = 0
    """How many prompts were cut."""

    def __init__(self, provider: Provider) -> None:
        super().__init__(models=[{"id": provider.model}, *provider.lists])
        self.provider = provider
        self.memory = ServerMemory()
        self.broken: list[BrokenRule] = []
        self.taught: set[str] = set()
        self.learned: set[str] = set()
        self.refused: list[Recorded] = []
        self.shares: list[float] = []
        self.regrown: list[int] = []
        self.ignores_streams = False
        self._plays: deque[Play] = deque()
        self._prompts: list[bytes] = []
        self._issued = 0

    def plays(self, *plays: Play) -> None:
        """Say this next, in this order."""
        self._plays.extend(plays)

    @property
    def chat_models(self) -> list[str]:
        """The models of its list that chat."""
        return [str(row["id"]) for row in self.models]

    @property
    def left(self) -> int:
        """How many plays were not asked for."""
        return len(self._plays)

    @property
    def taken(self) -> list[Recorded]:
        """The requests, without those that told a rule."""
        return [asked for asked in self.requests if not any(asked is each for each in self.refused)]

    def forget(self) -> None:
        """Leave out what was not asked for."""
        self._plays.clear()

    def answer(self, asked: Recorded) -> Wire:
        if broken := first_broken(self.provider.rules, asked, self.memory):
            if broken.rule.name in self.provider.learned - self.learned:
                self.taught.add(broken.rule.name)
                self.refused.append(asked)
            else:
                self.broken.append(broken)
            return broken.refusal.wire()
        play = self._plays.popleft() if self._plays else FULL
        if isinstance(play, Fault):
            return HTML if play.kind == "html" else self.fault(play.kind).wire()
        cached, whole = self._cached(asked)
        items = tuple(self.items(play, asked))
        self.memory.issued.append(Issued(asked, items))
        if play.cut is None:
            self.learned |= self.taught
        said = {"items": items, "usage": self.used(whole, cached, play)} | self.ending(play, items)
        return said if play.cut is None else said | {"cut_at": int(play.cut * len(b"".join(self.events(said))))}

    def streams(self, asked: Recorded) -> bool:
        return super().streams(asked) and not self.ignores_streams

    def new_id(self, prefix: str) -> str:
        self._issued += 1
        return f"{prefix}{self._issued:06d}"

    def _cached(self, asked: Recorded) -> tuple[int, int]:
        """How many of the prompt's bytes stand at the beginning of an earlier prompt, and how many there are."""
        prompt = self.prompt(asked)
        cached = max((_common(prompt, each) for each in self._prompts), default=0)
        self.shares.append(cached / len(prompt))
        if self._prompts and _common(prompt, self._prompts[-1]) < len(self._prompts[-1].rstrip(b"]}")):
            self.regrown.append(len(self._prompts))
        self._prompts.append(prompt)
        return cached, len(prompt)

    @abstractmethod
    def items(self, play: ModelSpeech, asked: Recorded) -> Sequence[Wire]:
        """The reply's items in the wire's form, with ids and signatures."""

    @abstractmethod
    def ending(self, play: ModelSpeech, items: Sequence[Wire]) -> Wire:
        """What the script of `ScriptedServer` needs beside `items` and `usage`: why the reply ends."""

    @abstractmethod
    def used(self, whole: int, cached: int, play: ModelSpeech) -> Wire:
        """The usage of a reply, for a prompt of `whole` bytes of which `cached` were known."""

    @abstractmethod
    def prompt(self, asked: Recorded) -> bytes:
        """The request's prompt as the provider's cache sees it: what comes first there comes first here."""

    @abstractmethod
    def fault(self, kind: str) -> ErrorResponse:
        """An error response of this kind."""


def _common(one: bytes, other: bytes) -> int:
    """How many bytes both begin with, found by halving: prompts are long, and each is compared with all before it."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def at(value: Any, *path: str | int) -> Any:
    """The member at a path, or None."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value
