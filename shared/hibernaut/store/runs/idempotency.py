"""Recognises a request that was accepted before: by the otids of its messages, or by its body if a client
re-sends it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.table import Delete, Item, Key, Update, eq
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.immutable import immutable
from hibernaut.store.access.budgets import BudgetReading
from hibernaut.store.conversations.conversations import ConversationStore
from hibernaut.store.events.outbox import WantedReading
from hibernaut.store.runs.transaction_values import IdempotencyMark
from hibernaut.store.table import keys
from hibernaut.store.table.tenant_table import TenantTable

if TYPE_CHECKING:
    from hibernaut.store.agents.pauses import PauseReading

BODY_LIFE = 15 * 60
"""Seconds for which a re-sent identical body attaches to the run of the first request."""
OTID_LIFE = 24 * 3600
"""Seconds for which an otid names the run that accepted its message."""
_PARTLY = (
    "INVALID_ARGUMENT: The otid '{otid}' was used before, by a message of the run {run_id}, and other messages of this request are new. "
    "Send the new ones alone, or give each an otid of its own."
)


@immutable
class RequestIdentity:
    """By what a request is recognised. `digest`: the hash of its body. `otids`: one per message, in order; None for a message
    without one. `first`: so many of them are marked when the request is accepted. `retry`: the client's count of re-sends; 0 for
    the first send.
    """

    digest: str
    otids: Sequence[str | None]
    first: int
    retry: int


@immutable
class KnownRequest:
    """The run that accepted the request earlier; or no run, and the marks that the new run's transaction must write.

    `runs`: the runs of the request's otids, if these identify `run_id`, one entry for each otid that was used; contents were not
    compared, and other messages may be new. Empty: the body identifies the run. `arrived`: the request is the first send, which
    arrived after its own retry. The caller writes this change before the request attaches; it succeeds once.
    """

    run_id: str | None
    marks: tuple[IdempotencyMark, ...] = ()
    arrived: Update | None = None
    runs: Mapping[str, str] = field(default_factory=dict)


class IdempotencyStore:
    """The idempotency marks of a tenant's accepted requests. Reads raise StoreUnavailable (`store.table.retries`), and OSError if
    a blob cannot be read.
    """

    def __init__(self, table: TenantTable, clock: Clock, conversations: ConversationStore) -> None:
        self._table = table
        self._tenant = table.tenant
        self._clock = clock
        self._conversations = conversations

    def look(
        self,
        conversation: str,
        request: RequestIdentity,
        *,
        replaced: str | None = None,
        budgets: BudgetReading | None = None,
        events: WantedReading | None = None,
        pause: PauseReading | None = None,
    ) -> tuple[Head | None, KnownRequest]:
        """The conversation's head (None if there is none), and whether the request was accepted before, in one read.

        The conditions of the head and of the marks make the look-up and the later write atomic. `replaced`: the run that the
        otids name, if this request is new all the same and replaces its marks. `budgets`, `events`, `pause`: read in the same
        request.
        """
        now = self._clock.now().timestamp()
        distinct_otids = [otid for otid in dict.fromkeys(request.otids) if otid]
        places: dict[str, Key] = {otid: keys.otid(self._tenant, conversation, otid) for otid in distinct_otids}
        print_key = keys.fingerprint(self._tenant, conversation, request.digest)
        head_key = keys.head(self._tenant, conversation)
        readings = [reading for reading in (budgets, events, pause) if reading is not None]
        found = self._table.get_many([head_key, *places.values(), print_key, *(key for each in readings for key in each.keys)])
        for reading in readings:
            reading.take(found)
        if head_key not in found:
            return None, KnownRequest(None)
        head = self._conversations.read_head(found[head_key])
        accepted = {
            otid: str(found[key]["run"]) for otid, key in places.items() if key in found and not _expired(found[key], now)
        }
        earlier = found.get(print_key)
        earlier_print = earlier if earlier is not None and not _expired(earlier, now) else None
        print_run = str(earlier_print["run"]) if earlier_print is not None else None
        if print_run in accepted.values() and print_run != replaced:
            return head, KnownRequest(print_run)
        if replaced is None and accepted:
            return head, KnownRequest(next(iter(accepted.values())), runs=accepted)
        if earlier_print is not None and request.retry > 0:
            return head, KnownRequest(str(earlier_print["run"]))
        if earlier_print is not None and not earlier_print["original"]:
            return head, KnownRequest(
                str(earlier_print["run"]), arrived=Update(print_key, set={"original": True}, when=eq(original=False))
            )
        marked = {otid: places[otid] for otid in request.otids[: request.first] if otid}
        marks = [IdempotencyMark("otid", otid, OTID_LIFE, True, _ttl(found.get(key))) for otid, key in marked.items()]
        marks.append(IdempotencyMark("fingerprint", request.digest, BODY_LIFE, request.retry == 0, _ttl(earlier)))
        return head, KnownRequest(None, tuple(marks))

    def forget(self, conversation: str, otid: str) -> Delete:
        """The change that deletes the mark of a message's otid."""
        return Delete(keys.otid(self._tenant, conversation, otid))

    def run_of(self, conversation: str, otid: str) -> str | None:
        """The id of the run that accepted the message with this otid; None after `OTID_LIFE`."""
        item = self._table.get(keys.otid(self._tenant, conversation, otid))
        return None if item is None or _expired(item, self._clock.now().timestamp()) else str(item["run"])


def partly_new(otid: str, run_id: str) -> InvalidArgument:
    """The error for a request of which one otid is used and another message is new."""
    return InvalidArgument(_PARTLY.format(otid=otid, run_id=run_id))


def _expired(item: Item, now: float) -> bool:
    return int(item["ttl"]) <= now


def _ttl(item: Item | None) -> int | None:
    return None if item is None else int(item["ttl"])
