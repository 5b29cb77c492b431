"""The head of a conversation: its owner, the end of its log, and its window (architecture, protocol of runs)."""

from pydantic import Field, PrivateAttr

from hibernaut.schemas.base import Moment, Schema
from hibernaut.schemas.stored import Stored


class Window(Schema):
    """The part of the log that the model sees: the pinned messages in this order, then every message after `cut`.

    `pinned[0]` is the system message. The part after `cut` excludes system rows and summary rows. `cut` is a message id; None:
    the beginning of the log.
    """

    pinned: list[str] = Field(default_factory=list)
    cut: str | None = None


class Segment(Schema):
    """A part of another conversation's log that a fork shares: its conversational rows with after < id <= `upto` (None: from the
    beginning), and the rows in `also`, which the fork's window pins. With an empty `upto` only the rows in `also` are shared.
    """

    conversation: str
    after: str | None = None
    upto: str = ""
    also: list[str] = Field(default_factory=list)


class CompiledFrom(Schema):
    """The inputs of the last compilation of the system message: equal inputs need no new text (invariant 10).

    `digest` covers all inputs except the volatile metadata (time and counters). `text` is the hash of the message, with which a
    reader verifies that head and message belong together ("": unknown).
    """

    digest: str
    text: str = ""
    block_versions: dict[str, int] = Field(default_factory=dict)
    compiled_at: Moment


class Head(Stored):
    """One conversation's head. `id` is `conv-…`, or the agent's id for its default conversation.

    `owner` is the run that may append; `version` counts changes of the log; `waiting` counts queued runs. `pending` is the run
    with an unanswered approval request, `answered` the run whose approval was answered last. `last_message` is the newest id of
    the log, `newest` the ids of the same transaction. `counted` is the size of the newest request by our own count, `reported`
    the provider's count, both in tokens (0: unknown), `measured_with` the model of this request; the ratio corrects the next
    count for this model. `segments` are the shared parts of
    other logs at the beginning of a fork's log; they are set at the fork's creation and never change. `calls_open` says whether
    the newest row has calls without a return; None: unknown.
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
    measured_with: str = ""
    newest: list[str] = Field(default_factory=list)
    messages: int = 0
    calls_open: bool | None = None
    segments: list[Segment] = Field(default_factory=list)
    created_at: Moment
    _resting: bool = PrivateAttr(default=False)
    _packed_to: str = PrivateAttr(default="")

    @property
    def resting(self) -> bool:
        """Whether the conversation is at rest: the next message brings the rows of its window back from their packs."""
        return self._resting

    @property
    def packed_to(self) -> str:
        """The id up to which the bodies of its rows are in packs; "": none are."""
        return self._packed_to

    def read_packs(self, *, resting: bool, packed_to: str) -> None:
        """Set what the item says of packs. The body has none of it."""
        self._resting, self._packed_to = resting, packed_to
