"""What a use case needs to know of where it runs: time, ids, who it is, and how runs are driven and followed there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hibernaut.ports.clock import Clock, Ids
from hibernaut.ports.file_reader import NO_READER, FileReader
from hibernaut.ports.ingest import NO_INGEST, Ingest
from hibernaut.ports.signal import RunSignal
from hibernaut.ports.web import NO_WEB, Web
from hibernaut.ports.workflow import Workflow

TraceMode = Literal["off", "redacted", "on"]
"""Nothing; the form of the bodies with each text's length in its place; the bodies, without the configured secrets."""


@dataclass(frozen=True, slots=True)
class Host:
    """`holder` names this process on leases and claims. `alone`: no other process can hold one, so that of another holder is dead.

    `gather` is for how many seconds the pieces of a reply are gathered into one write; `look` after how many a worker that waits for its
    model looks whether the run is still its own. `traces`: what is kept of the exchanges with models' providers.
    """

    clock: Clock
    ids: Ids
    workflow: Workflow
    signal: RunSignal
    holder: str
    alone: bool = False
    gather: float = 0.02
    look: float = 0.5
    traces: TraceMode = "off"
    web: Web = NO_WEB
    reader: FileReader = NO_READER
    ingest: Ingest = NO_INGEST
