"""Following runs: which run a client follows and from which event, and the whole reply of an ended run."""

from __future__ import annotations

from collections.abc import Callable

from hibernaut.ports.clock import Clock
from hibernaut.ports.runs.signal import RunSignal
from hibernaut.schemas.errors import HibernautError, InvalidArgument, LogExpired
from hibernaut.schemas.faults.rebuilt_error import rebuilt
from hibernaut.schemas.faults.run_faults import no_run
from hibernaut.schemas.ids import is_id
from hibernaut.schemas.messages.letta_message import (
    ApprovalRequestDeltaMessage,
    LettaResponse,
    LettaStopReason,
    ToolCallDeltaMessage,
)
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.stop import StopReason
from hibernaut.services.host import Host
from hibernaut.services.logs.run_log import LoggedEvent, RunLog
from hibernaut.store.runs.runs import LOG_LIFE, RunState
from hibernaut.store.runs.transactions import statistics
from hibernaut.store.stores import TenantStores

NO_ACTIVE_RUN = "No active runs found for this conversation."
_EXPIRED = "The stream of run {run_id} has expired: {kept}. GET /v1/runs/{run_id}/messages shows its messages, which remain."


class RunFollower:
    """Finds the run that a client follows and its place in the event log, and builds the reply of an ended run."""

    def __init__(self, stores: TenantStores, host: Host) -> None:
        self._stores = stores
        self._clock: Clock = host.clock
        self._signal: RunSignal = host.signal

    def watch(self, run_id: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` when the log may have new events, until the returned function is called."""
        return self._signal.watch(run_id, wake)

    def patience(self, looks: int) -> float:
        """The seconds until a follower polls the log again without a wake-up, after this many polls."""
        return self._signal.patience(looks)

    def state(self, run_id: str) -> RunState:
        """The run's stored state. Raises: NotFound."""
        state = self._stores.runs.get(run_id)
        if state is None:
            raise no_run(run_id)
        return state

    def log(self, run_id: str) -> RunLog:
        """The run's log as a stream shows it. Raises: NotFound."""
        return RunLog(self._stores, self._clock, self.state(run_id))

    def resumed(self, run_id: str, starting_after: int) -> RunLog:
        """The log for a client that reconnects. `starting_after`: the number of the last stream event that the client has
        received.

        Raises: InvalidArgument for a malformed run id, or a number beyond the end of the stream; NotFound; LogExpired.
        """
        if not is_id(run_id, "run"):
            raise InvalidArgument(f"Invalid run ID format: {run_id}. Expected format: 'run-<uuid4>'")
        state, now = self.state(run_id), self._clock.now()
        over = state.run.completed_at
        if state.ended and over is not None and over + LOG_LIFE <= now:
            raise LogExpired(_EXPIRED.format(run_id=run_id, kept="its events are kept for 24 hours after its end"))
        if self._stores.runs.has_lost_events(state, now):
            raise LogExpired(_EXPIRED.format(run_id=run_id, kept="an event is kept for 48 hours, and its first events are older"))
        log = RunLog(self._stores, self._clock, state)
        if not log.skip(starting_after):
            raise InvalidArgument(
                f"INVALID_ARGUMENT: starting_after {starting_after} is beyond the stream of run {run_id}: "
                f"its last number is {log.shown_seq}."
            )
        return log

    def run_for(self, conversation: str, *, run_id: str | None = None, otid: str | None = None) -> str:
        """The id of the run to follow: `run_id`, else the run that accepted the message with this otid, else the active run.

        `conversation` is a conversation's id, or an agent's id for its default conversation. Raises: InvalidArgument, NotFound.
        """
        if run_id is not None:
            return self._of_conversation(conversation, run_id)
        if otid is not None:
            accepted_by = self._stores.idempotency.run_of(conversation, otid)
            if accepted_by is None:
                raise InvalidArgument(f"INVALID_ARGUMENT: No run of this conversation took a message with the otid {otid}.")
            return accepted_by
        head = self._stores.conversations.head(conversation)
        if head is None or head.owner is None:
            raise InvalidArgument(NO_ACTIVE_RUN)
        return head.owner

    def known(self, conversation: str, otid: str) -> bool:
        """Whether a run of the conversation accepted the message with this otid."""
        return self._stores.idempotency.run_of(conversation, otid) is not None

    def _of_conversation(self, conversation: str, run_id: str) -> str:
        if not is_id(run_id, "run"):
            raise InvalidArgument(f"Invalid run ID format: {run_id}. Expected format: 'run-<uuid4>'")
        run = self.state(run_id).run
        if conversation != (run.conversation_id or run.agent_id):
            raise InvalidArgument(f"INVALID_ARGUMENT: Run {run_id} belongs to another conversation.")
        return run_id

    def events(self, run_id: str, after: int = 0) -> list[LoggedEvent]:
        """All current events of the log after the number `after`, as a stream shows them. Raises: NotFound."""
        return [one for one in _all(self.log(run_id)) if one.seq > after]

    def response(self, run_id: str) -> LettaResponse | None:
        """The whole reply of a run; None if the run has not ended. Raises: NotFound; the error that the run failed with."""
        state = self.state(run_id)
        if not state.ended:
            return None
        if state.run.error is not None:
            raise failure(state.run)
        return self._reply(state)

    def outcome(self, run_id: str) -> LettaResponse:
        """The reply so far, also of a run that failed or has not ended, with the run's id in its usage. Raises: NotFound."""
        reply = self._reply(self.state(run_id))
        reply.usage.run_ids = [run_id]
        return reply

    def _reply(self, state: RunState) -> LettaResponse:
        run = state.run
        events = _all(RunLog(self._stores, self._clock, state, whole=True))
        return LettaResponse(
            messages=[one.message for one in events if not isinstance(one.message, _NO_MESSAGE)],
            stop_reason=LettaStopReason(stop_reason=run.stop_reason or StopReason.ERROR),
            usage=statistics(run),
            logprobs=run.logprobs,
        )


_NO_MESSAGE = (ToolCallDeltaMessage, ApprovalRequestDeltaMessage, type(None))


def failure(run: StoredRun) -> HibernautError:
    """The error that a run failed with, rebuilt so that the caller can raise it."""
    if run.error is None:
        return HibernautError("An unknown error occurred")
    return rebuilt(run.error.code, run.error.message)


def _all(log: RunLog) -> list[LoggedEvent]:
    events: list[LoggedEvent] = []
    while page := log.look():
        events += page
    return events
