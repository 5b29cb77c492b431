"""The measured server and its scripted model as separate processes. CPU time and memory are read from /proc."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import httpx

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Server:
    """A running server: its address, its CPU time and its memory."""

    url: str
    process: subprocess.Popen[bytes]
    seconds_to_healthy: float

    def cpu_ms(self) -> float:
        """User and system time of the process since it was started."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / TICKS

    def resident_mb(self) -> float:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0.0

    def settle(self) -> None:
        """Wait until the process has used less than 2 % of a core for a second."""
        before, now = 0.0, self.cpu_ms()
        while now - before > 20:
            time.sleep(1)
            before, now = now, self.cpu_ms()

    def settled_mb(self) -> float:
        """Resident size after two seconds without requests: a server loads its vocabulary after it reports that it is healthy."""
        before, now = 0.0, self.resident_mb()
        while now - before > 0.5:
            time.sleep(2)
            before, now = now, self.resident_mb()
        return now


@contextmanager
def scripted_model(latency: float = 0.0) -> Iterator[str]:
    """The address of a running scripted model. `latency`: seconds before each reply."""
    command = [sys.executable, "-m", "benchmarks.scripted_model", str(latency)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


@contextmanager
def running_server(
    model_url: str | None,
    prepare: Callable[[Path], None] = lambda _: None,
    *,
    checkout: Path | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Server]:
    """`hibernaut dev` on a new data folder, which `prepare` may fill. The server is healthy, and stops at the end.

    `checkout`: the folder of another version of the project, which runs with the packages of this one. `variables`: further
    settings.
    """
    with tempfile.TemporaryDirectory() as data, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        prepare(Path(data))
        environment = {**os.environ, **variables}
        if model_url:
            environment |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": model_url}
        if checkout is not None:
            environment["PYTHONPATH"] = os.pathsep.join([str(checkout), str(checkout / "shared")])
        command = [str(Path(sys.executable).with_name("hibernaut")), "dev", "--port", str(port), "--data-dir", data]
        began = time.perf_counter()
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield Server(f"http://127.0.0.1:{port}", process, _healthy(port, began))
        finally:
            process.terminate()
            process.wait()


def _healthy(port: int, began: float) -> float:
    while time.perf_counter() - began < 60:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/v1/health/", timeout=1).status_code == 200:
                return time.perf_counter() - began
        except httpx.TransportError:
            time.sleep(0.01)
    raise SystemExit("the server did not become healthy within 60 s")
