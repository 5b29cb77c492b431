"""The file system that a tool sees: programs and libraries read-only, folders of its own, and nothing else of the machine.

Either a new root in a mount namespace, or rules of Landlock on the root that is there. Knows paths; must not know tools.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import sys

from hibernaut.adapters.tool_runner.cage import kernel
from hibernaut.adapters.tool_runner.cage.keeper import MOST_FILES

WORK = "/tmp/work"  # noqa: S108 -- in the tool's own file system, with a private /tmp
PACKAGES = "/packages"
"""Where a tool sees its packages."""
DEVICES = ("null", "zero", "full", "random", "urandom")
_SHARED_MEMORY = 64 * 1024 * 1024

# Landlock's rights (linux/landlock.h), by the version of its interface that introduced them.
_EXECUTE, _WRITE, _READ, _LIST = 1, 2, 4, 8
_VERSIONS = ((1, (1 << 13) - 1), (2, 1 << 13), (3, 1 << 14), (5, 1 << 15))
_OF_FILES = _EXECUTE | _WRITE | _READ | (1 << 14) | (1 << 15)
_SCOPES = 3
"""Abstract Unix sockets and signals end at the rules' own processes (from version 6 on)."""
_SCOPES_SINCE = 6
_BENEATH = 1
_VERSION_FLAG = 1
_PATH_ONLY = os.O_PATH | os.O_CLOEXEC if sys.platform == "linux" else 0


def make_root(visible: list[str], hidden: list[str], packages: str | None, *, size: int, owner: tuple[int, int]) -> None:
    """Replace the root of this process's own mount namespace, and make `WORK` the working folder. Raises: OSError.

    `visible`: the paths that the tool may read. `hidden`: invisible paths below visible folders. `packages`: the folder that is
    visible as `PACKAGES`, wherever it is; None: there is none. `size`: bytes that files of the tool may have.
    `owner`: the user and the group of the tool.
    """
    kernel.mount("tmpfs", "/tmp", kind="tmpfs", flags=kernel.NO_SUID | kernel.NO_DEVICES, data="mode=755,size=1m")  # noqa: S108
    os.chdir("/tmp")  # noqa: S108
    os.mkdir("before", 0o755)
    kernel.call("pivot_root", b".", b"before")
    os.chdir("/")
    for path in sorted(visible):
        _show(path)
    if packages is not None:
        _bind("/before" + packages, PACKAGES)
    _show_devices()
    for path in hidden:
        if os.path.isdir(path):
            kernel.mount("tmpfs", path, kind="tmpfs", flags=kernel.NO_SUID | kernel.NO_DEVICES, data="mode=555,size=4k")
    os.makedirs("/proc", exist_ok=True)
    # A container may forbid it: then the tool sees no processes at all.
    with contextlib.suppress(OSError):
        kernel.mount("proc", "/proc", kind="proc", flags=kernel.NO_SUID | kernel.NO_DEVICES | kernel.NO_EXEC)
    for folder in ("/tmp", "/var/tmp", "/dev/shm"):  # noqa: S108
        os.makedirs(folder, exist_ok=True)
    kernel.unmount("/before")
    os.rmdir("/before")
    kernel.make_read_only("/")
    _own_folder("/tmp", visible, f"mode=1777,size={size},nr_inodes={MOST_FILES}", stage="/var/tmp")  # noqa: S108
    _own_folder("/dev/shm", visible, f"mode=1777,size={min(size, _SHARED_MEMORY)}", stage="/var/tmp")  # noqa: S108
    if not _below("/var/tmp", visible):  # noqa: S108
        kernel.mount("/tmp", "/var/tmp", flags=kernel.BIND)  # noqa: S108
    os.makedirs(WORK, exist_ok=True)
    os.chmod(WORK, 0o700)
    os.chown(WORK, *owner)
    os.chdir(WORK)


def _own_folder(folder: str, visible: list[str], data: str, *, stage: str) -> None:
    """Mount an own folder in memory for the tool. Visible paths below it stay visible, because a server may be installed in /tmp.

    `stage`: an empty folder for the preparation of the mount.
    """
    flags, below = kernel.NO_SUID | kernel.NO_DEVICES, _below(folder, visible)
    place = stage if below else folder
    kernel.mount("tmpfs", place, kind="tmpfs", flags=flags, data=data)
    for path in below:
        _bind(path, stage + path.removeprefix(folder))
    if below:
        kernel.mount(place, folder, flags=kernel.MOVE)


def _below(folder: str, visible: list[str]) -> list[str]:
    """The visible paths that exist below a folder."""
    return [path for path in sorted(visible) if path.startswith(f"{folder}/") and os.path.lexists(path)]


def _bind(source: str, path: str) -> None:
    """Make a path the same as another one: a link with the same target, or a mount of it."""
    if os.path.lexists(path):
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    mode = os.lstat(source).st_mode
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink(source), path)
        return
    if stat.S_ISDIR(mode):
        os.mkdir(path)
    else:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    kernel.mount(source, path, flags=kernel.BIND | kernel.RECURSIVE)


def _show(path: str) -> None:
    """Bind a path of the old root at the same place, unless it is missing or visible already."""
    source = "/before" + path
    try:
        mode = os.lstat(source).st_mode
    except OSError:
        return
    if stat.S_ISLNK(mode) and path.startswith("/etc/"):
        # A link that leads out of what is visible, as that of resolv.conf: its file is bound in place of the link.
        source = "/before" + os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(source)))
        if not os.path.exists(source):
            return
        source = os.path.realpath(source) if os.path.islink(source) else source
    _bind(source, path)


def _show_devices() -> None:
    os.makedirs("/dev", exist_ok=True)
    for name in DEVICES:
        os.close(os.open(f"/dev/{name}", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
        kernel.mount(f"/before/dev/{name}", f"/dev/{name}", flags=kernel.BIND)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(target, f"/dev/{name}")


def restrict(visible: list[str], hidden: list[str], own: list[str]) -> bool:
    """Restrict this process by Landlock to reading `visible` paths and to using its `own` folders. Returns whether signals are
    kept in, too.

    Names and sizes of other files stay visible. Raises: OSError if the kernel has no Landlock.
    """
    version = kernel.call("landlock_create_ruleset", None, 0, _VERSION_FLAG)
    handled = 0
    for since, rights in _VERSIONS:
        handled |= rights if version >= since else 0
    scoped = _SCOPES if version >= _SCOPES_SINCE else 0
    attributes = b"".join(part.to_bytes(8, sys.byteorder) for part in (handled, 0, scoped))
    size = 24 if scoped else 8
    rules = kernel.call("landlock_create_ruleset", ctypes.create_string_buffer(attributes, 24), size, 0)
    try:
        reading = _EXECUTE | _READ | _LIST
        for path in visible:
            for part in _without(path, hidden):
                _allow(rules, part, reading)
        for device in DEVICES:
            _allow(rules, f"/dev/{device}", handled & (_READ | _WRITE | (1 << 14) | (1 << 15)))
        for path in own:
            _allow(rules, path, handled)
        kernel.call("landlock_restrict_self", rules, 0)
    finally:
        os.close(rules)
    return bool(scoped)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, _PATH_ONLY)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _OF_FILES
        rule = rights.to_bytes(8, sys.byteorder) + place.to_bytes(4, sys.byteorder)
        kernel.call("landlock_add_rule", rules, _BENEATH, ctypes.create_string_buffer(rule, 12), 0)
    finally:
        os.close(place)


def _without(path: str, hidden: list[str]) -> list[str]:
    """The path, or the parts of the folder that are not hidden: rules of Landlock only ever add rights."""
    inside = [each for each in hidden if each == path or each.startswith(path.rstrip("/") + "/")]
    if not inside:
        return [path]
    if path in inside:
        return []
    try:
        names = os.listdir(path)
    except OSError:
        return []
    return [part for name in names for part in _without(os.path.join(path, name), inside)]
