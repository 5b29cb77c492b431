"""Which rows a fork shares with its source conversation, and in which log they are stored. Pure; no row is copied."""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.window.open_calls import open_at_end
from hibernaut.schemas.agents.conversation import Head, Segment
from hibernaut.schemas.messages.message import Message


def shared(rows: Sequence[Message], upto: str | None = None) -> list[Message]:
    """The rows of a window (without its system message) that a fork begins with: up to and including `upto`, without open calls.

    An unanswered approval request is left out, and so is a reply whose returns are cut off.
    """
    places = {row.id: place for place, row in enumerate(rows, 1)}
    return settled(rows if upto is None else rows[: places.get(upto, 0)])


def settled(rows: Sequence[Message]) -> list[Message]:
    """The rows without the newest reply if one of its calls has no return. Older replies with open calls are not affected."""
    remaining = list(rows)
    while open_ids := {call.id for call in open_at_end(remaining)}:
        while open_ids:
            open_ids -= {call.id for call in remaining.pop().tool_calls or ()}
    return remaining


def segments(head: Head, rows: Sequence[Message]) -> list[Segment]:
    """The segments that contain these rows of a head's window: segments that the head itself shares, and a segment of its own
    log.
    """
    pinned = [row.id for row in rows if row.id in set(head.window.pinned)]
    last = max((row.id for row in rows if row.id not in set(pinned)), default="")
    homes = {message_id: home(head.segments, message_id) for message_id in pinned}
    found = [_trimmed(one, head.window.cut or "", last, homes) for one in head.segments]
    own = max((one.upto for one in head.segments), default="") < last
    own_pins = [message_id for message_id in pinned if homes[message_id] is None]
    found.append(Segment(conversation=head.id, after=head.window.cut if own else None, upto=last if own else "", also=own_pins))
    return [one for one in found if one.upto or one.also]


def holds(parts: Sequence[Segment], others: Sequence[Segment]) -> bool:
    """Whether a fork with the segments `parts` shares every row that a fork with the segments `others` shares."""
    pins = {(one.conversation, row) for one in parts for row in one.also}
    return all(
        pins.issuperset((other.conversation, row) for row in other.also)
        and (not other.upto or any(_encloses(one, other) for one in parts))
        for other in others
    )


def home(parts: Sequence[Segment], message_id: str) -> Segment | None:
    """The segment that contains a row; None if the row is not shared. The ranges of one fork's segments never overlap."""
    for one in parts:
        if message_id in one.also:
            return one
    return next((one for one in parts if (one.after or "") < message_id <= one.upto), None)


def _encloses(one: Segment, other: Segment) -> bool:
    return one.conversation == other.conversation and (one.after or "") <= (other.after or "") and other.upto <= one.upto


def _trimmed(one: Segment, cut: str, last: str, homes: dict[str, Segment | None]) -> Segment:
    after, upto = max(one.after or "", cut), min(one.upto, last)
    also = [message_id for message_id, place in homes.items() if place is one]
    if upto <= after:
        return Segment(conversation=one.conversation, also=also)
    return Segment(conversation=one.conversation, after=after or None, upto=upto, also=also)
