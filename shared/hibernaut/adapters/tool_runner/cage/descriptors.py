"""Two connected sockets over which one process hands a descriptor to another. Knows descriptors only.

It uses the C part of `socket` alone: importing the Python layer takes longer than all the walls.
"""

from __future__ import annotations

import _socket
import contextlib
import sys


class Pair:
    """Two ends of a connection within this machine: the parent receives at `ours`, the child sends at `theirs`."""

    def __init__(self) -> None:
        self._ours, self._theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)

    @property
    def ours(self) -> int:
        return self._ours.fileno()

    def close_theirs(self) -> None:
        """Close the child's end in the parent, after the child has started."""
        self._theirs.close()

    def close(self) -> None:
        self._ours.close()
        self._theirs.close()

    def tell(self, answer: bool) -> None:
        """Tell the child yes or no. Raises: OSError."""
        self._ours.send(b"y" if answer else b"n")

    def hear(self) -> bool:
        """Wait for the parent's decision. Raises: OSError."""
        return self._theirs.recv(1) == b"y"

    def send(self, descriptor: int) -> None:
        """Raises: OSError."""
        data = descriptor.to_bytes(4, sys.byteorder)
        self._theirs.sendmsg([b"d"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, data)])

    def receive(self) -> int | None:
        """The received descriptor; None if the other end was closed without one."""
        with contextlib.suppress(OSError):
            _, messages, _, _ = self._ours.recvmsg(1, _socket.CMSG_SPACE(4))
            for level, kind, data in messages:
                if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS and len(data) >= 4:
                    return int.from_bytes(data[:4], sys.byteorder)
        return None
