"""Events as values: their ids, the JSON that receivers get, their subscribers, their signatures, and when a failed delivery is
repeated. Pure.

The id of an event is derived from the token of the transaction that writes it, so that a transaction which is built again has the
same events.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta

from hibernaut.schemas.base import JsonObject, wire_time
from hibernaut.schemas.events.facts import MOST_TOOL_NAMES, PING, ApprovalRequested, EventType, Fact, RunFinished
from hibernaut.schemas.ids import compose
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.runs.approval import PendingApproval
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.stop import StopReason

SIGNING_PREFIX = "whsec_"
PAUSES = tuple(timedelta(minutes=minutes) for minutes in (1, 4, 16, 64, 256, 720, 720))
"""The pauses after the first, the second … failed try of a delivery: together about 30 hours. After the last one the delivery is
dead.
"""
JITTER = 0.2
"""The share by which a pause is lengthened at most, so that the deliveries of an outage do not come back at one moment."""
FAILURES_IN_A_ROW = 5
"""A webhook with so many failures in a row is given a rest, in which its deliveries wait and none is tried."""
LONGEST_REST = timedelta(hours=1)
GIVEN_UP = timedelta(days=3)
"""A webhook that has only failed for so long is disabled."""


@immutable
class OutboundEvent:
    """An event as receivers get it. `timestamp`: when the transaction was written that makes it true."""

    id: str
    type: str
    timestamp: str
    tenant: str
    data: JsonObject

    @classmethod
    def read(cls, value: JsonObject) -> OutboundEvent:
        """The event of a stored JSON object."""
        return cls(value["id"], value["type"], value["timestamp"], value["tenant"], value["data"])

    def json(self) -> JsonObject:
        """The event as a JSON object."""
        return asdict(self)

    def body(self) -> bytes:
        """The bytes that are signed and sent: the same at each try."""
        return json.dumps(self.json(), separators=(",", ":"), ensure_ascii=False).encode()

    @property
    def agents(self) -> list[str]:
        """The agents that the event concerns."""
        one = self.data.get("agent_id")
        return list(dict.fromkeys([*([one] if one else []), *self.data.get("agent_ids", ())]))


def events_of(facts: Sequence[Fact], *, tenant: str, token: str, now: datetime) -> list[OutboundEvent]:
    """The events of one transaction. `token`: the token of its writer, from which the ids are derived."""
    bits = int.from_bytes(hashlib.sha256(token.encode()).digest()[:8], "big") >> 9
    created_ms = int(now.timestamp() * 1000)
    return [
        OutboundEvent(compose("evt", created_ms, place, bits), fact.type, wire_time(now), tenant, asdict(fact))
        for place, fact in enumerate(facts)
    ]


def ping(webhook_id: str, event_id: str, *, tenant: str, now: datetime) -> OutboundEvent:
    """The event of a test."""
    return OutboundEvent(event_id, PING, wire_time(now), tenant, {"webhook_id": webhook_id})


def run_finished(run: StoredRun, now: datetime) -> RunFinished:
    """The fact that a run has ended."""
    usage, reason = run.usage, run.stop_reason or StopReason.ERROR
    return RunFinished(
        run_id=run.id,
        agent_id=run.agent_id,
        conversation_id=run.conversation_id,
        status=run.status.value,
        stop_reason=reason.value,
        error=run.error.code if run.error else None,
        background=bool(run.background),
        created_at=wire_time(run.created_at),
        duration_ms=max(0, int(((run.completed_at or now) - run.created_at).total_seconds() * 1000)),
        steps=run.steps,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        total_tokens=usage.total_tokens,
    )


def approval_requested(pending: PendingApproval) -> ApprovalRequested:
    """The fact that a run waits for an answer."""
    return ApprovalRequested(
        run_id=pending.run_id,
        agent_id=pending.agent_id,
        conversation_id=pending.conversation_id,
        request_id=pending.request_id,
        tools=tuple(call.name[:100] for call in pending.held[:MOST_TOOL_NAMES]),
        deadline=wire_time(pending.deadline) if pending.deadline else None,
    )


def subscribed(facts: Iterable[Fact], types: Collection[str] | None) -> list[Fact]:
    """The facts of the subscribed types. `types` None: there is no subscription."""
    return [fact for fact in facts if fact.type in types] if types else []


def matches(
    event: OutboundEvent,
    *,
    types: Collection[EventType],
    agent_ids: Collection[str],
    agent_tags: Collection[str],
    agents: Collection[str],
    tags: Collection[str],
) -> bool:
    """Whether a webhook with these filters receives the event. An empty filter admits everything.

    `agents`: the agents that the event concerns; `tags`: theirs. With a filter on agents, an event that concerns none is not
    heard.
    """
    if types and event.type not in types:
        return False
    if not agent_ids and not agent_tags:
        return True
    return any(agent in agent_ids for agent in agents) or any(tag in agent_tags for tag in tags)


def signature(secrets: Iterable[bytes], event_id: str, timestamp: int, body: bytes) -> str:
    """The header `webhook-signature` (Standard Webhooks, standardwebhooks.com): one signature for each valid secret."""
    content = f"{event_id}.{timestamp}.".encode() + body
    return " ".join(f"v1,{base64.b64encode(hmac.digest(secret, content, 'sha256')).decode()}" for secret in secrets)


def secret_text(secret: bytes) -> str:
    """A secret as its owner gets it."""
    return SIGNING_PREFIX + base64.b64encode(secret).decode()


def pause_after(tries: int, jitter: float) -> timedelta | None:
    """The pause after so many failed tries; None: there is no further try. `jitter`: from 0 to 1."""
    return PAUSES[tries - 1] * (1 + JITTER * jitter) if tries <= len(PAUSES) else None


def rest_of(failures: int) -> timedelta:
    """The rest after so many failures in a row; none before `FAILURES_IN_A_ROW`."""
    if failures < FAILURES_IN_A_ROW:
        return timedelta()
    return min(timedelta(minutes=1 << min(failures - FAILURES_IN_A_ROW, 10)), LONGEST_REST)
