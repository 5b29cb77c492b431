"""Compiles byte code for Lambda, where a function's folders are read-only: without it, each cold start compiles all imported
modules.

Knows which Python compiles and how; does not know what a function contains. Only `python_of` may access the network.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def python_of(version: str) -> Path:
    """A CPython of this version, like "3.13": the running one, one on the PATH, or one that uv downloads and caches. Byte code
    does not depend on the platform. Raises: RuntimeError if there is none, because a deployment should not depend on the machine.
    """
    find = [sys.executable, "-m", "uv", "run", "--no-project", "--python", f"cpython@{version}", "--", "python", "-I", "-c"]
    # uv's own messages about the search and the download go to the terminal.
    done = subprocess.run([*find, "import sys; print(sys.executable)"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"Lambda runs Python {version}, so what is deployed is compiled by one, and uv neither found it nor could fetch it "
            f"(its own words are above). Put a python{version} on the PATH and deploy again."
        )
    return Path(done.stdout.strip())


def compile_for(folder: Path, mount: str, *, python: Path) -> None:
    """Write byte code beside each source below `folder`, with the paths of the function's file system (for tracebacks). It is
    never checked against its source, whose modification time is lost in the asset, and is reproducible. Raises:
    CalledProcessError, after an error message with the file, if a file is not valid for that Python.
    """
    # Isolated: a variable of the caller's could send the byte code elsewhere. In one process, because what `-j` gives a process
    # that has compiled other files before need not be the same bytes.
    options = ["-q", "--invalidation-mode", "unchecked-hash", "-s", str(folder), "-p", mount]
    subprocess.run([python, "-I", "-m", "compileall", *options, str(folder)], check=True)
