"""`python -m benchmarks.compare FOLDER …`: what a message takes in several versions of the server, whose checkouts are named.

All servers run at once and take turns in short bursts, so that other work on the machine meets them alike: only the ratios carry
over. Settings of a server follow its folder, separated by commas: `.,HIBERNAUT_TRACES=off`.
"""

from __future__ import annotations

import statistics
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measures import Client
from benchmarks.processes import running_server, scripted_model

AGENTS, BURSTS, MESSAGES = 12, 6, 20
"""The agents of each server, the bursts of an agent, and the messages of a burst. A window grows to 240 rows."""
AFTER = 0.15
"""Seconds after a burst that belong to it: the indexer works after the reply."""


@dataclass
class Version:
    """A running version, and what its bursts took: milliseconds of CPU and of wall time for a message."""

    name: str
    client: Client
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def burst(self, agent: str) -> None:
        before, begun = self.client.server.cpu_ms(), time.perf_counter()
        for _ in range(MESSAGES):
            self.client.send(agent, "hello")
        self.wall.append((time.perf_counter() - begun) * 1000 / MESSAGES)
        time.sleep(AFTER)
        self.cpu.append((self.client.server.cpu_ms() - before) / MESSAGES)


def main(names: list[str]) -> None:
    with scripted_model() as model, ExitStack() as servers:
        versions = []
        for name in names:
            folder, *settings = name.split(",")
            variables = dict(setting.partition("=")[::2] for setting in settings)
            server = servers.enter_context(running_server(model, checkout=Path(folder).resolve(), variables=variables))
            versions.append(Version(name, Client(server)))
        for version in versions:
            version.client.settle()
        for _ in range(AGENTS):
            agents = [version.client.agent() for version in versions]
            for _ in range(BURSTS):
                for version, agent in zip(versions, agents, strict=True):
                    version.burst(agent)
    first = statistics.median(versions[0].cpu)
    print(f"{'a message without tools':60} {'CPU (ms)':>9} {'ratio':>6} {'wall (ms)':>10}")
    for version in versions:
        cpu, wall = statistics.median(version.cpu), statistics.median(version.wall)
        print(f"{version.name:60} {cpu:9.1f} {cpu / first:6.2f} {wall:10.1f}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit("usage: python -m benchmarks.compare FOLDER FOLDER …")
    main(sys.argv[1:])
