"""Compiles byte code for Lambda, where a function's folders are read-only: without it, each cold start compiles all imported
modules.

Knows which Python compiles and how; does not know what a function contains. Only `python_of` may access the network.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_WHO = "import platform, sys; print(platform.python_implementation(), *sys.version_info[:2]); print(sys.executable)"
SECONDS_TO_START = 30


def python_of(version: str) -> Path:
    """A CPython of this version, like "3.13": the running one, one on the PATH, one of pyenv's, or one that uv has or downloads
    and caches. Byte code does not depend on the platform. Raises: RuntimeError if there is none, because a deployment should not
    depend on the machine; the message names each program that was tried.
    """
    tried = []
    for candidate in _candidates(version):
        found = _interpreter_of(candidate, version)
        if isinstance(found, Path):
            return found
        tried.append(f"{candidate}: {found}")
    return _from_uv(version, tried)


def _candidates(version: str) -> Iterator[Path]:
    if ".".join(map(str, sys.version_info[:2])) == version:
        yield Path(sys.executable)
    name = f"python{version}"
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if (program := Path(folder or ".", name)).is_file():
            yield program
    # pyenv's shim on the PATH runs only a version that a setting selects.
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/{name}"), reverse=True)


def _interpreter_of(program: Path, version: str) -> Path | str:
    """The interpreter that a program starts, or the reason why it does not have this version."""
    try:
        done = subprocess.run([program, "-I", "-c", _WHO], capture_output=True, text=True, timeout=SECONDS_TO_START, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode:
        return " ".join(done.stderr.split())
    kind, _, executable = done.stdout.strip().partition("\n")
    return Path(executable) if kind == " ".join(("CPython", *version.split("."))) else f"it is {kind}"


def _from_uv(version: str, tried: list[str]) -> Path:
    find = [sys.executable, "-m", "uv", "run", "--no-project", "--python", f"cpython@{version}", "--", "python", "-I", "-c"]
    # uv's own messages about the search and the download go to the terminal.
    done = subprocess.run([*find, "import sys; print(sys.executable)"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"Lambda runs Python {version}, so what is deployed is compiled by one, and none was found"
            + "".join(f"\n  {one}" for one in tried)
            + f"\nuv neither found one nor could fetch it (its own words are above). Put a python{version} that runs on the PATH "
            "and deploy again."
        )
    return Path(done.stdout.strip())


def compile_for(folder: Path, mount: str, *, python: Path) -> None:
    """Write byte code beside each source below `folder`, with the paths of the function's file system (for tracebacks). It is
    reproducible, and Python never compares it with its source, because the asset does not preserve modification times. Raises:
    CalledProcessError, after an error message with the file, if a file is not valid for that Python.
    """
    # Isolated: a variable of the caller's could send the byte code elsewhere. In one process, because what `-j` gives a process
    # that has compiled other files before need not be the same bytes.
    options = ["-q", "--invalidation-mode", "unchecked-hash", "-s", str(folder), "-p", mount]
    subprocess.run([python, "-I", "-m", "compileall", *options, str(folder)], check=True)
