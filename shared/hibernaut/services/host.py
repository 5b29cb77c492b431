"""What a use case needs to know of where it runs: time, ids, who it is, and how runs are driven and followed there."""

from __future__ import annotations

from dataclasses import dataclass

from hibernaut.ports.clock import Clock, Ids
from hibernaut.ports.signal import RunSignal
from hibernaut.ports.workflow import Workflow


@dataclass(frozen=True, slots=True)
class Host:
    """`holder` names this process on leases and claims. `alone`: no other process can hold one, so that of another holder is dead."""

    clock: Clock
    ids: Ids
    workflow: Workflow
    signal: RunSignal
    holder: str
    alone: bool = False
