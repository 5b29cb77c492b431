"""Identifiers: `<prefix>-<uuid>` in the strict form of a version-4 UUID (Letta V1 API, API 1.3), ordered by time.

Layout of the 122 free bits: 48 of milliseconds since 1970, 12 of a counter, 55 random, 7 zero (the last 7 distinguish otids).
Sorting by id is therefore sorting by time, and an id serves as a cursor. Making an id needs a clock, which is the port `Ids`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated

from pydantic import StringConstraints

_UUID4 = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


AGENT_ID = f"agent-{_UUID4}"
"""The regular expression of an agent's id within a longer text."""


def pattern(prefix: str) -> str:
    """The regular expression for well-formed ids with this prefix."""
    return f"^{prefix}-{_UUID4}$"


AgentId = Annotated[str, StringConstraints(pattern=pattern("agent"))]
ArchiveId = Annotated[str, StringConstraints(pattern=pattern("archive"))]
BlockId = Annotated[str, StringConstraints(pattern=pattern("block"))]
ConversationId = Annotated[str, StringConstraints(pattern=pattern("conv"))]
AnyConversationId = Annotated[str, StringConstraints(pattern=f"^(conv-{_UUID4}|agent-{_UUID4}|default)$")]
"""A conversation id, an agent's id for its default conversation, or `default` together with an agent id (API 1.3)."""
FileId = Annotated[str, StringConstraints(pattern=pattern("file"))]
FolderId = Annotated[str, StringConstraints(pattern=pattern("source"))]
GroupId = Annotated[str, StringConstraints(pattern=pattern("group"))]
MessageId = Annotated[str, StringConstraints(pattern=pattern("message"))]
PassageId = Annotated[str, StringConstraints(pattern=pattern("passage"))]
ProviderId = Annotated[str, StringConstraints(pattern=pattern("provider"))]
RunId = Annotated[str, StringConstraints(pattern=pattern("run"))]
StepId = Annotated[str, StringConstraints(pattern=pattern("step"))]
ToolId = Annotated[str, StringConstraints(pattern=pattern("tool"))]

DEFAULT_TENANT = "default"
DEFAULT_USER = "user-00000000-0000-4000-8000-000000000000"
DEFAULT_ORGANIZATION = "org-00000000-0000-4000-8000-000000000000"


def is_id(text: str, prefix: str) -> bool:
    """Whether `text` is a well-formed id of this prefix."""
    return re.fullmatch(f"{prefix}-{_UUID4}", text) is not None


def compose(prefix: str, milliseconds: int, counter: int, random_bits: int) -> str:
    """An id composed of milliseconds (48 bits), counter (12 bits) and random bits (55)."""
    low = random_bits << 7
    text = f"{milliseconds:012x}4{counter:03x}{0b10 << 62 | low:016x}"
    return f"{prefix}-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def order_of(identifier: str) -> tuple[int, int]:
    """(milliseconds, counter) of an id from `compose`; the next id of the same log must be greater."""
    digits = identifier[-36:].replace("-", "")
    return int(digits[:12], 16), int(digits[13:16], 16)


def creation_time(identifier: str) -> datetime:
    """The creation time in an id from `compose`, to the millisecond."""
    return datetime.fromtimestamp(order_of(identifier)[0] / 1000, UTC)


def as_of(identifier: str, moment: datetime) -> str:
    """An id derived from `identifier` that sorts at `moment`, to the millisecond. Moments before 1970 count as 1970."""
    milliseconds = min(max(0, int(moment.timestamp() * 1000)), (1 << 48) - 1)
    text = f"{milliseconds:012x}"
    return f"{identifier[:-36]}{text[:8]}-{text[8:]}{identifier[-23:]}"


def derived_otid(message_id: str, index: int) -> str:
    """The otid of the index-th LettaMessage of a row: the row's uuid with the low 7 bits replaced (API 5.2)."""
    uuid = message_id[-36:]
    return f"{uuid[:-2]}{(int(uuid[-2:], 16) & 0x80) | (index & 0x7F):02x}"
