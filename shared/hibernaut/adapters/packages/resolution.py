"""Chooses the versions of packages: pip's resolver over the wheels of an index. Knows requirements and metadata; installs
nothing.

A package with extras is a node of its own in the resolver's graph, which needs the package itself in the same version; so do
pip's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from resolvelib import AbstractProvider, BaseReporter, Resolver
from resolvelib.resolvers import RequirementInformation, ResolutionImpossible, ResolutionTooDeep

from hibernaut.adapters.packages.index_pages import Project, Wheel
from hibernaut.adapters.packages.limits import MOST_PACKAGES
from hibernaut.adapters.packages.target import WheelTarget
from hibernaut.adapters.packages.wheel_metadata import requirements_in
from hibernaut.schemas.faults.package_faults import PackagesRefused
from hibernaut.schemas.immutable import immutable

MOST_ROUNDS = 2_000
_MOST_CAUSES = 8
_MOST_VERSIONS = 5

Node = tuple[str, frozenset[str]]
"""The normalized name of a project, and the extras of a requirement."""


class WheelSource(Protocol):
    """What the choice reads of an index."""

    @property
    def target(self) -> WheelTarget: ...

    def project(self, name: str) -> Project | None:
        """The project with this normalized name; None if the index has none."""

    def metadata(self, wheel: Wheel) -> bytes:
        """The file METADATA of a wheel."""


@immutable
class Candidate:
    """A wheel, with the extras for which it is considered."""

    wheel: Wheel
    extras: frozenset[str]

    def __str__(self) -> str:
        return f"{self.wheel.project} {self.wheel.version}"


Cause = RequirementInformation[Requirement, Candidate]


def chosen(source: WheelSource, requirements: Sequence[str]) -> list[Wheel]:
    """The wheels that meet the requirements and each other's, by project; the newest versions that fit together.

    Raises: PackagesRefused, and what the source raises.
    """
    resolver = Resolver(_Choice(source), BaseReporter())
    try:
        result = resolver.resolve([Requirement(line) for line in requirements], max_rounds=MOST_ROUNDS)
    except ResolutionImpossible as impossible:
        raise PackagesRefused(_explained(source, impossible.causes)) from None
    except ResolutionTooDeep:
        raise PackagesRefused(
            "No versions of the packages that fit together were found in reasonable time. Require exact ones."
        ) from None
    wheels = {each.wheel.project: each.wheel for each in result.mapping.values()}
    if len(wheels) > MOST_PACKAGES:
        raise PackagesRefused(f"The packages need {len(wheels)} packages in all, and a tool may have {MOST_PACKAGES}.")
    return [wheels[name] for name in sorted(wheels)]


class _Choice(AbstractProvider[Requirement, Candidate, Node]):
    """What the resolver asks."""

    def __init__(self, source: WheelSource) -> None:
        self._source = source

    def identify(self, requirement_or_candidate: Requirement | Candidate) -> Node:
        if isinstance(requirement_or_candidate, Candidate):
            return requirement_or_candidate.wheel.project, requirement_or_candidate.extras
        return canonicalize_name(requirement_or_candidate.name), frozenset(
            map(canonicalize_name, requirement_or_candidate.extras)
        )

    def get_preference(
        self,
        identifier: Node,
        resolutions: Mapping[Node, Candidate],
        candidates: Mapping[Node, Iterator[Candidate]],
        information: Mapping[Node, Iterator[Cause]],
        backtrack_causes: Sequence[Cause],
    ) -> Any:
        """Causes of backtracking first, then pinned requirements, then by name, so that the same pages give the same choice."""
        del resolutions, candidates
        requirements = [each.requirement for each in information[identifier]]
        pinned = any(part.operator == "==" for each in requirements for part in each.specifier)
        back = any(self.identify(each.requirement) == identifier for each in backtrack_causes)
        return not back, not pinned, identifier[0], sorted(identifier[1])

    def find_matches(
        self,
        identifier: Node,
        requirements: Mapping[Node, Iterator[Requirement]],
        incompatibilities: Mapping[Node, Iterator[Candidate]],
    ) -> list[Candidate]:
        project = self._source.project(identifier[0])
        if project is None:
            return []
        condition = SpecifierSet()
        for each in requirements[identifier]:
            condition &= each.specifier
        refused = {each.wheel.version for each in incompatibilities[identifier]}
        versions = [version for version in _fitting(project, condition) if version not in refused]
        return [Candidate(project.wheels[version], identifier[1]) for version in versions]

    def is_satisfied_by(self, requirement: Requirement, candidate: Candidate) -> bool:
        return requirement.specifier.contains(candidate.wheel.version, prereleases=True)

    def get_dependencies(self, candidate: Candidate) -> Iterable[Requirement]:
        extras = candidate.extras or {""}
        found = [Requirement(f"{candidate.wheel.project}=={candidate.wheel.version}")] if candidate.extras else []
        for needed in requirements_in(candidate.wheel, self._source.metadata(candidate.wheel)):
            # The node without extras has the package's other requirements.
            if self._source.target.needs(needed.marker, extras) and (
                not candidate.extras or not self._source.target.needs(needed.marker, ("",))
            ):
                found.append(needed)
        return found


def _fitting(project: Project, condition: SpecifierSet) -> list[Version]:
    """The versions that meet a condition, newest first. A withdrawn one (PEP 592) only if the condition names it."""
    named = {part.version for part in condition if part.operator == "==" and not part.version.endswith(".*")}
    usable = [each for each, wheel in project.wheels.items() if not wheel.yanked or str(each) in named]
    return sorted(condition.filter(usable), reverse=True)


def _explained(source: WheelSource, causes: Iterable[Cause]) -> str:
    """The reason why there is no solution: missing packages in the index, else the conflicting requirements."""
    by_name: dict[str, list[Cause]] = {}
    for each in causes:
        by_name.setdefault(canonicalize_name(each.requirement.name), []).append(each)
    gaps = [_missing(source, name, group) for name, group in by_name.items()]
    missing = " ".join(each for each in gaps if each)
    if missing:
        return missing
    conflicts = sorted({_requirement_text(each) for group in by_name.values() for each in group})[:_MOST_CAUSES]
    return f"The packages do not fit together: {'; '.join(conflicts)}."


def _missing(source: WheelSource, name: str, causes: Sequence[Cause]) -> str:
    """The text about missing versions of a project in the index; empty if none is missing."""
    project = source.project(name)
    by = "".join(f" {each.parent} requires it." for each in causes[:1] if each.parent is not None)
    if project is None or not (project.wheels or project.unfit):
        return f"The index has no package {name}.{by}"
    for each in causes:
        condition = each.requirement.specifier
        if _fitting(project, condition):
            continue
        unfit = sorted(condition.filter(project.unfit), reverse=True)
        if unfit:
            return (
                f"{name} {unfit[0]} has no wheel for {source.target.description}: it would have to be compiled, or needs another Python. Packages are "
                f"installed from wheels only{_others(project)}.{by}"
            )
        return f"The index has no version {condition} of {name}{_others(project)}.{by}"
    return ""


def _others(project: Project) -> str:
    newest = sorted(project.wheels, reverse=True)[:_MOST_VERSIONS]
    return f" (there are {', '.join(map(str, newest))})" if newest else ""


def _requirement_text(cause: Cause) -> str:
    text = f"{cause.requirement.name}{cause.requirement.specifier or ' in any version'}"
    return f"{cause.parent} requires {text}" if cause.parent is not None else f"{text} is required"
