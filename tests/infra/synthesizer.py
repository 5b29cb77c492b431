"""The CDK as a process that synthesizes one stack after the other: its start takes as long as a stack.

The process reads requests from its standard input, one JSON text a line, and ends with it. It is started at the first request.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import ExitStack
from typing import IO

from infra.app import main
from infra.artifacts import ROOT


class Synthesizer:
    """The process. Its environment is that of the first request."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """`python -m infra.app` with these arguments, as `subprocess.run` would return it."""
        command = [sys.executable, "-m", "tests.infra.synthesizer"]
        if self._process is None:
            self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(list(arguments)) + "\n")
        self._process.stdin.flush()
        done = json.loads(self._process.stdout.readline())
        return subprocess.CompletedProcess(list(arguments), done["code"], done["stdout"], done["stderr"])

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None


def answered(arguments: list[str]) -> dict[str, object]:
    """What came of a request, with everything that this process and the CDK's own wrote meanwhile."""
    with ExitStack() as open_files:
        files = [open_files.enter_context(tempfile.TemporaryFile()) for _ in (sys.stdout, sys.stderr)]
        before = [os.dup(1), os.dup(2)]
        for number, file in enumerate(files, 1):
            os.dup2(file.fileno(), number)
        try:
            code = _code_of(arguments)
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            for number, former in enumerate(before, 1):
                os.dup2(former, number)
                os.close(former)
        return {"code": code, "stdout": _text(files[0]), "stderr": _text(files[1])}


def _code_of(arguments: list[str]) -> int:
    try:
        main(arguments)
    except Exception:  # noqa: BLE001 - Python, too, prints whatever ends a program
        traceback.print_exc()
        return 1
    return 0


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answered(json.loads(line))), flush=True)
