"""An environment that holds the built wheel and, of what is installed here, exactly what the wheel says that it needs. No index
is asked.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Installed:
    """`wheel`: the file. `folder`: the environment."""

    wheel: Path
    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def command(self) -> Path:
        return self.folder / "bin" / "hibernaut"

    def environment(self, home: Path, **more: str) -> dict[str, str]:
        """Nothing of this process's but what every process has."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return {**kept, "HOME": str(home), **more}


def built(target: Path) -> Path:
    """The wheel of this checkout."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)], cwd=ROOT, check=True, capture_output=True
    )
    (wheel,) = target.glob("*.whl")
    return wheel


def alone(wheel: Path, folder: Path) -> Installed:
    """The wheel in a new environment, beside the closure of its requirements."""
    uv = [sys.executable, "-m", "uv", "--offline", "--no-cache", "--quiet"]
    subprocess.run([*uv, "venv", "--python", sys.executable, str(folder)], check=True)
    made = Installed(wheel, folder)
    subprocess.run([*uv, "pip", "install", "--python", str(made.python), "--no-index", "--no-deps", str(wheel)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (info,) = site.glob("hibernaut-*.dist-info")
    needs = importlib.metadata.Distribution.at(info).requires or []
    for name in closure([Requirement(need) for need in needs]):
        _link(importlib.metadata.distribution(name), site)
    return made


def closure(requirements: list[Requirement]) -> set[str]:
    """The names of the distributions that the requirements come to, without extras that nobody asks for.

    Raises: AssertionError where what is installed here is not in a requirement's range.
    """
    found: set[tuple[str, str]] = set()
    waiting = [(requirement, "") for requirement in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        distribution = importlib.metadata.distribution(requirement.name)
        assert requirement.specifier.contains(distribution.version, prereleases=True), (
            f"{requirement}: {distribution.version} here"
        )
        for wanted in ("", *requirement.extras):
            if (canonicalize_name(requirement.name), wanted) not in found:
                found.add((canonicalize_name(requirement.name), wanted))
                waiting += [(Requirement(need), wanted) for need in distribution.requires or []]
    return {name for name, _ in found}


def _link(distribution: importlib.metadata.Distribution, site: Path) -> None:
    tops = {file.parts[0] for file in distribution.files or [] if file.parts[0] not in ("..", "__pycache__")}
    for top in tops:
        if not (site / top).exists():
            (site / top).symlink_to(Path(str(distribution.locate_file(top))))
