"""`hibernaut redrive`: works dead letters up again, and restarts runs that wait for the sweep.

SQS's own redrive moves letters to a queue that they came from. These come from no queue (SQS API reference, StartMessageMoveTask:
"Non-SQS queue sources … are currently not supported"). So each letter's event is sent to its function again, and the letter is
deleted when the function has succeeded. Every function takes an event twice without harm, so a redrive may be interrupted and
repeated.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hibernaut.local.administration.dead_letters import KINDS, DeadLetter, Kind, Remedy, remedy_of
from hibernaut.local.administration.deployment import DeployedResources
from hibernaut.local.profiles import CannotServe
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.immutable import immutable

LONGEST = 910.0
"""The read time-out of an invocation in seconds: longer than any function's own limit."""
HIDDEN = 960
"""Seconds for which a received letter is hidden from others: longer than its invocation."""
RECEIVED = 10
WAIT = 2
"""Seconds of a receipt: only long polling asks all of SQS's servers, so that an empty answer means an empty queue."""
Say = Callable[[str], None]


@immutable
class Redrive:
    """The options of a redrive. `kinds` empty: all known kinds. `limit` 0: no limit. `dry`: only list the letters."""

    kinds: Sequence[Kind] = ()
    limit: int = 0
    dry: bool = False


@immutable
class Redriven:
    """The numbers of letters by kind: processed, failed, and left in the queue."""

    worked_up: Counter[Kind]
    failed: Counter[Kind]
    left: Counter[Kind]

    def as_json(self) -> JsonObject:
        """The numbers by outcome and kind."""
        return {"worked_up": dict(self.worked_up), "failed": dict(self.failed), "left": dict(self.left)}


class Redriving:
    """The dead letters of one stack."""

    def __init__(self, place: DeployedResources, say: Say, *, wait: int = WAIT) -> None:
        """`wait`: seconds for which an empty queue is polled."""
        self._wait = wait
        self._place = place
        self._queue = place.output("DeadLettersUrl")
        self._sqs = place.client("sqs")
        self._say = say
        self._in_flight: dict[str, DeadLetter] = {}

    def redrive(self, request: Redrive) -> Redriven:
        """Process the letters. Raises: errors of botocore, CannotServe.

        Letters that were not handled are visible again at the end, also after an interrupt.
        """
        try:
            return self._list(request) if request.dry else self._work_up(request)
        finally:
            self._release()

    def _list(self, request: Redrive) -> Redriven:
        counts: Counter[Kind] = Counter(remedy_of(letter).kind for letter in self._letters(request.limit))
        for kind, count in sorted(counts.items()):
            self._say(f"{count:,} {KINDS[kind]} (--kind {kind})" if kind != "unknown" else f"{count:,} {KINDS[kind]}: they stay")
        self._say(f"{sum(counts.values()):,} letters; nothing was changed.")
        return Redriven(Counter(), Counter(), counts)

    def _work_up(self, request: Redrive) -> Redriven:
        waiting: dict[Remedy, list[DeadLetter]] = {}
        done, failed, untouched = Counter[Kind](), Counter[Kind](), Counter[Kind]()
        for letter in self._letters(request.limit):
            remedy = remedy_of(letter)
            if remedy.kind == "unknown" or (request.kinds and remedy.kind not in request.kinds):
                untouched[remedy.kind] += 1
            else:
                waiting.setdefault(remedy, []).append(letter)
        for remedy, letters in waiting.items():
            reason = self._invoke(remedy)
            if reason:
                failed[remedy.kind] += len(letters)
                self._say(f"{len(letters):,} {KINDS[remedy.kind]} stay: {remedy.function} {reason}")
                continue
            for letter in letters:
                self._sqs.delete_message(QueueUrl=self._queue, ReceiptHandle=letter.handle)
                del self._in_flight[letter.id]
            done[remedy.kind] += len(letters)
            self._say(f"{len(letters):,} {KINDS[remedy.kind]} worked up by {remedy.function}")
        for kind, count in sorted(untouched.items()):
            self._say(f"{count:,} {KINDS[kind]} left alone")
        self._say(f"{done.total():,} letters worked up, {failed.total():,} failed, {untouched.total():,} left alone.")
        return Redriven(done, failed, untouched)

    def _letters(self, limit: int) -> Iterator[DeadLetter]:
        """Receive every letter once, at most `limit` of them, and hide it meanwhile."""
        while not limit or len(self._in_flight) < limit:
            most = min(RECEIVED, limit - len(self._in_flight)) if limit else RECEIVED
            answer = self._sqs.receive_message(
                QueueUrl=self._queue, MaxNumberOfMessages=most, VisibilityTimeout=HIDDEN, WaitTimeSeconds=self._wait
            )
            found = [_letter(one) for one in answer.get("Messages", ())]
            new = [letter for letter in found if letter.id not in self._in_flight]
            self._in_flight.update((letter.id, letter) for letter in found)
            if not new:
                return
            yield from new

    def _release(self) -> None:
        for letter in self._in_flight.values():
            self._sqs.change_message_visibility(QueueUrl=self._queue, ReceiptHandle=letter.handle, VisibilityTimeout=0)
        self._in_flight.clear()

    def _invoke(self, remedy: Remedy) -> str:
        """The reason why the function failed; "" if it succeeded."""
        answer = invoked(self._place, remedy.function, remedy.event)
        if "errorType" in answer:
            return f"failed: {answer['errorType']}; its log says why"
        pending = int(answer.get("left", 0)) if remedy.function == "index_memory" else 0
        return f"could not index {pending:,} pointers yet" if pending else ""


def restart_runs(place: DeployedResources, say: Say) -> dict[str, int]:
    """Restart every open run that waits for the sweep, due or not, and count them. A run with a live worker is skipped."""
    answer = invoked(place, "sweep_runs", json.dumps({"restart": "waiting"}))
    if "errorType" in answer:
        raise CannotServe(f"sweep_runs failed: {answer['errorType']}; its log says why")
    say(f"{answer['started']:,} runs restarted, {answer['closed']:,} closed.")
    return {"restarted": answer["started"], "closed": answer["closed"]}


def invoked(place: DeployedResources, folder: str, event: str) -> JsonObject:
    """The answer of a function, or Lambda's report of its error (`errorType`)."""
    client = place.client("lambda", read_timeout=LONGEST, attempts=1)
    reply = client.invoke(FunctionName=place.function(folder), Payload=event.encode())
    answer: JsonObject = json.loads(reply["Payload"].read() or b"{}") or {}
    return {"errorType": "Error", **answer} if "FunctionError" in reply else answer


def _letter(message: Any) -> DeadLetter:
    return DeadLetter(message["MessageId"], message["ReceiptHandle"], message["Body"])
