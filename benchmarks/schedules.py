"""The benchmark of schedules that are due at one time: when each run begins, and whether each schedule has exactly one."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

from benchmarks.measures import Client

AGENTS, OF_EACH = 50, 20
LEAD_SECONDS = 45.0
"""Seconds between the beginning and the time of all schedules: long enough to create them."""
PATIENCE = 120.0


def at_once(client: Client) -> list[str]:
    """The lines about a thousand schedules of fifty agents, all with the same time. Raises: AssertionError if a schedule has no
    run, or two.
    """
    agents = [client.agent() for _ in range(AGENTS)]
    due = int((time.time() + LEAD_SECONDS) * 1000)
    body = {"messages": [{"role": "user", "content": "It is time."}], "schedule": {"type": "one-time", "scheduled_at": due}}
    with ThreadPoolExecutor(8) as pool:
        created = list(pool.map(lambda agent: _created(client, agent, body), [agent for agent in agents for _ in range(OF_EACH)]))
    assert time.time() * 1000 < due, "the schedules were created too late"
    runs = _ended(client, agents, due)
    begins = sorted(_ms(run["created_at"]) - due for run in runs)
    assert len({run["id"] for run in runs}) == len(created) == len(runs), (len(created), len(runs))
    over = max(_ms(run["completed_at"]) for run in runs) - due
    first, middle, last = begins[0] / 1000, begins[len(begins) // 2] / 1000, begins[-1] / 1000
    return [
        f"{len(created)} schedules of {AGENTS} agents, due at the same moment (seconds after it)",
        f"  accepted: first {first:.2f}, median {middle:.2f}, last {last:.2f}; the last run ended: {over / 1000:.2f}; one run each",
    ]


def _created(client: Client, agent: str, body: dict[str, Any]) -> str:
    reply = client.http.post(f"/v1/agents/{agent}/schedule", json=body)
    reply.raise_for_status()
    return str(reply.json()["id"])


def _ended(client: Client, agents: list[str], due: int) -> list[dict[str, Any]]:
    """All runs of the agents, when as many as there are schedules have ended."""
    deadline = due / 1000 + PATIENCE
    while True:
        runs = [run for agent in agents for run in client.http.get("/v1/runs/", params={"agent_id": agent, "limit": 100}).json()]
        if len(runs) >= AGENTS * OF_EACH and all(run["completed_at"] for run in runs):
            return runs
        assert time.time() < deadline, f"{len(runs)} runs"
        time.sleep(1)


def _ms(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp() * 1000
