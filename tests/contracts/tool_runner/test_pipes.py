"""A child's pipes: nothing that it wrote is lost, however early it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from hibernaut.adapters.tool_runner.pipes import Inflow, Outflow, serve


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
