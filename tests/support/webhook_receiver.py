"""The other side of webhooks: a receiver behind the port `Web`, and a server's webhooks with the workers that pass events on."""

# ruff: noqa: ARG002  a double has the parameters of its port

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from hibernaut.adapters.cipher.key_file import KeyFileCipher
from hibernaut.domain.events import OutboundEvent
from hibernaut.ports.events.event_bus import BusFailure
from hibernaut.ports.storage.table import Key, Table
from hibernaut.ports.tools.web import NoWeb
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.events.webhook import CreatedWebhook, CreateWebhook
from hibernaut.wiring.engines.event_relays import relays_of
from tests.support.scripted_model import Script, in_turn, says
from tests.support.world import TENANT, Data, World, data_in

URL = "https://example.test/hook"


@dataclass
class Call:
    """One request as the receiver got it."""

    url: str
    body: bytes
    headers: Mapping[str, str]

    @property
    def event(self) -> JsonObject:
        found: JsonObject = json.loads(self.body)
        return found


@dataclass
class Receiver(NoWeb):
    """It answers each request with `answers`: a status, or what happens instead."""

    answers: int | BaseException = 204
    calls: list[Call] = field(default_factory=list)

    def deliver(self, url: str, body: bytes, headers: Mapping[str, str], *, seconds: float) -> int:
        self.calls.append(Call(url, body, dict(headers)))
        if isinstance(self.answers, BaseException):
            raise self.answers
        return self.answers

    def ids(self, kind: str | None = None) -> list[str]:
        return [call.event["id"] for call in self.calls if kind in (None, call.event["type"])]

    def types(self) -> list[str]:
        return [call.event["type"] for call in self.calls]


@dataclass
class Places:
    """The port `EventDelivery` that keeps what it is handed."""

    kept: list[Key] = field(default_factory=list)

    def start(self, places: Sequence[Key]) -> None:
        self.kept += places


@dataclass
class Bus:
    """A bus that keeps its events, and takes none while it is `down`."""

    events: list[OutboundEvent] = field(default_factory=list)
    down: bool = False

    def put(self, events: Sequence[OutboundEvent]) -> None:
        if self.down:
            raise BusFailure("throttled")
        self.events += events


class Hooked(World):
    """A process with webhooks. What its transactions leave is passed on by `relay`, and by the sweep."""

    def __init__(
        self,
        data: Data,
        receiver: Receiver,
        folder: Path,
        *,
        wrap: Callable[[Table], Table] = lambda table: table,
        public_only: bool = False,
        holder: str = "host:1",
        bus: Bus | None = None,
    ) -> None:
        self.places, self.receiver, self.folder = Places(), receiver, folder
        ports = {"cipher": KeyFileCipher(folder / "key"), "public_only": public_only, "event_delivery": self.places}
        super().__init__(data, web=receiver, wrap=wrap, holder=holder, host=ports)
        self.all_stores.event_signal.listener = self.places.start
        self.bus = bus or Bus()
        self.relays = relays_of(self.all_stores, self.host, self.bus, Random(1))
        self.webhooks = self.chain.webhooks

    def hook(self, **asked: object) -> CreatedWebhook:
        return self.webhooks.create(CreateWebhook.model_validate({"url": URL, **asked}))

    def relay(self) -> None:
        """Handle what is to be handled at once."""
        while self.places.kept:
            self.relays.of(TENANT).take(self.places.kept.pop(0))

    def later(self, seconds: float) -> None:
        """The sweep of a later minute, and what it hands over."""
        self.clock.sleep(seconds)
        self.places.kept.clear()
        self.sweep()
        self.relay()


def hooked(folder: Path, receiver: Receiver | None = None, script: Script | None = None, **options: object) -> Hooked:
    """A server in this folder."""
    data = data_in(folder, script or in_turn(says("done")))
    return Hooked(data, receiver or Receiver(), folder, **options)  # type: ignore[arg-type]


def raw(secret: str) -> bytes:
    """The bytes of a secret."""
    return base64.b64decode(secret.removeprefix("whsec_"))
