"""The packages of tools at home: one folder for each set, which appears when it is complete.

<digest>/lib         the packages, read-only
<digest>/set.json    the description of the set
<digest>/unused      the time since which no tool uses the set
.building-…          a set under construction, or its remains
"""

from __future__ import annotations

import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import ValidationError

from hibernaut.adapters.packages.builder import PackageBuilder
from hibernaut.adapters.packages.target import target_name
from hibernaut.adapters.packages.wheels import make_read_only, remove
from hibernaut.ports.clock import Clock
from hibernaut.ports.tools.packages import NO_PACKAGES
from hibernaut.ports.tools.tool_runner import PackagesMissing
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import HibernautError
from hibernaut.schemas.tools.package_set import PackageSet

CHOICE_SECONDS = 600.0
"""Seconds for which a choice of versions is reused for the same requirements."""
UNUSED_SECONDS = 3600.0
"""Seconds for which an unused set is retained: a call may still use it, or a tool with it may be saved soon."""
AT_ONCE = 4
"""Installations at a time. Those of the same packages wait for each other."""
_MOST_CHOICES = 256
_BUILDING = ".building-"
_DIGEST = re.compile(r"[0-9a-f]{64}")


class PackageFolders:
    """The `PackageInstaller` of the embedded profile, and where its sandbox finds packages. `builder` None: nothing is installed.
    Thread-safe.
    """

    def __init__(self, folder: Path, builder: PackageBuilder | None, clock: Clock) -> None:
        self._folder = folder
        self._builder = builder
        self._clock = clock
        self._lock = threading.Lock()
        self._building = tuple(threading.Lock() for _ in range(AT_ONCE))
        self._choices: OrderedDict[tuple[str, ...], tuple[float, PackageSet]] = OrderedDict()

    @property
    def target(self) -> str:
        return target_name()

    def install(self, tenant: str, requirements: Sequence[str]) -> PackageSet:
        """As the port says. All tenants share sets, which contain no data of tenants. Concurrent requests for the same packages
        wait for each other.
        """
        if self._builder is None:
            return NO_PACKAGES.install(tenant, requirements)
        key = tuple(requirements)
        with self._turn(key):
            found = self._remembered(key)
            if found is None:
                found = self._built(self._builder, key)
                self._remember(key, found)
            return found

    def place(self, packages: JsonObject, seconds: float) -> str:
        """The folder of a tool's packages. A set whose folder is missing, as in a restored data folder, is installed again from
        its pins.

        Raises: PackagesMissing with the reason.
        """
        digest = str(packages.get("digest"))
        lib = self._folder / digest / "lib"
        if _DIGEST.fullmatch(digest) and lib.is_dir():
            return str(lib)
        try:
            package_set = PackageSet.model_validate(packages)
        except ValidationError:
            raise PackagesMissing("its packages are not known") from None
        if package_set.target != target_name():
            raise PackagesMissing(
                f"its packages were chosen for {package_set.target}, and this server is {target_name()}: save the tool again"
            )
        with self._turn(digest):
            if not lib.is_dir():
                self._rebuild(package_set, seconds)
        return str(lib)

    def collect(self, used: Collection[str]) -> int:
        """Remove the sets that no tool uses, and none used at an earlier look either. The number of removed sets."""
        count = 0
        for folder in list(self._folder.iterdir()) if self._folder.is_dir() else ():
            mark = folder / "unused"
            if folder.name in used:
                mark.unlink(missing_ok=True)
            elif _DIGEST.fullmatch(folder.name) and self._long_unused(mark):
                count += 1
                self._discard(folder)
        return count

    def _long_unused(self, mark: Path) -> bool:
        """Whether the mark of a set is old. A set without one gets it."""
        now = self._clock.now().timestamp()
        try:
            return now - float(mark.read_text(encoding="utf-8")) > UNUSED_SECONDS
        except (OSError, ValueError):
            with suppress(OSError):
                mark.write_text(str(now), encoding="utf-8")
            return False

    def clear(self) -> None:
        """Remove what an earlier process did not finish. Called before any installation."""
        for folder in self._folder.glob(f"{_BUILDING}*"):
            remove(folder)

    def _built(self, builder: PackageBuilder, requirements: tuple[str, ...]) -> PackageSet:
        with self._work() as work:
            found = builder.build(requirements, work, self._complete_set)
            self._published(work, found)
            return found

    def _rebuild(self, package_set: PackageSet, seconds: float) -> None:
        if self._builder is None:
            raise PackagesMissing("its packages are not installed, and this server installs none")
        try:
            with self._work() as work:
                self._builder.rebuild(package_set, work, seconds)
                self._published(work, package_set)
        except HibernautError as error:
            raise PackagesMissing(f"its packages cannot be installed again: {error.detail}") from None

    def _published(self, work: Path, found: PackageSet) -> None:
        """Let a set appear, unless it is there."""
        if not (work / "lib").is_dir():
            return
        make_read_only(work / "lib")
        remove(work / "wheels")
        (work / "set.json").write_text(found.model_dump_json(), encoding="utf-8")
        # The winner of a race has the same files.
        with suppress(OSError):
            work.rename(self._folder / found.digest)

    def _complete_set(self, digest: str) -> PackageSet | None:
        """The set with this digest, if it is complete; marks it as used."""
        folder = self._folder / digest
        try:
            found = PackageSet.model_validate_json((folder / "set.json").read_bytes())
            (folder / "unused").unlink(missing_ok=True)
        except (OSError, ValidationError):
            return None
        return found

    def _discard(self, folder: Path) -> None:
        """Remove a set. It disappears at once, and its files one by one."""
        discarded = self._folder / f"{_BUILDING}{secrets.token_hex(8)}"
        with suppress(OSError):
            folder.rename(discarded)
            remove(discarded)

    def _remembered(self, requirements: tuple[str, ...]) -> PackageSet | None:
        with self._lock:
            at, found = self._choices.get(requirements, (0.0, None))
        if found is None or self._clock.monotonic() - at > CHOICE_SECONDS:
            return None
        return self._complete_set(found.digest)

    def _remember(self, requirements: tuple[str, ...], found: PackageSet) -> None:
        with self._lock:
            self._choices[requirements] = self._clock.monotonic(), found
            self._choices.move_to_end(requirements)
            while len(self._choices) > _MOST_CHOICES:
                self._choices.popitem(last=False)

    @contextmanager
    def _work(self) -> Iterator[Path]:
        """A temporary folder for one installation."""
        work = self._folder / f"{_BUILDING}{secrets.token_hex(8)}"
        work.mkdir(parents=True)
        try:
            yield work
        finally:
            if work.exists():
                remove(work)

    def _turn(self, subject: object) -> threading.Lock:
        return self._building[hash(subject) % AT_ONCE]
