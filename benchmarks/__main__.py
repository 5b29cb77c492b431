"""`make bench`: run all benchmarks and print them beside the figures of the V1 server (two cores; as shipped / tuned)."""

from __future__ import annotations

import os
import platform

from benchmarks import agent_files, console, measures, packages, prefix, resting, schedules, streams, turn_costs
from benchmarks.cold_imports import table
from benchmarks.measures import Client, Result
from benchmarks.processes import running_server, scripted_model

MANY = 3_000


def main() -> None:
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, profile embedded, scripted model at zero latency\n"
    )
    print(f"{'measure':44} {'median':>9} {'p95':>9} {'CPU':>8}   {'aim':>12}   V1 (shipped / tuned)")
    with scripted_model() as model, running_server(model) as server:
        row("start to healthy (s)", Result(server.seconds_to_healthy, 0, 0, "s"), "≤ 2", "23")
        row("memory when it is healthy (MB)", Result(server.resident_mb(), 0, 0, "MB"), "≤ 130", "418")
        row("idle memory (MB)", Result(server.settled_mb(), 0, 0, "MB"), "≤ 130", "418")
        client = Client(server)
        client.settle()
        row("create an agent", measures.create_agent(client), "≤ 10", "92 / 55")
        plain = measures.one_message(client)
        row("one message without tools", plain, "≤ 15", "366 / 196")
        five = measures.with_steps(client, 5)
        row("a message with five tool steps", five, "", "")
        further = Result((five.median - plain.median) / 5, (five.p95 - plain.p95) / 5, (five.cpu - plain.cpu) / 5)
        row("every further tool step", further, "≤ 8", "370 / 190")
        row("32 clients at once, an agent each (msg/s)", measures.at_once(client, 32, 20), "≥ 90", "4.1 / 5.5")
        row(f"a message with {MANY} messages in context", measures.many_messages(client, MANY), "≤ 80", "1,366 / 1,278")
    with scripted_model() as model, running_server(model) as server:
        client = Client(server)
        row("import an agent file of 1 MB", agent_files.import_megabyte(client), "≤ 300", "")
        row(f"export an agent with {MANY} messages", agent_files.export_messages(client, MANY), "≤ 200", "")
    with scripted_model() as model, running_server(model) as server:
        client = Client(server)
        for _ in range(50):
            measures.fill(client, client.agent(context_window_limit=1_000_000), MANY)
        row(f"list 50 agents that have {MANY} messages each", measures.list_agents(client), "≤ 30", "50")
    of_streams()
    with scripted_model() as model, running_server(model) as server:
        print("\n".join(["", *schedules.at_once(Client(server))]))
    print("\n".join(["", *resting.table()]))
    print("\n".join(["", *prefix.table()]))
    print("\n".join(["", *turn_costs.table()]))
    print("\n".join(["", *packages.table()]))
    print("\n".join(["", *console.table()]))
    print("\nCold imports (CPU ms of a fresh interpreter)")
    for what, cost in table():
        print(f"  {what:56} {'not measured' if cost is None else f'{cost:6.0f}'}")


def of_streams() -> None:
    with scripted_model() as model, running_server(model) as server:
        client = Client(server)
        event, words = streams.first(client)
        row("a stream: first event", event, "≤ 15", "169 / 100")
        row("a stream: first words", words, "≤ 25", "261 / 160")
        row("64 streams at once: first words (p95: slowest)", streams.together(client), "", "")
    with scripted_model(0.3) as model, running_server(model) as server:
        row("a 300 ms model's first words, after it wrote them", streams.behind(Client(server)), "≤ 10", "")
    found: list[str] = []
    with running_server(None, streams.long_run(found)) as server:
        begin, whole = streams.resumed(server, found[0])
        row(f"a resumed stream of {streams.EVENTS} events begins", begin, "≤ 50", "")
        row("and is whole", whole, "", "")


def row(what: str, result: Result, aim: str, v1: str) -> None:
    p95, cpu = f"{result.p95:.1f}" if result.p95 else "", f"{result.cpu:.1f}" if result.cpu else ""
    print(f"{what:44} {result.median:9.1f} {p95:>9} {cpu:>8}   {aim:>12}   {v1}", flush=True)


if __name__ == "__main__":
    main()
