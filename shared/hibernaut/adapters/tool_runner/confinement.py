"""What the server decides about the cage of its tools: what they may see, how much they may use, whether they have a network.
Knows paths and limits.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hibernaut.adapters.tool_runner.cage import kernel
from hibernaut.schemas.base import JsonObject

FILES_LIMIT = 256 * 1024 * 1024
PROCESSES_LIMIT = 128
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
_CONFIGURATION = (
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "fonts",
    "gai.conf",
    "group",
    "host.conf",
    "hosts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "pki",
    "protocols",
    "resolv.conf",
    "services",
    "ssl",
    "timezone",
)
"""What programs and name resolution read below /etc; nothing of it is secret."""
_KEYS = ("/etc/ssl/private", "/etc/pki/tls/private")


@dataclass(slots=True)
class Cage:
    """The cage of a server's tools. `hidden`: folders that are invisible to tools, such as the server's data. `files`: the limit
    for all files of a call in bytes.
    `processes`: the limit for concurrent processes of a call.

    `ports`: the ports of this server that need no key. `door`: the port to which tools' connections to these ports are
    redirected, and where each request needs a token. The server sets both when it listens.
    """

    hidden: Sequence[Path] = ()
    network: bool = True
    files: int = FILES_LIMIT
    processes: int = PROCESSES_LIMIT
    ports: Sequence[int] = ()
    door: int | None = None

    def request(self, visible: Sequence[str]) -> JsonObject:
        """The cage in the launcher's request."""
        return {
            "seen": list(visible),
            "hidden": [*_resolved(self.hidden), *_KEYS],
            "network": self.network,
            "files": self.files,
            "processes": self.processes,
            "ports": list(self.ports),
            "door": self.door,
        }


def hide_process() -> None:
    """Let no other process of this user read the memory and the environment of this one, nor trace it; where the system can."""
    if kernel.supported():
        with contextlib.suppress(OSError):
            kernel.control(kernel.DUMPABLE, 0)


def visible_paths(hidden: Sequence[Path]) -> tuple[str, ...]:
    """The paths that a tool may read: the system's programs, this Python and its import paths. They exclude import paths that
    contain the user's home, hidden data or the working folder.
    """
    python = (sys.base_prefix, sys.prefix, sys.base_exec_prefix, sys.exec_prefix, os.path.dirname(sys.executable))
    excluded = [*_resolved(hidden), os.path.realpath(Path.home()), os.path.realpath(os.getcwd())]
    imported = [entry for entry in sys.path if os.path.isabs(entry) and not _contains(os.path.realpath(entry), excluded)]
    own = [os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))]
    candidates = [*_SYSTEM, *(f"/etc/{name}" for name in _CONFIGURATION), *python, *imported, *own]
    return tuple(dict.fromkeys(path for each in candidates for path in (each, os.path.realpath(each)) if path != "/"))


def _contains(folder: str, excluded: Sequence[str]) -> bool:
    return any(each == folder or each.startswith(folder.rstrip("/") + "/") for each in excluded)


def _resolved(folders: Sequence[Path]) -> list[str]:
    return [os.path.realpath(each) for each in folders]
