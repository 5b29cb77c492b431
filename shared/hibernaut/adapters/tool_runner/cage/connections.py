"""The watch on the connections of a caged tool: each `connect` waits until this process has performed or refused it.

This process reads the address from the tool's memory once, and connects with that copy, so that a tool cannot exchange the
address between the check and the call. It refuses the metadata services of clouds, and Unix sockets. It redirects a connection to
the server's own port to the port for tools, where every request needs a token. Source: the manual page `seccomp_unotify(2)`.
"""

from __future__ import annotations

import _socket
import _thread
import errno
import fcntl
import os
import select
import struct
import sys

from hibernaut.adapters.tool_runner.cage import kernel
from hibernaut.schemas.immutable import immutable

METADATA = frozenset(
    {
        "169.254.169.254",  # AWS, Azure, Google Cloud and others
        "169.254.170.2",  # AWS: containers
        "169.254.170.23",  # AWS: pods
        "100.100.100.200",  # Alibaba Cloud
        "168.63.129.16",  # Azure: the machine's agent
        "192.0.0.192",  # Oracle Cloud, formerly
        "fd00:ec2::254",  # AWS
        "fd00:ec2::23",  # AWS: pods
        "fd20:ce::254",  # Google Cloud
    }
)
"""Addresses at which clouds hand out the credentials of a machine."""
_RECEIVE, _SEND, _VALID = 0xC0502100, 0xC0182101, 0x40082102
_REQUEST, _ANSWER = struct.Struct("=QII iIQ6Q"), struct.Struct("=QqiI")
_LONGEST = 128
_V4, _V6, _UNSPECIFIED = _socket.AF_INET, _socket.AF_INET6, 0
_MAPPED = bytes(10) + b"\xff\xff"
_LOOPBACK = bytes(15) + b"\x01"


@immutable
class OwnPorts:
    """The server's ports on this machine, and the port of its door for tools (None: it has none)."""

    ports: frozenset[int]
    door: int | None


class ConnectionWatch:
    """Makes or refuses the connections that wait on one descriptor of seccomp."""

    def __init__(self, listener: int, own: OwnPorts) -> None:
        self.listener = listener
        self._own = own

    def take(self) -> bool:
        """Receive one connection and answer it in a thread of its own, because it may take long. False if no process can connect
        any more.
        """
        request = bytearray(_REQUEST.size)
        try:
            fcntl.ioctl(self.listener, _RECEIVE, request)
        except OSError as error:  # the process has ended, or a signal has ended its call
            return error.errno in (errno.ENOENT, errno.EINTR) and not self._over()
        _thread.start_new_thread(self._answer, (bytes(request),))
        return True

    def _over(self) -> bool:
        ended = select.poll()
        ended.register(self.listener, select.POLLIN)
        return any(event & select.POLLHUP for _, event in ended.poll(0))

    def _answer(self, request: bytes) -> None:
        identifier, task, _, _, _, _, descriptor, place, length, *_ = _REQUEST.unpack(request)
        try:
            fault = self._connected(identifier, task, descriptor, place, min(length & 0xFFFFFFFF, _LONGEST))
        except OSError as error:
            fault = errno.EACCES if error.errno in (None, errno.ENOSYS) else error.errno or errno.EACCES
        try:
            fcntl.ioctl(self.listener, _SEND, _ANSWER.pack(identifier, 0, -fault, 0))
        except OSError:
            return  # the tool's process, or its call, has ended meanwhile

    def _connected(self, identifier: int, task: int, descriptor: int, place: int, length: int) -> int:
        """The number of the error, 0 without one. Raises: OSError."""
        process = os.pidfd_open(_process_of(task))
        try:
            memory = os.open(f"/proc/{task}/mem", os.O_RDONLY | os.O_CLOEXEC)
            try:
                # Now the number of the task cannot have passed to another one without this saying so.
                fcntl.ioctl(self.listener, _VALID, struct.pack("=Q", identifier))
                address = os.pread(memory, length, place)
            finally:
                os.close(memory)
            target = permitted(address, self._own)
            if target is None:
                return errno.EACCES
            copy = kernel.call("pidfd_getfd", process, descriptor & 0xFFFFFFFF, 0)
        finally:
            os.close(process)
        try:
            return kernel.connect(copy, target)
        finally:
            os.close(copy)


def permitted(address: bytes, own: OwnPorts) -> bytes | None:
    """The raw address to connect to in place of this one; None if there may be no connection."""
    if len(address) < 2:
        return None
    family = int.from_bytes(address[:2], sys.byteorder)
    if family == _UNSPECIFIED:
        return address
    if family == _V4 and len(address) >= 8:
        host = _MAPPED + address[4:8]
    elif family == _V6 and len(address) >= 24:
        host = address[8:24]
    else:
        return None
    if _written(host) in METADATA:
        return None
    port = int.from_bytes(address[2:4], "big")
    if port not in own.ports or not _is_this_machine(host):
        return address
    if own.door is None:
        return None
    door, here = own.door.to_bytes(2, "big"), bytes((127, 0, 0, 1))
    if family == _V4:
        return address[:2] + door + here + address[8:]
    return address[:2] + door + address[4:8] + _MAPPED + here + address[24:]


def _written(host: bytes) -> str:
    """An IPv4 address in one of its forms within IPv6 counts as itself."""
    if host[:12] in (_MAPPED, bytes(12)) and host[12:16] > bytes((0, 0, 0, 1)):
        return _socket.inet_ntop(_V4, host[12:])
    if host[:12] == bytes((0, 0x64, 0xFF, 0x9B)) + bytes(8):  # NAT64
        return _socket.inet_ntop(_V4, host[12:])
    return _socket.inet_ntop(_V6, host)


def _is_this_machine(host: bytes) -> bool:
    """Whether a server on loopback is reached by the address: 127.0.0.0/8, ::1, and the unspecified addresses."""
    if host[:12] == _MAPPED:
        return host[12] in (0, 127)
    return host in (_LOOPBACK, bytes(16))


def _process_of(task: int) -> int:
    """The process of a thread."""
    with open(f"/proc/{task}/status", "rb") as status:
        for line in status:
            if line.startswith(b"Tgid:"):
                return int(line.split()[1])
    return task
