"""The kinds of cages in which the table of escapes is tried. As a program, it tries the table as a user without rights and prints
what happened.
"""

from __future__ import annotations

import ctypes
import json
import os
import pwd
import shutil
import socket
import struct
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hibernaut.adapters.tool_runner.cage import kernel
from hibernaut.adapters.tool_runner.cage.walls import Wall
from hibernaut.adapters.tool_runner.child_process import ChildProcessRunner
from hibernaut.adapters.tool_runner.confinement import Cage
from hibernaut.adapters.tool_runner.lambda_function import LambdaRunner
from hibernaut.adapters.tool_runner.spares import STANDING, Spare
from hibernaut.ports.tools.tool_runner import ToolJob, ToolRunner
from tests.contracts.tool_runner import escapes, node_escapes
from tests.support.run_tool import HandlerClient

MEGABYTE = 1024 * 1024
NOBODY = 65534
PRIVATE = 0x40000
"""`MS_PRIVATE` of mount(2): what is mounted from now on is seen here alone."""
WITHOUT_RIGHTS, WITHOUT_NAMESPACES, WITHOUT_MOUNTS, IN_A_CONTAINER = (
    "without rights",
    "without namespaces",
    "without mounts",
    "in a container",
)
REFUSED = {
    WITHOUT_RIGHTS: (),
    WITHOUT_NAMESPACES: ("unshare",),
    WITHOUT_MOUNTS: ("mount",),
    IN_A_CONTAINER: ("unshare", "pidfd_getfd"),
}
"""The calls that the system refuses to a server without rights: none, or as policies and containers do."""
_ALWAYS = {Wall.PROCESSES, Wall.FILES, Wall.CALLS, Wall.CONNECTIONS}
_OF_USER = {Wall.USER} if os.geteuid() == 0 else set()
EARLY = "child process that was started before its call"
KINDS = {
    EARLY: _ALWAYS | _OF_USER | {Wall.DISK},
    "function": _ALWAYS | _OF_USER | {Wall.DISK},
    WITHOUT_RIGHTS: _ALWAYS | {Wall.DISK},
    WITHOUT_NAMESPACES: _ALWAYS,
    WITHOUT_MOUNTS: _ALWAYS,
    IN_A_CONTAINER: _ALWAYS - {Wall.CONNECTIONS},
}
"""The kinds, with the walls that a current Linux gives to each."""


def tried(kind: str, folder: Path) -> dict[str, Any]:
    """What happened when a hostile tool tried everything in this kind of cage: its walls, what got out, and what the limits
    said.
    """
    if kind in REFUSED:
        return _in_a_process_of_its_own(kind, folder)
    with ExitStack() as opened:
        data, host = folder / "data", folder / "host"
        data.mkdir()
        host.mkdir()
        (data / "hibernaut.db").write_text("secret")
        (host / "other").write_text("other")
        port = opened.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
        path, abstract = str(folder / "socket"), f"@hibernaut-test-{os.getpid()}"
        for name in (path, abstract.replace("@", "\0")):
            unix = opened.enter_context(socket.socket(socket.AF_UNIX))
            unix.bind(name)
            unix.listen()
        sets = _packages(data)
        cage, spare = Cage(hidden=(data,), files=8 * MEGABYTE, processes=20, ports=(port,)), Spare() if kind == EARLY else None
        own = ChildProcessRunner(cage, lambda *_: sets["own"], spare=spare)
        opened.callback(own.close)
        if spare is not None:
            spare.take(STANDING)
            assert spare.is_ready(60.0)
        runner: ToolRunner = (
            LambdaRunner("run_tool", HandlerClient(own), node_function="run_node", links=lambda *_: "https://packages")
            if kind == "function"
            else own
        )
        facts = {"server": os.getpid(), "server_group": os.getpgid(0), "secret": str(data / "hibernaut.db"), "host": str(host)}
        facts |= {"socket_path": path, "abstract": abstract, "port": port, **sets}
        outcome = runner.run(_job(escapes.all_attempts(), packages={"digest": "own"}, facts=facts))
        assert outcome.status == "success", outcome
        in_node = runner.run(_job(node_escapes.all_attempts(), source_type="typescript", packages={"digest": "own"}, facts=facts))
        assert in_node.status == "success", in_node
        limits = {name: _told(runner.run(each)) for name, each in LIMITED.items()}
        daemon = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = daemon.getsockname()[1]
        limits["daemon"] = _daemon(runner, _job(escapes.DAEMON, port=port), daemon)
        limits["daemon of Node"] = _daemon(runner, _job(node_escapes.DAEMON, source_type="typescript", port=port), daemon)
        return {"walls": sorted(own.walls()), "escaped": outcome.value, "escaped from Node": in_node.value, "limits": limits}


def _packages(data: Path) -> dict[str, str]:
    """The packages of the tool and those of another one, beside each other in the data folder, as the server has them."""
    own, others = data / "packages" / "own", data / "packages" / "others"
    shadow = escapes.SHADOW.format(secret=str(data / "hibernaut.db"))
    files = {own / f"{name}.py": shadow for name in escapes.SHADOWED}
    files |= {
        own / "own_package.py": "",
        others / "other_package.py": "'secret'",
        others / "other_package.cjs": "module.exports = 'secret'",
    }
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return {"own": str(own), "others": str(others)}


def _daemon(runner: ToolRunner, job: ToolJob, listener: socket.socket) -> list[Any]:
    told = _told(runner.run(job))
    with listener.accept()[0] as line:
        # The end of the line comes when the last process that holds it is dead.
        return [*told, b"".join(iter(lambda: line.recv(100), b"")).decode()]


def _told(outcome: Any) -> list[Any]:
    return [outcome.status, outcome.value if outcome.status == "success" else outcome.error]


def _job(
    source: str,
    *,
    memory: int = 1024 * MEGABYTE,
    source_type: str | None = None,
    packages: dict[str, Any] | None = None,
    **args: Any,
) -> ToolJob:
    limits: dict[str, Any] = {"timeout": 60.0, "memory": memory, "output_limit": 100_000}
    return ToolJob(name="tool", source_code=source, args=args, source_type=source_type, packages=packages, **limits)


LIMITED = {
    "memory": _job(escapes.HOARD, memory=100 * MEGABYTE, count=3, megabytes=60),
    "forks": _job(escapes.FORKS, count=400),
    "file": _job(escapes.FILE, megabytes=1500, files=1),
    "files": _job(escapes.FILE, megabytes=6, files=10),
    "flood": _job(escapes.FLOOD, text="[" * 100_000, times=800),
    "memory of Node": _job(
        node_escapes.HOARD, source_type="typescript", memory=100 * MEGABYTE, count=3, megabytes=60, python=sys.executable
    ),
    "forks of Node": _job(node_escapes.FORKS, source_type="typescript", count=100),
    "flood of Node": _job(node_escapes.FLOOD, source_type="typescript", text="[" * 100_000, times=800),
}


def _in_a_process_of_its_own(kind: str, folder: Path) -> dict[str, Any]:
    os.chmod(folder, 0o777)
    command = [sys.executable, "-m", "tests.contracts.tool_runner.cages", kind, str(folder)]
    place = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"], "HOME": str(folder)}
    done = subprocess.run(command, env=place, capture_output=True, timeout=120, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _give_up_rights() -> None:
    """Become a user without rights, for whom this Python is readable although it may be in root's home."""
    if os.geteuid() != 0:
        return
    base = sys.base_prefix
    kernel.unshare(kernel.NEW_MOUNTS)
    kernel.mount("none", "/", flags=kernel.RECURSIVE | PRIVATE)
    home = pwd.getpwuid(0).pw_dir
    if base.startswith(f"{home}/"):
        kernel.mount("tmpfs", "/mnt", kind="tmpfs")
        os.mkdir("/mnt/python")
        kernel.mount(base, "/mnt/python", flags=kernel.BIND)
        kernel.mount("tmpfs", home, kind="tmpfs", data="mode=755")
        os.makedirs(base)
        kernel.mount("/mnt/python", base, flags=kernel.BIND)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    kernel.control(kernel.DUMPABLE, 1)


def _refuse(names: tuple[str, ...]) -> None:
    """Let these calls answer EPERM."""
    numbers = {"unshare": (272, 97), "mount": (165, 40), "pidfd_getfd": (438, 438)}
    steps = [(0x20, 0, 0, 0)]
    for name in names:
        number = numbers[name][0 if kernel.machine() == "x86_64" else 1]
        steps += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050001)]
    steps.append((0x06, 0, 0, 0x7FFF0000))
    program = b"".join(struct.pack("=HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(program, len(program))
    kernel.control(kernel.NO_NEW_PRIVILEGES, 1)
    header = struct.pack("@HP", len(steps), ctypes.addressof(buffer))
    kernel.call("seccomp", kernel.SECCOMP_FILTER, 0, ctypes.create_string_buffer(header))


def main() -> None:
    kind, folder = sys.argv[1], Path(sys.argv[2])
    _give_up_rights()
    if REFUSED[kind]:
        _refuse(REFUSED[kind])
    inner = folder / "own"
    shutil.rmtree(inner, ignore_errors=True)
    inner.mkdir()
    print(json.dumps(tried("child process", inner)))


if __name__ == "__main__":
    main()
