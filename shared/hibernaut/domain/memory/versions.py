"""The arithmetic of versions: digests, the chain of hashes, differences, and the numbers that a run wrote. Pure.

Each version names the hash of the version before it, so a version that is changed, exchanged or taken out of the middle shows.
The hash covers the JSON as it is stored: a later release that knows more fields computes the same hash for a version of this one.
It is not keyed: a process that may write the whole table can compute a new chain, and only a hash that was noted elsewhere
reveals it.
"""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence

from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.version import FieldDiff

KNOWN = frozenset({"id", "version"})
"""Fields of a record that a version does not repeat: they follow from its place."""
UNCOUNTED = KNOWN | {"created_at", "updated_at", "last_updated_by_id"}
"""Fields of a record that a digest leaves out: they follow from the change itself."""
MOST_LINES = 20_000
"""The largest number of lines of both texts that are compared line by line."""
Ranges = Sequence[Sequence[int]]
"""Numbers as [first, last] pairs in ascending order."""


@immutable
class ChainLink:
    """A version as an audit reads it. `stored`: the JSON of the version; `before`: the record before it, None if it created the
    record.
    """

    stored: JsonObject
    before: JsonObject | None

    @property
    def number(self) -> int:
        return int(self.stored["version"])


def canonical(value: Json) -> bytes:
    """The bytes of a JSON value in one form, whatever the order of its members."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def hashed(value: Json) -> str:
    """The SHA-256 hash of a JSON value, in 43 characters of base64 for URLs."""
    return urlsafe_b64encode(hashlib.sha256(canonical(value)).digest()).decode().rstrip("=")


def digest(content: Mapping[str, Json]) -> str:
    """The digest of a record's JSON without its counters."""
    return hashed({name: value for name, value in content.items() if name not in UNCOUNTED})


def link_hash(subject: str, version: Mapping[str, Json], before: Mapping[str, Json] | None) -> str:
    """The hash of a version: of its JSON, which names the hash of the version before it, and of the record before it (None: it
    creates the record).
    `subject`: the id of the record.
    """
    hashed_fields = {name: value for name, value in version.items() if name != "hash"}
    return hashed([subject, hashed_fields, digest(before) if before is not None else ""])


def changed_fields(before: Mapping[str, Json], after: Mapping[str, Json]) -> list[str]:
    """The names of the fields that differ, in alphabetical order."""
    return sorted(name for name in {*before, *after} - UNCOUNTED if before.get(name) != after.get(name))


def differences(before: Mapping[str, Json], after: Mapping[str, Json]) -> list[FieldDiff]:
    """What differs between two records' JSON, by field."""
    return [_difference(name, before.get(name), after.get(name)) for name in changed_fields(before, after)]


def _difference(name: str, before: Json, after: Json) -> FieldDiff:
    lines = _lines(before or "", after or "") if isinstance(before or "", str) and isinstance(after or "", str) else None
    return FieldDiff(field=name, before=before, after=after, lines=lines)


def _lines(before: str, after: str) -> list[str] | None:
    """The unified diff of two texts without its header; None if neither has several lines, or they have too many to compare."""
    one, two = before.splitlines(), after.splitlines()
    if max(len(one), len(two)) < 2 or len(one) + len(two) > MOST_LINES:
        return None
    from difflib import unified_diff  # at the first difference: a step computes none

    return list(unified_diff(one, two, lineterm="", n=3))[2:]


def with_number(ranges: Ranges, number: int) -> list[list[int]]:
    """The numbers with a further one, which is greater than all of them."""
    extended = [list(each) for each in ranges]
    if extended and extended[-1][1] + 1 == number:
        extended[-1][1] = number
    else:
        extended.append([number, number])
    return extended


def merged(ranges: Mapping[str, Ranges], new_versions: Iterable[tuple[str, int]]) -> dict[str, list[list[int]]]:
    """The versions that a run has written, by record, with further ones."""
    found = {subject: [list(each) for each in numbers] for subject, numbers in ranges.items()}
    for subject, number in new_versions:
        found[subject] = with_number(found.get(subject, ()), number)
    return found


class ChainCheck:
    """Checks the chain of one record, version by version in ascending order, in constant memory.

    The oldest retained version is not compared with the one before it, which has expired, or was written by a release without
    versions.
    """

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self._last: ChainLink | None = None
        self.first = 0
        self.count = 0

    @property
    def head(self) -> tuple[int, str]:
        """The number and the hash of the newest version so far; 0 and "" if there is none."""
        return (self._last.number, str(self._last.stored.get("hash", ""))) if self._last else (0, "")

    def take(self, link: ChainLink) -> str | None:
        """Why this version breaks the chain; None: it follows."""
        before, self._last = self._last, link
        self.first, self.count = self.first or link.number, self.count + 1
        fault = _own_fault(self.subject, link) or (_link_fault(before, link) if before else None)
        return f"version {link.number}: {fault}" if fault else None

    def end(self, named_head: tuple[int, str], number: int, current: JsonObject | None) -> str | None:
        """The reason why the chain does not end with the record; None if it does. `named_head`: the number and the hash that the
        record names; `number`: its own version;
        `current`: its JSON, None if it is deleted.
        """
        if self._last is None:
            return (
                None
                if current is None or named_head == (0, "")
                else f"version {named_head[0]}: the record names it, and it is missing"
            )
        last = self._last
        deleted = last.stored["change"] == "deleted"
        if current is None:
            return None if deleted else f"version {last.number}: the record is gone without a deletion"
        if deleted:
            return f"version {last.number}: the record was deleted, but it is there"
        if named_head != self.head:
            return f"version {named_head[0]}: the record names a version that the chain does not end with"
        if number != last.number:
            return f"version {number}: it is not recorded; the chain ends with version {last.number}"
        return None if digest(current) == last.stored.get("after") else f"version {last.number}: the record is not what it left"


def bears_another(number: int, record_id: str) -> str:
    """The fault of a record whose own id is not the one it is stored under. The digests leave the id out."""
    return f"version {number}: the record bears the id {record_id!r}"


def _own_fault(subject: str, link: ChainLink) -> str | None:
    return (
        None if link_hash(subject, link.stored, link.before) == link.stored.get("hash") else "its hash does not fit what it says"
    )


def _link_fault(earlier: ChainLink, link: ChainLink) -> str | None:
    if link.number != earlier.number + 1:
        return f"versions {earlier.number + 1} to {link.number - 1} are missing"
    if link.stored.get("previous") != earlier.stored.get("hash"):
        return f"it does not follow version {earlier.number}"
    if (digest(link.before) if link.before is not None else "") != earlier.stored.get("after", ""):
        return f"it does not begin with what version {earlier.number} left"
    return None
