"""The dead letters of a deployed stack: what each one is, and which invocation works it up again.

Knows the forms in which AWS's services give an event up. Must not know how functions handle events.

    from                                            body
    EventBridge Scheduler, Lambda (asynchronous)    the event of the invocation (its dead-letter queue)
    EventBridge's rules                             the event of the rule
    the mapping of the change stream                the position of the records (`DDBStreamBatchInfo`), without their content
"""

from __future__ import annotations

import json
from typing import Literal

from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.immutable import immutable

Kind = Literal["sweep", "run", "ingest", "stream", "retake", "event", "schedule", "unknown"]
KINDS: dict[Kind, str] = {
    "sweep": "sweeps",
    "run": "ends of executions",
    "ingest": "readings of files",
    "stream": "positions of the change stream",
    "retake": "repetitions of the index",
    "event": "deliveries of events",
    "schedule": "firings of schedules",
    "unknown": "events that no command knows",
}
DELIVERY = "DeliverEvents"
"""Stands in the name of the function that reads the same stream for events."""
RETAKE: JsonObject = {"retake": "all"}


@immutable
class DeadLetter:
    """A letter in the queue. `handle` deletes it. `attempts`: how often it was received."""

    id: str
    handle: str
    body: str
    attempts: int = 1


@immutable
class Remedy:
    """The invocation that works a letter up. Letters with an equal remedy need it once."""

    kind: Kind
    function: str = ""
    event: str = ""


def remedy_of(letter: DeadLetter) -> Remedy:
    """The remedy for a letter.

    One invocation handles all letters of a sweep or of a repetition of the index, because these jobs do not depend on their time.
    The same holds for positions of the stream: its records may have expired, but their pointers are in the table. Undelivered
    events and due schedules are in the table too, and the sweep finds them.
    """
    try:
        event = json.loads(letter.body)
    except ValueError:
        return Remedy("unknown")
    match event:
        case {"DDBStreamBatchInfo": dict(), "requestContext": {"functionArn": str() as arn}} if DELIVERY in arn:
            return _remedy("event", "sweep_runs", {})
        case {"places": list()}:
            return _remedy("event", "deliver_events", event)
        case {"DDBStreamBatchInfo": dict()}:
            return _remedy("stream", "index_memory", RETAKE)
        case {"retake": _}:
            return _remedy("retake", "index_memory", RETAKE)
        case {"source": "aws.states", "detail": {"input": str(), "name": str(), "status": str()}}:
            return _remedy("run", "sweep_runs", event)
        case {"source": "aws.s3", "detail": {"object": {"key": str()}}} | {"tenant": str(), "file_id": str()}:
            return _remedy("ingest", "ingest_file", event)
        case {"schedules": list()} | {"tenant": str(), "schedule_id": str()}:
            return _remedy("schedule", "sweep_runs", {})
        case {"schedule": str(), "at": str(), **rest} if not rest:
            return _remedy("sweep", "sweep_runs", {})
    return Remedy("unknown")


def _remedy(kind: Kind, function: str, event: JsonObject) -> Remedy:
    return Remedy(kind, function, json.dumps(event, sort_keys=True))
