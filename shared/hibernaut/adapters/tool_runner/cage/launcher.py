"""The program that the server starts for each call of a custom tool: it builds the walls, runs the tool behind them, and ends
with it.

    server ── launcher ── warden ── keeper ── tool
               │           │         └ process 1 of the tool's processes: limits their number and memory; its end ends them
               │           └ makes the namespaces; where the kernel gives none, it is the keeper itself
               └ makes the tool's connections, and ends as the tool did

Each wall is tried by itself: one that cannot be had leaves the others as they are. Nothing that the tool's process says is
trusted here.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import stat
import sys
from typing import TYPE_CHECKING, NoReturn

from hibernaut.adapters.tool_runner import child
from hibernaut.adapters.tool_runner.cage import filters, kernel, view
from hibernaut.adapters.tool_runner.cage.descriptors import Pair
from hibernaut.adapters.tool_runner.cage.exits import BROKEN_EXIT
from hibernaut.adapters.tool_runner.cage.keeper import CallLimits, Keeper, code_of, exit_with
from hibernaut.adapters.tool_runner.cage.walls import Wall

if TYPE_CHECKING:
    from collections.abc import Callable

    from hibernaut.adapters.tool_runner.cage.connections import ConnectionWatch

NOBODY = 65534
"""The user and the group of the tools of a server that runs as root."""


def main() -> NoReturn:
    """Run the job on stdin; its reply goes to the descriptor that the first argument names. The second one names modules that are
    imported meanwhile, and the third one where they are.
    """
    channel = int(sys.argv[1])
    os.set_inheritable(channel, False)
    imported = _imported(sys.argv[2].split(","), sys.argv[3].split(os.pathsep)) if sys.argv[2] else []
    del sys.argv[2:]
    told = sys.stdin.buffer.read()
    if not told:  # no call came, or the server is gone
        os._exit(0)
    job = json.loads(told)
    job["imported"] = imported
    os.chdir(job["folder"])
    if job["recall"] is not None:
        os.set_inheritable(job["recall"], False)
    if not kernel.supported():
        if not job["cage"]["network"]:
            sys.exit(
                "This system cannot keep a tool from the network: set HIBERNAUT_TOOL_NETWORK=on, or run the server on Linux."
            )
        child.main(channel, job)
    kernel.control(kernel.DEATH_SIGNAL, signal.SIGTERM)  # no tool outlives the server
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _Launcher(channel, job).run()


def _imported(modules: list[str], path: list[str]) -> list[str]:
    """Import modules that tools often need; the names of all that came with them and that are not Python's own."""
    before, own_path = set(sys.modules), sys.path[:]
    sys.path[:] = [*own_path[1:], *path]
    for module in modules:
        with contextlib.suppress(Exception):  # the tool that imports it will be told
            __import__(module)
    sys.path[:] = own_path
    return [name for name in sys.modules if name not in before and name.partition(".")[0] not in sys.stdlib_module_names]


class _Stopped(Exception):
    """The server ends the call."""


class _Launcher:
    """One call of a tool behind the walls that this kernel gives."""

    def __init__(self, channel: int, job: child.Job) -> None:
        self._channel = channel
        self._job = job
        self._cage = job["cage"]
        # Where Python is readable for root alone, another user could not import anything.
        self._root = os.geteuid() == 0 and bool(os.stat(os.__file__).st_mode & stat.S_IROTH)
        self._walls: list[str] = []
        self._pair = Pair() if self._cage["network"] else None

    def run(self) -> NoReturn:
        with contextlib.suppress(OSError):
            _write("/proc/self/oom_score_adj", "1000")
        # This process itself keeps its namespaces: after `unshare` it could have no threads.
        warden = _forked(self._ward)
        signal.signal(signal.SIGTERM, _stop)
        try:
            self._attend(warden)
        except _Stopped:
            os.kill(warden, signal.SIGTERM)
        exit_with(os.WEXITSTATUS(os.waitpid(warden, 0)[1]))

    def _attend(self, process: int) -> None:
        """Make the tool's connections until the process ends. Raises: _Stopped."""
        waiting = select.poll()
        end = os.pidfd_open(process)
        waiting.register(end, select.POLLIN)
        if self._pair is not None:
            self._pair.close_theirs()
            self._pair.tell(kernel.reaches_into(process))
            waiting.register(self._pair.ours, select.POLLIN)
        watch: ConnectionWatch | None = None
        while True:
            for descriptor, _ in waiting.poll():
                if descriptor == end:
                    return
                if watch is not None:
                    if not watch.take():
                        waiting.unregister(descriptor)
                    continue
                waiting.unregister(descriptor)
                watch = self._offered()
                if watch is not None:
                    waiting.register(watch.listener, select.POLLIN)

    def _offered(self) -> ConnectionWatch | None:
        """The watch on the connections of the tool, whose process has sent the descriptor of its filter; None if it has none."""
        listener = self._pair.receive() if self._pair is not None else None
        if listener is None:
            return None
        from hibernaut.adapters.tool_runner.cage.connections import ConnectionWatch, OwnPorts

        return ConnectionWatch(listener, OwnPorts(frozenset(self._cage["ports"]), self._cage["door"]))

    def _ward(self) -> None:
        """As the warden: start the tool's processes, and end with all of them."""
        kernel.control(kernel.DEATH_SIGNAL, signal.SIGTERM)
        signal.signal(signal.SIGTERM, _stop)
        os._exit(self._led() if self._own_processes() else self._adopted())

    def _led(self) -> int:
        """The code of a tool whose keeper is process 1 of its namespace."""
        self._walls.append(Wall.PROCESSES)
        keeper = _forked(self._keep)
        self._close_ends()
        try:
            status = os.waitpid(keeper, 0)[1]
        except _Stopped:
            os.kill(keeper, signal.SIGKILL)
            status = os.waitpid(keeper, 0)[1]
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else code_of(status)

    def _adopted(self) -> int:
        """The code of a tool whose processes are found as this one's descendants."""
        kernel.control(kernel.SUB_REAPER, 1)
        keeper = self._keeper(_forked(self._behind))
        self._close_ends()
        try:
            code = keeper.watch()
        except _Stopped:
            code = code_of(signal.SIGKILL)
        keeper.end()
        return code

    def _close_ends(self) -> None:
        """Close what only the tool's process uses."""
        os.close(self._channel)
        if self._pair is not None:
            self._pair.close()

    def _own_processes(self) -> bool:
        """Let the next child be process 1 of a namespace. Root needs no user namespace, and its tools get another user
        instead.
        """
        if self._root:
            with contextlib.suppress(OSError):
                kernel.unshare(kernel.NEW_PROCESSES)
                return True
            self._root = False
        user, group = os.geteuid(), os.getegid()
        try:
            kernel.unshare(kernel.NEW_USER | kernel.NEW_PROCESSES)
            _write("/proc/self/setgroups", "deny")
            _write("/proc/self/uid_map", f"{user} {user} 1")
            _write("/proc/self/gid_map", f"{group} {group} 1")
        except OSError:
            return False
        return True

    def _keep(self) -> None:
        """As process 1: give the tool its own file system, start it, and keep it within its limits."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        kernel.control(kernel.DEATH_SIGNAL, signal.SIGKILL)
        if not self._cage["network"]:
            with contextlib.suppress(OSError):
                kernel.unshare(kernel.NEW_NETWORK)
        if self._own_mounts():
            owner = (NOBODY, NOBODY) if self._root else (os.geteuid(), os.getegid())
            packages = self._job["packages"]
            view.make_root(self._cage["seen"], self._cage["hidden"], packages, size=self._cage["files"], owner=owner)
            self._job["packages"] = view.PACKAGES if packages else None
            self._walls += (Wall.FILES, Wall.DISK)
        kernel.control(kernel.DUMPABLE, 0)
        keeper = self._keeper(_forked(self._behind))
        self._close_ends()
        os._exit(keeper.watch())

    def _own_mounts(self) -> bool:
        """Whether this process has a view of the file system that it may change."""
        try:
            kernel.unshare(kernel.NEW_MOUNTS | kernel.NEW_IPC | kernel.NEW_UTS)
            kernel.mount("none", "/", flags=kernel.RECURSIVE | kernel.SLAVE)
        except OSError:
            return False
        return True

    def _keeper(self, tool: int) -> Keeper:
        limits = CallLimits(self._job["memory"], self._cage["processes"], self._cage["files"])
        return Keeper(tool, limits, folder=None if Wall.DISK in self._walls else os.getcwd())

    def _behind(self) -> None:
        """In the tool's process: give up all rights, then run the tool."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._give_up_rights()
        kernel.control(kernel.DEATH_SIGNAL, signal.SIGKILL)
        if Wall.FILES not in self._walls:
            self._restrict_files()
        with contextlib.suppress(OSError):
            watched = self._pair is not None and self._pair.hear()
            listener = filters.install(watched=watched, network=self._cage["network"])
            self._walls.append(Wall.CALLS)
            if not self._cage["network"]:
                self._walls += (Wall.NO_NETWORK, Wall.CONNECTIONS)
            if self._pair is not None and watched:
                self._pair.send(listener)
                os.close(listener)
                self._walls.append(Wall.CONNECTIONS)
        if not self._cage["network"] and Wall.NO_NETWORK not in self._walls:
            raise OSError("this system cannot keep a tool from the network; HIBERNAUT_TOOL_NETWORK is off")
        if self._pair is not None:
            self._pair.close()
        self._job["walls"] = self._walls
        child.main(self._channel, self._job)

    def _give_up_rights(self) -> None:
        led = Wall.PROCESSES in self._walls
        if self._root and led:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            self._walls.append(Wall.USER)
            # Only so that its processes are counted apart from those of other tools.
            with contextlib.suppress(OSError):
                kernel.unshare(kernel.NEW_USER)
        if led:
            # Outside of a user namespace the limit counts all processes of the user.
            resource.setrlimit(resource.RLIMIT_NPROC, (self._cage["processes"],) * 2)
        kernel.control(kernel.DUMPABLE, 1)  # it may look at itself, and the launcher reads its addresses
        kernel.control(kernel.NO_NEW_PRIVILEGES, 1)
        kernel.drop_capabilities()

    def _restrict_files(self) -> None:
        with contextlib.suppress(OSError):
            packages = [self._job["packages"]] if self._job["packages"] else []
            signals = view.restrict([*self._cage["seen"], *packages], self._cage["hidden"], [os.getcwd()])
            self._walls.append(Wall.FILES)
            if signals and Wall.PROCESSES not in self._walls:
                self._walls.append(Wall.PROCESSES)


def _forked(work: Callable[[], object]) -> int:
    process = os.fork()
    if process != 0:
        return process
    try:
        work()
    except BaseException as error:  # noqa: BLE001 -- the outermost line of a process: the tool must not run behind half a wall
        os.write(2, f"The cage could not be built: {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(BROKEN_EXIT)


def _stop(_number: int, _frame: object) -> NoReturn:
    raise _Stopped


def _write(path: str, text: str) -> None:
    """Raises: OSError."""
    place = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(place, text.encode())
    finally:
        os.close(place)
