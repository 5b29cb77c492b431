"""A child's pipes: nothing that it wrote is lost, however early it ends."""

from __future__ import annotations

import fcntl
import os
import resource
import subprocess
import sys
from typing import Any

from hibernaut.adapters.tool_runner.child import PipeWish
from hibernaut.adapters.tool_runner.pipes import Inflow, Outflow, serve
from hibernaut.adapters.tool_runner.recall import Recall


def test_what_a_child_wrote_before_it_ended_is_read_also_if_it_ended_first() -> None:
    command = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdout.write('o' * 1000); sys.stderr.write('e')"]
    pipe = subprocess.PIPE
    process: Any = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    stdout, stderr = Inflow(process.stdout, 10), Inflow(process.stderr, 10)
    assert serve(process, Outflow(process.stdin, memoryview(b"unread")), (stdout, stderr), timeout=60.0)
    assert (bytes(stdout.captured), stdout.total, bytes(stderr.captured)) == (b"o" * 10, 1000, b"e")
    assert process.returncode == 0
    assert process.stdin.closed
    assert process.stdout.closed


def test_a_child_that_is_recalled_and_goes_on_is_ended() -> None:
    pipe = subprocess.PIPE
    command = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(100)"]
    process: Any = subprocess.Popen(command, stdin=pipe, stdout=pipe, bufsize=0, start_new_session=True)
    asked = iter((True, False))
    with Recall(lambda: next(asked), look=0.01, grace=0.01) as recall:
        assert not serve(process, Outflow(process.stdin, memoryview(b"")), (Inflow(process.stdout, 1),), 60.0, recall)
        assert os.read(recall.reading, 1) == b""
    assert process.returncode < 0
    assert next(asked, None) is None, "it is asked no more when it has answered False"


def test_a_child_hears_its_recall_also_by_a_descriptor_above_1023() -> None:
    """It inherits the number of the descriptor from a server that may have thousands of connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    reading, writing = os.pipe()
    high = fcntl.fcntl(reading, fcntl.F_DUPFD_CLOEXEC, 2000)
    try:
        wanted = PipeWish(high)
        assert wanted()
        os.close(writing)
        assert not wanted()
    finally:
        os.close(reading)
        os.close(high)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
