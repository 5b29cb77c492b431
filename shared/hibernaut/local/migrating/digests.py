"""What is compared on both sides: a digest for each kind of record. Pure.

The digest of a log is that of its rows as an import reads them (`domain.agent_files.messages`), so it says whether the target has
stored what was read, and the notes of the reading say how that differs from what the source had.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from hibernaut.domain.agent_files.exported import LocalIds, exported_message
from hibernaut.domain.agent_files.messages import ImportedLog, LogReading, prompt_of
from hibernaut.domain.agent_files.notes import ImportNotes
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.ids import compose, order_of
from hibernaut.schemas.immutable import immutable

_NOT_COMPARED = frozenset({"id", "agent_id", "approval_request_id", "otid", "group_id", "batch_item_id", "sender_id", "model"})
"""Members of a row that the target creates anew, or that refer to records of the source."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_AGENT = "agent-00000000-0000-4000-8000-000000000000"


@immutable
class LogDigest:
    """The rows of a log without its system message: a digest for each, in order."""

    rows: tuple[str, ...]

    @property
    def whole(self) -> str:
        return digest(list(self.rows))


def digest(value: Json) -> str:
    """A digest of a JSON value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def log_digest(messages: Sequence[JsonObject], in_context: Sequence[str], notes: ImportNotes, timezone: str = "UTC") -> LogDigest:
    """The digest of a log. `notes` learn how its reading differs from it. `timezone`: the agent's. Raises: InvalidArgument (two
    messages of one id).
    """
    reading = LogReading(
        agent_id=_AGENT,
        system_id=compose("message", 0, 0, 0),
        prompt=prompt_of(messages, in_context),
        now=_EPOCH,
        timezone=timezone,
        new_id=_following,
    )
    locals_ = LocalIds("message")
    rows = (exported_message(row, _AGENT, locals_) for row in ImportedLog(reading, notes).rows(messages))
    return LogDigest(tuple(digest({name: one for name, one in row.items() if name not in _NOT_COMPARED}) for row in rows))


def block_fields(block: JsonObject) -> JsonObject:
    """What is compared of a block."""
    named = {name: block.get(name) for name in ("label", "value", "description")}
    return {**named, "read_only": bool(block.get("read_only"))}


def passage_digest(passages: Iterable[JsonObject]) -> str:
    """The digest of the passages of an archive in any order."""
    return digest(sorted(digest([one["text"], sorted(one.get("tags") or ())]) for one in passages))


def _following(last: str) -> str:
    milliseconds, counter = order_of(last)
    return compose("message", milliseconds + (counter + 1) // 4096, (counter + 1) % 4096, 0)
