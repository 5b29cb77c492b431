"""What a wheel says of itself: its METADATA (core metadata specification). It must be that of the file's name."""

from __future__ import annotations

from packaging.metadata import parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from hibernaut.adapters.packages.index_pages import Wheel
from hibernaut.schemas.faults.package_faults import PackagesRefused


def requirements_in(wheel: Wheel, metadata: bytes) -> list[Requirement]:
    """The requirements of a wheel. Raises: PackagesRefused if the metadata is another wheel's, or names addresses."""
    fields, _ = parse_email(metadata)
    name, version = fields.get("name", ""), fields.get("version", "")
    try:
        same = canonicalize_name(name) == wheel.project and Version(version) == wheel.version
    except InvalidVersion:
        same = False
    if not same:
        raise PackagesRefused(
            f"The metadata of {wheel.file} names another package: {name[:50]!r} {version[:50]!r}. It was not installed."
        )
    return [_requirement(wheel, line) for line in fields.get("requires_dist", ())]


def _requirement(wheel: Wheel, line: str) -> Requirement:
    try:
        needed = Requirement(line)
    except InvalidRequirement:
        raise PackagesRefused(
            f"{wheel.project} {wheel.version} requires {line[:100]!r}, which is not a valid requirement."
        ) from None
    if needed.url is not None:
        raise PackagesRefused(
            f"{wheel.project} {wheel.version} requires {needed.name} from an address. Packages come from the index alone."
        )
    return needed
