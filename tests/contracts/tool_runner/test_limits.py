"""The port `ToolRunner`: a tool that takes too much is stopped, and what it started goes with it."""

from __future__ import annotations

import os
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from hibernaut.adapters.tool_runner.child_process import ChildProcessRunner
from hibernaut.ports.tools.tool_runner import ToolRunner
from tests.contracts.tool_runner.conftest import MEGABYTE, job

STUBBORN = """
import signal
def tool():
    print("started")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
"""


def test_a_tool_that_loops_for_ever_is_killed_at_its_limit(runner: ToolRunner) -> None:
    outcome = runner.run(job(STUBBORN, timeout=2.0))  # it must have begun by then, on a busy machine too
    assert outcome.error == (
        "Error executing function tool: TimeoutError: it ran longer than the 2 seconds that a tool may take, and was stopped"
    )
    assert outcome.stdout == ("started\n",)


def test_a_tool_that_never_reads_nor_closes_anything_ends_at_its_limit(runner: ToolRunner) -> None:
    source = "import os, time\ndef tool():\n    os.closerange(0, 100)\n    time.sleep(1000)\n"
    assert "TimeoutError" in str(runner.run(job(source, timeout=0.5)).error)


def test_threads_that_a_tool_left_running_do_not_keep_its_process(runner: ToolRunner) -> None:
    source = "import threading, time\ndef tool():\n    threading.Thread(target=time.sleep, args=(1000,)).start()\n    return 1\n"
    assert runner.run(job(source, timeout=10.0)).value == 1


@pytest.mark.parametrize(
    "hoard",
    [
        "kept = []\n    while True: kept.append(bytes(1_000_000))",
        "kept = ()\n    while True: kept = (kept,)",
        "return len(bytearray(150_000_000))",
        "return bytearray(10**10)",
        "return 'x' * 10**10",
        "import mmap; return len(mmap.mmap(-1, 10**10))",
    ],
)
def test_a_tool_that_eats_all_memory_is_stopped_with_the_reason(runner: ToolRunner, hoard: str) -> None:
    outcome = runner.run(job(f"def tool():\n    {hoard}\n", memory=100 * MEGABYTE))
    assert outcome.status == "error"
    assert "more than the 100 MB that a tool may use" in str(outcome.error) or "Cannot allocate memory" in str(outcome.error)


def test_memory_within_the_limit_is_the_tools_to_use(runner: ToolRunner) -> None:
    assert runner.run(job("def tool():\n    return len(bytearray(150_000_000))\n", memory=300 * MEGABYTE)).value == 150_000_000


def test_no_core_is_dumped(runner: ToolRunner) -> None:
    outcome = runner.run(job("import resource\ndef tool():\n    return resource.getrlimit(resource.RLIMIT_CORE)\n"))
    assert outcome.value == [0, 0]


def test_a_tool_whose_server_is_gone_has_all_processors_for_its_time_and_ends_soon_after_it(runner: ToolRunner) -> None:
    source = """
    import resource, signal
    def tool():
        return [resource.getrlimit(resource.RLIMIT_CPU)[0], signal.getitimer(signal.ITIMER_REAL)[0]]
    """
    processor_seconds, seconds = runner.run(job(source, timeout=60.0)).value
    assert 60 * (os.cpu_count() or 1) <= processor_seconds <= 70 * (os.cpu_count() or 1)
    assert 0 < seconds < 70


def test_endless_output_is_cut_and_does_not_block(runner: ToolRunner) -> None:
    source = """
    import sys
    def tool():
        for _ in range(100):
            sys.stdout.write("o" * 1_000_000)
            sys.stderr.write("ä" * 1_000_000)
        return "done"
    """
    outcome = runner.run(job(source, output_limit=1000))
    assert outcome.value == "done"
    assert outcome.stdout == ("o" * 1000 + "... [NOTE: output was truncated since it exceeded the character limit (1000)]",)
    assert outcome.stderr == ("ä" * 1000 + "... [NOTE: output was truncated since it exceeded the character limit (1000)]",)


@pytest.mark.parametrize("returned", ["'ä' * 5_000_000", "['ä' * 5_000_000]"])
def test_an_endless_return_is_cut(runner: ToolRunner, returned: str) -> None:
    outcome = runner.run(job(f"def tool():\n    return {returned}\n", output_limit=1000))
    assert outcome.status == "success"
    assert isinstance(outcome.value, str)
    assert "ä" * 900 in outcome.value[:1000]
    assert outcome.value[1000:].startswith("... [NOTE: function output was truncated")
    assert len(outcome.value) < 1200


def test_a_return_at_the_limit_is_whole(runner: ToolRunner) -> None:
    assert runner.run(job("def tool():\n    return 'x' * 1000\n", output_limit=1000)).value == "x" * 1000


def test_a_block_too_large_to_send_is_an_error(runner: ToolRunner) -> None:
    source = "def tool(agent_state):\n    agent_state.memory.update_block_value('a', 'x' * 70_000_000)\n"
    state = {"memory": {"blocks": [{"label": "a", "value": ""}]}}
    assert "too large" in str(runner.run(job(source, agent_state=state)).error)


LEFT_BEHIND = """
import os, socket, time
def tool(how, port):
    line = socket.create_connection(("127.0.0.1", port))
    line.send(b"started")
    if how == "leaves a child":
        if os.fork() == 0:
            time.sleep(30)
            line.send(b"survived")
            os._exit(0)
    elif how == "runs away":
        for _ in range(20_000):
            if os.fork():
                os._exit(0)
        line.send(b"survived")
    elif how == "waits for a child":
        if os.fork() == 0:
            time.sleep(30)
            line.send(b"survived")
        os.wait()
"""


@pytest.mark.parametrize(
    ("how", "status"), [("leaves a child", "success"), ("runs away", "error"), ("waits for a child", "error")]
)
def test_processes_that_a_tool_started_die_with_it(runner: ToolRunner, how: str, status: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        outcome = runner.run(job(LEFT_BEHIND, args={"how": how, "port": listener.getsockname()[1]}, timeout=2.0))
        assert outcome.status == status
        with listener.accept()[0] as line:
            # The end comes as soon as the last process that holds the line is dead.
            assert b"".join(iter(lambda: line.recv(100), b"")) == b"started"


def test_closing_the_runner_ends_what_is_running() -> None:
    source = """
    import socket, time
    def tool(port):
        socket.create_connection(("127.0.0.1", port))
        time.sleep(1000)
    """
    runner = ChildProcessRunner()
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        running = pool.submit(runner.run, job(source, args={"port": listener.getsockname()[1]}))
        listener.accept()[0].close()
        runner.close()
        assert "its process was killed (SIGKILL)" in str(running.result().error)
