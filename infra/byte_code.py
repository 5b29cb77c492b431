"""Byte code for Lambda, where a function's folders cannot be written to: without it, each cold start compiles all that it imports.

Knows which Python compiles and how; not what a function carries. Only `python_of` may reach the network.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def python_of(version: str) -> Path:
    """A CPython of this version, like "3.13": the running one, one on the path, else one that uv fetches and keeps. The platform does
    not matter to byte code. Raises: RuntimeError where there is none; what is deployed should not depend on who deploys it."""
    find = [sys.executable, "-m", "uv", "run", "--no-project", "--python", f"cpython@{version}", "--", "python", "-I", "-c"]
    # What uv says of the search and of its download goes to the terminal.
    done = subprocess.run([*find, "import sys; print(sys.executable)"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"Lambda runs Python {version}, so what is deployed is compiled by one, and uv neither found it nor could fetch it "
            f"(its own words are above). Put a python{version} on the PATH and deploy again."
        )
    return Path(done.stdout.strip())


def compile_for(folder: Path, mount: str, *, python: Path) -> None:
    """Lay byte code beside each source below `folder`, as if it stood where the function finds it (tracebacks name that place). It is
    never compared with its source, whose time is lost on the way, and the same sources make the same bytes. Raises:
    CalledProcessError where a file is not that Python's; which, it has said by then."""
    # Isolated: a variable of the caller's could send the byte code elsewhere. In one process, because what `-j` gives a process
    # that has compiled other files before need not be the same bytes.
    options = ["-q", "--invalidation-mode", "unchecked-hash", "-s", str(folder), "-p", mount]
    subprocess.run([python, "-I", "-m", "compileall", *options, str(folder)], check=True)
