"""The Python packages that a tool requires, as requirements of PEP 508 and versions of PEP 440. Knows no index.

Only a name with a version is accepted: an address, a path or an option would install packages from outside the configured index.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.schemas.faults.package_faults import PackagesRefused
from hibernaut.schemas.tools.tool import PipRequirement

MOST_REQUIREMENTS = 50
_SHOWN = 100
"""Characters of a wrong name or version that its refusal repeats."""


def requirement_lines(requirements: Sequence[PipRequirement]) -> tuple[str, ...]:
    """The requirements in their normal form, like `requests[socks]>=2,<3`, sorted and each once. Raises: PackagesRefused."""
    if len(requirements) > MOST_REQUIREMENTS:
        raise PackagesRefused(f"A tool may require at most {MOST_REQUIREMENTS} packages by name, not {len(requirements)}.")
    return tuple(sorted({_line(each) for each in requirements}))


def _line(requirement: PipRequirement) -> str:
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    name = requirement.name.strip()
    try:
        found = Requirement(name)
    except InvalidRequirement:
        found = None
    if found is None or found.url is not None or found.marker is not None:
        raise PackagesRefused(
            f"pip_requirements: {name[:_SHOWN]!r} is not the name of a package. Give names like requests or fastapi[standard]; addresses, paths, "
            "options and conditions are not taken."
        )
    version, specifier = (requirement.version or "").strip(), str(found.specifier)
    if version and specifier:
        raise PackagesRefused(
            f"pip_requirements: {name[:_SHOWN]!r} has a version in its name and another one beside it. Give one."
        )
    extras = ",".join(sorted(canonicalize_name(extra) for extra in found.extras))
    return canonicalize_name(found.name) + (f"[{extras}]" if extras else "") + _specifier(found.name, version or specifier)


def _specifier(name: str, version: str) -> str:
    """The condition on the version: that one for a plain version, as V1 understands it (RT 10.1)."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    if not version:
        return ""
    try:
        return f"=={Version(version)}"
    except InvalidVersion:
        pass
    try:
        found = SpecifierSet(version)
    except InvalidSpecifier:
        found = SpecifierSet()
    if not len(found) or any(each.operator == "===" for each in found):
        raise PackagesRefused(
            f"pip_requirements: {version[:_SHOWN]!r} is not a version of {name[:_SHOWN]}. Give one like 2.32.3, or a condition like >=2,<3."
        )
    return ",".join(sorted(str(each) for each in found))
