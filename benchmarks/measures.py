"""The benchmarks of requests: each function measures one operation, in milliseconds of wall time and of the server's CPU time."""

from __future__ import annotations

import http.client
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import httpx

from benchmarks.processes import Server

HEADERS = {"User-Agent": "letta-client/1.12.1"}
WARM_UP = 10


@dataclass(frozen=True)
class Result:
    """The result of one benchmark in `unit`: milliseconds, or messages per second."""

    median: float
    p95: float
    cpu: float
    unit: str = "ms"


class Client:
    """A client of one server, as the benchmarks use it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.http = httpx.Client(base_url=server.url, headers=HEADERS, timeout=120)

    def agent(self, **fields: object) -> str:
        body = {"model": "openai/m", "memory_blocks": [{"label": "human", "value": "Fact 0."}], **fields}
        reply = self.http.post("/v1/agents/", json=body)
        reply.raise_for_status()
        return str(reply.json()["id"])

    def send(self, agent: str, text: str) -> None:
        reply = self.http.post(f"/v1/agents/{agent}/messages", json={"messages": [{"role": "user", "content": text}]})
        reply.raise_for_status()

    def settle(self) -> None:
        """Wait until the server has loaded what its first messages need: its vocabulary and its embedder."""
        agent = self.agent()
        for _ in range(WARM_UP):
            self.send(agent, "hello")
        self.server.settle()

    def reset(self, agent: str) -> None:
        """Restore the state of a new agent: the first value of its block, and an empty context."""
        self.http.patch(f"/v1/agents/{agent}/core-memory/blocks/human", json={"value": "Fact 0."}).raise_for_status()
        self.http.patch(f"/v1/agents/{agent}/reset-messages", json={}).raise_for_status()

    def timed(self, count: int, action: Callable[[], None], before: Callable[[], None] = lambda: None) -> Result:
        """The wall time and the CPU time of `action`. `before` runs before each repetition and is not part of the wall time."""
        for _ in range(WARM_UP):
            before()
            action()
        walls, cpu = [], 0.0
        for _ in range(count):
            before()
            start_cpu, start = self.server.cpu_ms(), time.perf_counter()
            action()
            walls.append((time.perf_counter() - start) * 1000)
            cpu += self.server.cpu_ms() - start_cpu
        walls.sort()
        return Result(statistics.median(walls), walls[int(0.95 * (len(walls) - 1))], cpu / count)


def one_message(client: Client) -> Result:
    agent = client.agent()
    return client.timed(200, lambda: client.send(agent, "hello"))


def with_steps(client: Client, steps: int) -> Result:
    agent = client.agent()
    return client.timed(60, lambda: client.send(agent, f"steps={steps}"), lambda: client.reset(agent))


def create_agent(client: Client) -> Result:
    return client.timed(100, lambda: str(client.agent()) and None)


def list_agents(client: Client) -> Result:
    """A page of 50 agents. It has some megabytes, so the standard library's client reads it, which takes little time itself."""
    host = client.server.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=120)

    def fetch() -> None:
        connection.request("GET", "/v1/agents/?limit=50", headers=HEADERS)
        reply = connection.getresponse()
        if reply.status != 200 or not reply.read():
            raise SystemExit("the list of agents was not answered")

    return client.timed(40, fetch)


def fill(client: Client, agent: str, messages: int) -> None:
    """Put many messages into the window, as the input of one run."""
    each = [
        {"role": "user" if place % 2 == 0 else "assistant", "content": f"message number {place}"} for place in range(messages)
    ]
    for start in range(0, messages, 40):
        body = {"messages": each[start : start + 40]}
        client.http.post(f"/v1/agents/{agent}/messages", json=body).raise_for_status()


def many_messages(client: Client, count: int) -> Result:
    agent = client.agent(context_window_limit=1_000_000)
    fill(client, agent, count)
    return client.timed(40, lambda: client.send(agent, "hello"))


def at_once(client: Client, clients: int, each: int) -> Result:
    """Messages per second of `clients` concurrent clients, each with its own agent."""
    agents = [client.agent() for _ in range(clients)]
    barrier = threading.Barrier(clients + 1)

    def talk(agent: str) -> None:
        own = Client(client.server)
        own.send(agent, "hello")
        barrier.wait()
        for _ in range(each):
            own.send(agent, "hello")

    threads = [threading.Thread(target=talk, args=(agent,)) for agent in agents]
    for thread in threads:
        thread.start()
    barrier.wait()
    start, cpu = time.perf_counter(), client.server.cpu_ms()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - start
    return Result(clients * each / seconds, 0.0, (client.server.cpu_ms() - cpu) / (clients * each), "messages/s")
