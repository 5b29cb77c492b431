"""System calls of Linux that Python 3.11 does not wrap. Knows numbers and structures; must not know what they are used for.

Sources: the kernel's headers (`asm/unistd.h`, `linux/landlock.h`, `linux/seccomp.h`, `linux/mount.h`) and its manual pages.
"""

from __future__ import annotations

import ctypes
import os
import sys

NEW_MOUNTS, NEW_CGROUP, NEW_UTS, NEW_IPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
NEW_USER, NEW_PROCESSES, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
NEW_ANY = NEW_MOUNTS | NEW_CGROUP | NEW_UTS | NEW_IPC | NEW_USER | NEW_PROCESSES | NEW_NETWORK

NO_SUID, NO_DEVICES, NO_EXEC, BIND, MOVE, RECURSIVE, SLAVE = 2, 4, 8, 0x1000, 0x2000, 0x4000, 0x80000
DETACH = 2
ATTR_READ_ONLY, ATTR_NO_SUID = 1, 2

DEATH_SIGNAL, DUMPABLE, DROP_BOUND, NO_NEW_PRIVILEGES, SUB_REAPER = 1, 4, 24, 38, 36
LAST_CAPABILITY = 63
SECCOMP_FILTER, SECCOMP_LISTENER = 1, 8

_X86, _ARM = "x86_64", "aarch64"
_NUMBERS = {
    # name: (x86_64, aarch64)
    "pivot_root": (155, 41),
    "capset": (126, 91),
    "seccomp": (317, 277),
    "pidfd_getfd": (438, 438),
    "mount_setattr": (442, 442),
    "landlock_create_ruleset": (444, 444),
    "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446),
}
_libc = ctypes.CDLL(None, use_errno=True)


def machine() -> str:
    """The name of the processor's architecture."""
    return os.uname().machine


def supported() -> bool:
    """Whether this module has the system's call numbers, and the kernel has process descriptors (Linux 5.3)."""
    if sys.platform != "linux" or machine() not in (_X86, _ARM) or sys.maxsize <= 2**32:
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


def reaches_into(process: int) -> bool:
    """Whether this process may read another one's memory and take its descriptors; a container, or a policy against tracing, may
    forbid it.
    """
    try:
        other = os.pidfd_open(process)
        try:
            os.close(call("pidfd_getfd", other, 0, 0))
        finally:
            os.close(other)
        os.close(os.open(f"/proc/{process}/mem", os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def call(name: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """A system call by its name. Raises: OSError."""
    number = _NUMBERS[name][0 if machine() == _X86 else 1]
    return _checked(name, _libc.syscall(ctypes.c_long(number), *(_long(each) for each in arguments)))


def unshare(flags: int) -> None:
    """Give this process new namespaces. Raises: OSError."""
    _checked("unshare", _libc.unshare(ctypes.c_int(flags)))


def mount(source: str, target: str, *, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Raises: OSError."""
    texts = (os.fsencode(source), os.fsencode(target), kind.encode() or None)
    _checked(f"mount {target}", _libc.mount(*texts, ctypes.c_ulong(flags), data.encode() or None))


def unmount(target: str) -> None:
    """Raises: OSError."""
    _checked("umount2", _libc.umount2(os.fsencode(target), ctypes.c_int(DETACH)))


def make_read_only(path: str) -> None:
    """Make a mount and all mounts below it read-only, without set-user-id programs. Raises: OSError."""
    attributes = (ATTR_READ_ONLY | ATTR_NO_SUID).to_bytes(8, sys.byteorder) + bytes(24)
    current_folder, recursive = -100, 0x8000
    call("mount_setattr", current_folder, os.fsencode(path), recursive, ctypes.create_string_buffer(attributes, 32), 32)


def control(option: int, value: int) -> None:
    """`prctl` with one value. Raises: OSError."""
    rest = (ctypes.c_ulong(0),) * 3
    _checked(f"prctl {option}", _libc.prctl(ctypes.c_int(option), ctypes.c_ulong(value), *rest))


def drop_capabilities() -> None:
    """Drop every capability, including those that executables could add. Raises: OSError."""
    for capability in range(LAST_CAPABILITY + 1):
        try:
            control(DROP_BOUND, capability)
        except OSError:  # beyond the last that this kernel knows, or there is none to give up
            break
    version_3 = (0x20080522).to_bytes(4, sys.byteorder) + bytes(4)
    call("capset", ctypes.create_string_buffer(version_3, 8), ctypes.create_string_buffer(24))


def connect(descriptor: int, address: bytes) -> int:
    """Connect a socket to a raw address; the number of the error, 0 without one."""
    if _libc.connect(ctypes.c_int(descriptor), address, ctypes.c_uint(len(address))) == 0:
        return 0
    return ctypes.get_errno()


def _long(value: int | bytes | ctypes.Array[ctypes.c_char] | None) -> object:
    return ctypes.c_long(value) if isinstance(value, int) else value


def _checked(name: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return int(result)
