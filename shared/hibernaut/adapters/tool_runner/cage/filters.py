"""The forbidden system calls of a tool, as a seccomp program. Knows numbers of calls; must not know the decisions about
connections.

The program refuses calls that reach out of the cage (tracing, new namespaces, mounts), memory without a limit, and connections
that bypass the watch on `connect`. Source: the kernel's `Documentation/userspace-api/seccomp_filter.rst`.
"""

from __future__ import annotations

import ctypes
import errno
import struct

from hibernaut.adapters.tool_runner.cage import kernel

_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_FOREIGN_CALLS = 0x40000000
"""The first number of the calls of x32, which the numbers below do not name."""
# name: (x86_64, aarch64); -1 where the architecture has none.
_REFUSED = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "seccomp": (317, 277),
    "syslog": (103, 116),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
}
_ABSENT = {
    # Answered as on a kernel without them, so that libraries take another way.
    "clone3": (435, 435),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
}
_CLONE, _IOCTL, _CONNECT, _SOCKET = (56, 220), (16, 29), (42, 203), (41, 198)
_SENDING = {(44, 206): 3, (46, 211): 2, (307, 269): 3}
"""sendto, sendmsg and sendmmsg, with the position of their flags."""
_FAST_OPEN = 0x20000000
"""The flag by which sending connects, unseen by the watch on `connect`."""
_TERMINAL_INPUT = (0x5412, 0x541C)
_VIRTUAL_MACHINES = 40
"""The family of sockets that reach the host of a virtual machine."""

_ALLOW, _NOTIFY, _ERROR = 0x7FFF0000, 0x7FC00000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16

_Step = tuple[int, int, int, int]


def install(*, watched: bool, network: bool = True) -> int:
    """Install the filter for this process and its descendants. `watched`: returns the descriptor on which connections wait for an
    answer. `network` false: sockets are forbidden.

    The process must have `no_new_privs`. Raises: OSError.
    """
    program = b"".join(struct.pack("=HBBI", *step) for step in _program(watched=watched, network=network))
    steps = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(steps)))
    return kernel.call("seccomp", kernel.SECCOMP_FILTER, kernel.SECCOMP_LISTENER if watched else 0, header)


def _program(*, watched: bool, network: bool) -> list[_Step]:
    own = 0 if kernel.machine() == "x86_64" else 1
    refuse, lack = _ERROR | errno.EPERM, _ERROR | errno.ENOSYS
    program: list[_Step] = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 1, 0, _ARCHITECTURE[kernel.machine()]),
        (_RETURN, 0, 0, lack),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_AT_LEAST, 0, 1, _FOREIGN_CALLS),
        (_RETURN, 0, 0, lack),
    ]
    for table, answer in ((_REFUSED, refuse), (_ABSENT, lack)):
        for numbers in table.values():
            program += [(_EQUAL, 0, 1, numbers[own]), (_RETURN, 0, 0, answer)]
    if not network:
        program += [(_EQUAL, 0, 1, _SOCKET[own]), (_RETURN, 0, 0, _ERROR | errno.EACCES)]
    program += _argument(_CLONE[own], 0, [(_BITS, kernel.NEW_ANY)], refuse)
    program += _argument(_IOCTL[own], 1, [(_EQUAL, each) for each in _TERMINAL_INPUT], refuse)
    program += _argument(_SOCKET[own], 0, [(_EQUAL, _VIRTUAL_MACHINES)], refuse)
    for call, position in _SENDING.items():
        program += _argument(call[own], position, [(_BITS, _FAST_OPEN)], refuse)
    if watched:
        program += [(_EQUAL, 0, 1, _CONNECT[own]), (_RETURN, 0, 0, _NOTIFY)]
    return [*program, (_RETURN, 0, 0, _ALLOW)]


def _argument(number: int, position: int, tests: list[tuple[int, int]], answer: int) -> list[_Step]:
    """The steps that answer a call if an argument passes one of the tests. Only the lower half of an argument counts, as in the
    kernel.
    """
    inner: list[_Step] = [(_LOAD, 0, 0, _ARGUMENTS_AT + 8 * position)]
    for test, value in tests:
        inner += [(test, 0, 1, value), (_RETURN, 0, 0, answer)]
    inner.append((_RETURN, 0, 0, _ALLOW))
    return [(_EQUAL, 0, len(inner), number), *inner]
