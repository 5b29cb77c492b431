"""The form of a row of the compatibility manifest, and the names of the issues that rows wait for. Holds no row itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    DONE = "done"
    WAITING = "to do"
    DIVERGING = "diverging"
    OUT_OF_REACH = "out of reach"


@dataclass(frozen=True, slots=True)
class Row:
    """One behavior that a client of the Letta V1 API may rely on.

    `id` is dotted and stable (`messages.list.page_order`); tests cite it by `@pytest.mark.manifest(id)`. `source` is the section
    of the digest of that API ("API 2.3") or of its run time ("RT 5.1"). `reason` says why it diverges or is out of reach, or
    which issue brings it. `endpoint` is (method, path) exactly as `letta-client` calls it, or as V1 declares it; only the row
    that stands for the route as a whole has it. Several methods have `|` between them.
    """

    id: str
    source: str
    sentence: str
    status: Status = Status.DONE
    reason: str = ""
    endpoint: tuple[str, str] | None = None

    def pairs(self) -> list[tuple[str, str]]:
        """(method, path) of each method that the endpoint has."""
        return [(method, self.endpoint[1]) for method in self.endpoint[0].split("|")] if self.endpoint else []


def done(id: str, source: str, sentence: str, endpoint: str = "") -> Row:
    """A kept promise. `endpoint` is written "GET /v1/health/"."""
    return Row(id, source, sentence, endpoint=_endpoint(endpoint))


def diverging(id: str, source: str, sentence: str, reason: str, endpoint: str = "") -> Row:
    """We do something else on purpose; the sentence says what we do, the reason why and what V1 does."""
    return Row(id, source, sentence, Status.DIVERGING, reason, _endpoint(endpoint))


def todo(id: str, source: str, sentence: str, issue: str, endpoint: str = "") -> Row:
    """Is not built yet. `issue`: what it waits for."""
    return Row(id, source, sentence, Status.WAITING, issue, _endpoint(endpoint))


def out_of_reach(id: str, source: str, sentence: str, reason: str, endpoint: str = "") -> Row:
    """Will not come, and why."""
    return Row(id, source, sentence, Status.OUT_OF_REACH, reason, _endpoint(endpoint))


def _endpoint(text: str) -> tuple[str, str] | None:
    method, _, path = text.partition(" ")
    return (method, path) if text else None
