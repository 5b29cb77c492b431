"""The benchmarks of streams: the time to the first event, to the first words, and to the continuation of a long stream.

The standard library's client reads the lines, because it takes little time itself.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measures import HEADERS, WARM_UP, Client, Result
from benchmarks.processes import Server
from benchmarks.scripted_model import CLOCK

WORDS = b'"message_type":"assistant_message"'
EVENTS = 10_000


class Stream:
    """A connection that is used for several requests."""

    def __init__(self, server: Server) -> None:
        self._connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=120)

    def post(self, path: str, body: dict[str, object]) -> Iterator[tuple[float, bytes]]:
        """Each line with the milliseconds until it arrived."""
        start = time.perf_counter()
        headers = {**HEADERS, "content-type": "application/json"}
        self._connection.request("POST", path, json.dumps(body), headers)
        answer = self._connection.getresponse()
        if answer.status != 200:
            raise SystemExit(f"the stream was refused: {answer.read()!r}")
        while line := answer.readline():
            if line != b"\n":
                yield (time.perf_counter() - start) * 1000, line


def first(client: Client, count: int = 100) -> tuple[Result, Result]:
    """The times to the first event and to the first words of a stream of tokens."""
    agent, stream = client.agent(), Stream(client.server)
    events, words = [], []
    for number in range(WARM_UP + count):
        start_cpu = client.server.cpu_ms()
        lines = list(stream.post(f"/v1/agents/{agent}/messages/stream", {"input": "hello", "stream_tokens": True}))
        if number >= WARM_UP:
            cpu = client.server.cpu_ms() - start_cpu
            events.append((lines[0][0], cpu))
            words.append((next(at for at, line in lines if WORDS in line), cpu))
    return _result(events), _result(words)


def behind(client: Client, count: int = 30) -> Result:
    """The delay from the model to the client: the first words of the reply are the time at which the model wrote them."""
    agent, stream = client.agent(), Stream(client.server)
    path, body = f"/v1/agents/{agent}/messages/stream", {"input": CLOCK, "stream_tokens": True}
    measured = []
    for _ in range(count):
        start_cpu, said = client.server.cpu_ms(), ""
        late = 0.0
        for _, line in stream.post(path, dict[str, object](body)):
            if WORDS in line and not said:
                said = json.loads(line.removeprefix(b"data: "))["content"]
                late = (time.time() - float(said.split()[0])) * 1000
        measured.append((late, client.server.cpu_ms() - start_cpu))
    return _result(measured)


def together(client: Client, many: int = 64) -> Result:
    """The time to the first words of `many` concurrent streams, each of its own agent: the median, and the slowest one as p95."""
    agents = [client.agent() for _ in range(many)]
    ready, found = threading.Barrier(many), []

    def follow(agent: str) -> None:
        stream, path = Stream(client.server), f"/v1/agents/{agent}/messages/stream"
        body: dict[str, object] = {"input": "hello", "stream_tokens": True}
        list(stream.post(path, body))
        ready.wait()
        found.append(next(at for at, line in list(stream.post(path, body)) if WORDS in line))

    threads = [threading.Thread(target=follow, args=(agent,)) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found.sort()
    return Result(found[len(found) // 2], found[-1], 0.0)


def resumed(server: Server, run_id: str, count: int = 30) -> tuple[Result, Result]:
    """The times to the first event of a long log and to all of its events."""
    begins, wholes = [], []
    for number in range(3 + count):
        stream, start_cpu = Stream(server), server.cpu_ms()
        lines = list(stream.post(f"/v1/runs/{run_id}/stream", {"include_pings": False}))
        if len(lines) < EVENTS:
            raise SystemExit(f"{len(lines)} events came, not {EVENTS}")
        if number >= 3:
            cpu = server.cpu_ms() - start_cpu
            begins.append((lines[0][0], cpu))
            wholes.append((lines[-1][0], cpu))
    return _result(begins), _result(wholes)


def long_run(found: list[str]) -> Callable[[Path], None]:
    """A function that fills a data folder with a run whose log has many events, one in each batch. It appends the run's id to
    `found`.
    """

    def prepare(data: Path) -> None:
        from hibernaut.schemas.agents.agent import CreateAgentRequest
        from hibernaut.schemas.ids import DEFAULT_TENANT
        from hibernaut.schemas.runs.events import DeltaEvent
        from hibernaut.schemas.runs.send import LettaStreamingRequest
        from hibernaut.schemas.stop import StopReason
        from hibernaut.services.sending.sending import SendRequest
        from hibernaut.wiring.api_services import services_of
        from hibernaut.wiring.embedded import Embedded
        from hibernaut.wiring.settings import EmbeddedSettings

        with Embedded(EmbeddedSettings(data=data)) as house:
            stores = house.stores.of(DEFAULT_TENANT)
            services = services_of(house.stores, house.host, house.engines).of(DEFAULT_TENANT)
            agent = services.agents.creation.create(CreateAgentRequest())
            body = LettaStreamingRequest(input="hello", stream_tokens=True)
            run_id = services.sending.accept(
                SendRequest(agent.id, body, "send_message_streaming", "long", background=True)
            ).run_id
            at = house.host.clock.now()
            message_id = house.host.ids.new("message")
            for number in range(1, EVENTS + 1):
                piece = DeltaEvent(
                    message_type="assistant_message", message_id=message_id, step_id="", index=0, text=f" word {number}", at=at
                )
                stores.writer.write(stores.runs.put_events(run_id, number, [piece], at))
            services.termination.end(run_id, StopReason.CANCELLED)
            found.append(run_id)

    return prepare


def _result(measured: list[tuple[float, float]]) -> Result:
    walls = sorted(wall for wall, _ in measured)
    return Result(walls[len(walls) // 2], walls[int(0.95 * (len(walls) - 1))], sum(cpu for _, cpu in measured) / len(measured))
