"""The names of the walls, in the order of their report."""

from __future__ import annotations

from enum import StrEnum


class Wall(StrEnum):
    """A wall between a tool and the machine."""

    PROCESSES = "processes"
    """No other process can be traced, signalled or looked into, and all of the tool's processes end with the call."""
    FILES = "files"
    """Programs and libraries are read-only, the working folder is the tool's own, and no other file can be opened."""
    DISK = "disk"
    """All files of a call together have a limit, and are in memory."""
    USER = "user"
    """The tool runs as a user without rights: only where the server runs as root."""
    CALLS = "system calls"
    """Calls that reach out of the cage are refused."""
    COUNT = "number of processes"
    """The kernel counts the tool's processes."""
    CONNECTIONS = "connections"
    """The server's port needs the token of the call; metadata services of clouds and Unix sockets are refused."""
    NO_NETWORK = "no network"
    """There is no network at all."""
