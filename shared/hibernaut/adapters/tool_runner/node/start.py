"""Lets the process of a tool become Node. `child` calls it behind the walls; it imports as little as `child` does."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from typing import Any

OWN_MEMORY = 128 * 1024 * 1024
"""Bytes that Node needs beside what the tool allocates."""
OWN_ADDRESSES = 2 * 1024 * 1024 * 1024
"""Bytes of addresses that V8 reserves for its code and its heap without using them."""
_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runner.cjs")
_NOT_THE_TOOLS = ("cage", "path", "root", "agent_state", "args_json_schema", "environment", "node", "packages")


def become_node(channel: int, job: dict[str, Any]) -> NoReturn:
    """Replace this process by Node, with the job on its standard input. Raises: OSError if Node cannot be started here."""
    tool_job = {name: value for name, value in job.items() if name not in _NOT_THE_TOOLS}
    place = os.open("job.json", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    os.unlink("job.json")
    rest = memoryview(json.dumps(tool_job).encode())
    while rest:
        rest = rest[os.write(place, rest) :]
    os.lseek(place, 0, os.SEEK_SET)
    os.dup2(place, 0)
    os.set_inheritable(channel, True)
    heap = max(64, job["memory"] // 1024**2)
    # The checks of WebAssembly by traps reserve ten gigabytes of addresses for each memory.
    flags = ["--no-warnings", "--disable-wasm-trap-handler", f"--max-old-space-size={heap}"]
    os.execv(job["node"], [job["node"], *flags, _PROGRAM, str(channel)])  # noqa: S606 -- a list, no shell line
