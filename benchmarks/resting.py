"""The benchmark of a wake: how long a message waits for the rows of its window, and how long putting to rest takes."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from benchmarks.agent_files import agent_file
from hibernaut.adapters.clock import SystemClock
from hibernaut.rest.dependencies import Services
from hibernaut.services.resting.pack_writer import Allowance
from hibernaut.services.resting.resting import Resting
from hibernaut.store.stores import TenantStores
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.settings import EmbeddedSettings

TENANT = "default"
ROUNDS = 5
SIZES = (100, 300, 1_000, 3_000)
"""Messages of the agents, all of them in the window."""


def table() -> list[str]:
    """The medians of a few rests and wakes of agents of each size, at home."""
    lines = ["Agents at rest: a wake, and a rest (ms; wall time / CPU)"]
    with tempfile.TemporaryDirectory() as folder:
        embedded = Embedded(EmbeddedSettings(data=Path(folder)))
        try:
            services = services_of(embedded.stores, embedded.host, embedded.engines).of(TENANT)
            for size in SIZES:
                wake, rest = _measured(services, embedded.stores.of(TENANT), size)
                lines.append(f"  {size:5} messages in the window: {wake}, {rest}")
        finally:
            embedded.close()
    return lines


def _measured(services: Services, stores: TenantStores, size: int) -> tuple[str, str]:
    agent_id = _imported(services, size)
    resting, later = Resting(stores, SystemClock()), SystemClock().now() + timedelta(days=1)
    wakes, rests = list[tuple[float, float]](), list[tuple[float, float]]()
    for _ in range(ROUNDS):
        began = time.perf_counter(), time.process_time()
        assert resting.rest(agent_id, idle_since=later, allowance=Allowance(10 * size))
        rests.append(_since(*began))
        head = stores.conversations.head(agent_id)
        assert head is not None
        assert head.resting
        began = time.perf_counter(), time.process_time()
        resting.wake(head)
        wakes.append(_since(*began))
    return _median("wake", wakes), _median("rest", rests)


def _imported(services: Services, size: int) -> str:
    return services.agent_documents.import_(json.loads(agent_file(1_500 * size, size))).agent_ids[0]


def _since(wall: float, cpu: float) -> tuple[float, float]:
    return (time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000


def _median(what: str, taken: list[tuple[float, float]]) -> str:
    wall, cpu = (statistics.median(values) for values in zip(*taken, strict=True))
    return f"{what} {wall:.0f} / {cpu:.0f}"
