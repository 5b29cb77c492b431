"""Builds a set of packages in a folder: chooses the wheels, checks them, unpacks them, and compiles them. Nothing of the packages
is executed.
"""

from __future__ import annotations

import hashlib
import logging
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from hibernaut.adapters.packages.index_pages import Wheel
from hibernaut.adapters.packages.limits import USUAL_LIMITS, InstallQuota, PackageLimits
from hibernaut.adapters.packages.package_index import IndexSession, PackageIndex
from hibernaut.adapters.packages.target import target_name
from hibernaut.adapters.packages.wheels import Unpacking
from hibernaut.ports.clock import Clock
from hibernaut.schemas.faults.package_faults import PackagesRefused
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.tools.package_set import PackagePin, PackageSet

MOUNT = "/packages"
"""Where a tool sees its packages, and its tracebacks name them, if it has a file system of its own."""
_FORMAT = "1"
_MEMORY = 1024 * 1024 * 1024
# Isolated and without `site`: the packages are not on the path of the program that compiles them.
_COMPILE = f"""
import compileall, contextlib, py_compile, resource, sys
with contextlib.suppress(OSError, ValueError):
    resource.setrlimit(resource.RLIMIT_AS, ({_MEMORY}, {_MEMORY}))
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
compileall.compile_dir(sys.argv[1], maxlevels=50, quiet=2, invalidation_mode=mode, stripdir=sys.argv[1], prependdir={MOUNT!r})
"""
logger = logging.getLogger(__name__)


@immutable
class ChosenWheels:
    """Wheels with their hashes, before they are unpacked."""

    wheels: tuple[Wheel, ...]
    pins: tuple[PackagePin, ...]

    @property
    def digest(self) -> str:
        return digest_of(self.pins)


def digest_of(pins: Sequence[PackagePin]) -> str:
    """The name of a set: that of its files, on this Python and platform."""
    lines = [_FORMAT, target_name(), *sorted(f"{pin.file} {pin.sha256}" for pin in pins)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


class PackageBuilder:
    """Builds sets from one index. Thread-safe."""

    def __init__(self, index: PackageIndex, clock: Clock, limits: PackageLimits = USUAL_LIMITS) -> None:
        self._index = index
        self._clock = clock
        self._limits = limits

    def build(self, requirements: Sequence[str], work: Path, find: Callable[[str], PackageSet | None]) -> PackageSet:
        """Choose the packages, and unpack them into `work`/lib, unless `find` knows the set by its digest.

        `work`: an empty folder. Raises: PackagesRefused, PackageIndexUnavailable, OSError.
        """
        from hibernaut.adapters.packages.resolution import chosen  # imports the resolver

        quota = InstallQuota(self._limits, self._clock)
        with self._index.session(quota, _new_folder(work / "wheels")) as session:
            found = _pinned(session, chosen(session, requirements))
            logger.info("packages chosen", extra={"packages": [f"{pin.name} {pin.version}" for pin in found.pins]})
            existing = find(found.digest)
            return existing if existing is not None else self._unpacked(session, found, work, quota)

    def rebuild(self, packages: PackageSet, work: Path, seconds: float) -> None:
        """Unpack the wheels of an existing set into `work`/lib. Raises: PackagesRefused if the index has one of them no longer,
        PackageIndexUnavailable, OSError.
        """
        quota = InstallQuota(PackageLimits(self._limits.size, min(seconds, self._limits.seconds)), self._clock)
        with self._index.session(quota, _new_folder(work / "wheels")) as session:
            found = ChosenWheels(tuple(_again(session, pin) for pin in packages.pins), tuple(packages.pins))
            self._unpacked(session, found, work, quota)

    def _unpacked(self, session: IndexSession, found: ChosenWheels, work: Path, quota: InstallQuota) -> PackageSet:
        from hibernaut.adapters.packages.wheel_metadata import requirements_in  # imports the parser of metadata

        quota.check_size("The packages", sum(wheel.size or 0 for wheel in found.wheels))
        unpacking = Unpacking(_new_folder(work / "lib"), quota)
        for wheel, pin in zip(found.wheels, found.pins, strict=True):
            path, digest = session.download(wheel)
            if digest != pin.sha256:
                raise PackagesRefused(
                    f"{wheel.file} is not the file that was chosen when the tool was saved: its hash differs. Save the tool again."
                )
            requirements_in(wheel, session.inner_metadata(wheel))
            unpacking.add(path, wheel.file)
            path.unlink()
        _compiled(work / "lib", quota.seconds())
        logger.info("packages unpacked", extra={"count": len(found.pins), "bytes": unpacking.size})
        return PackageSet(digest=found.digest, target=target_name(), size=unpacking.size, pins=list(found.pins))


def _pinned(session: IndexSession, wheels: Sequence[Wheel]) -> ChosenWheels:
    """The wheels with their hashes: those that the index states, else those of the files."""
    hashes = [wheel.sha256 or session.download(wheel)[1] for wheel in wheels]
    pins = [
        PackagePin(name=wheel.project, version=str(wheel.version), file=wheel.file, sha256=digest)
        for wheel, digest in zip(wheels, hashes, strict=True)
    ]
    return ChosenWheels(tuple(wheels), tuple(pins))


def _again(session: IndexSession, pin: PackagePin) -> Wheel:
    from packaging.version import Version

    project = session.project(pin.name)
    wheel = project.wheels.get(Version(pin.version)) if project is not None else None
    if wheel is None or wheel.file != pin.file or wheel.sha256 not in (None, pin.sha256):
        raise PackagesRefused(
            f"The index no longer has {pin.file}, which was chosen when the tool was saved. Save the tool again."
        )
    return wheel


def _compiled(folder: Path, seconds: float) -> None:
    """Write byte code, because a tool cannot: a process of its own reads the sources, whatever they are. What cannot be compiled
    is compiled at each import.
    """
    command = [sys.executable, "-I", "-S", "-W", "ignore", "-c", _COMPILE, str(folder)]
    try:
        subprocess.run(command, env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        logger.warning("packages were not compiled in time", extra={"seconds": seconds})


def _new_folder(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
