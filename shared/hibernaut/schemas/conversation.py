"""The head of a conversation: who owns it, how long its log is, and which part of the log is its window (architecture, protocol of runs)."""

from __future__ import annotations

from pydantic import Field

from hibernaut.schemas.base import Moment, Schema
from hibernaut.schemas.stored import Stored


class Window(Schema):
    """The part of the log that the model sees: the pinned messages in this order, then every message after `cut`.

    `pinned[0]` is the system message. The tail leaves out system rows and summary rows. `cut` is a message id; None: from the beginning.
    """

    pinned: list[str] = Field(default_factory=list)
    cut: str | None = None


class Segment(Schema):
    """A part of another conversation's log that a fork shares: its rows with after < id <= `upto` (None: from the beginning), as far as
    they were said, and the rows in `also`, which the fork's window pins. An empty `upto` shares only those.
    """

    conversation: str
    after: str | None = None
    upto: str = ""
    also: list[str] = Field(default_factory=list)


class CompiledFrom(Schema):
    """What the system message was last compiled from: equal inputs need no new text (invariant 10).

    `digest` covers everything but the volatile metadata (time and counters); `text` is the hash of the message itself, by which a
    reader sees that head and message belong together ("": not known).
    """

    digest: str
    text: str = ""
    block_versions: dict[str, int] = Field(default_factory=dict)
    compiled_at: Moment


class Head(Stored):
    """One conversation's head. `id` is `conv-…`, or the agent's id for its default conversation.

    `owner` is the run that may append; `version` counts changes of the log; `waiting` counts queued runs;
    `pending` is the run that asked for an approval which nobody has answered, `answered` the one whose approval was answered last; `last_message` is the newest id of the log, and `newest`
    are the ids that came with it in one transaction. `counted` is the size of the newest request by our own count and `reported` what its
    provider counted, both in tokens (0: not known): their ratio corrects the next count. `segments` are what the log of a fork begins with:
    parts of other logs, set when it is made and never changed; its own rows come on top. `calls_open` says whether the newest row asks for
    calls that have no return yet; None where nobody has looked.
    """

    id: str
    agent_id: str
    window: Window = Field(default_factory=Window)
    compiled: CompiledFrom | None = None
    owner: str | None = None
    version: int = 0
    waiting: int = 0
    pending: str | None = None
    answered: str | None = None
    last_message: str | None = None
    counted: int = 0
    reported: int = 0
    newest: list[str] = Field(default_factory=list)
    messages: int = 0
    calls_open: bool | None = None
    segments: list[Segment] = Field(default_factory=list)
    created_at: Moment
