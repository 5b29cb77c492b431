"""Following a run: its events as they stand in the log, and the whole reply of a run that has ended (architecture 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hibernaut.domain.agent_types import spec_of
from hibernaut.domain.letta_messages import render
from hibernaut.ports.clock import Clock
from hibernaut.ports.signal import RunSignal
from hibernaut.schemas.agent import AgentType
from hibernaut.schemas.errors import HibernautError, NotFound, rebuilt
from hibernaut.schemas.events import MessageEvent, RunEvent
from hibernaut.schemas.letta_message import LettaMessage, LettaResponse, LettaStopReason
from hibernaut.schemas.run import StoredRun
from hibernaut.schemas.stop import StopReason
from hibernaut.services.host import Host
from hibernaut.services.step_records import rendering
from hibernaut.store.runs import RunState
from hibernaut.store.stores import Stores
from hibernaut.store.transactions import statistics

MAX_READS = 20
"""How often a follower reads again at once what a transaction has not yet brought into sight."""


@dataclass(frozen=True, slots=True)
class Followed:
    """An event with its number, and what it shows: the LettaMessage of a message event, where the request's filter lets it pass."""

    seq: int
    event: RunEvent
    message: LettaMessage | None = None


class Following:
    def __init__(self, stores: Stores, host: Host) -> None:
        self._stores = stores
        self._clock: Clock = host.clock
        self._signal: RunSignal = host.signal

    def watch(self, run_id: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` when something new may stand in the log, until the returned function is called."""
        return self._signal.watch(run_id, wake)

    def patience(self, looks: int) -> float:
        """Seconds until a follower looks again by itself."""
        return self._signal.patience(looks)

    def state(self, tenant: str, run_id: str) -> RunState:
        """Raises: NotFound."""
        state = self._stores.runs.get(tenant, run_id)
        if state is None:
            raise NotFound(f"Run with ID {run_id} not found")
        return state

    def finished(self, tenant: str, run_id: str) -> bool:
        return self.state(tenant, run_id).ended

    def events(self, tenant: str, run_id: str, after: int = 0) -> list[Followed]:
        """The events after a number, contiguous from there on; messages that the request filtered out keep their number."""
        state = self.state(tenant, run_id)
        if state.ended and after >= state.last_seq:
            return []
        return self._whole(tenant, state, after)

    def _whole(self, tenant: str, state: RunState, after: int) -> list[Followed]:
        """Those after a number; of a run that has ended up to its last one, read again until that is in sight."""
        followed: list[Followed] = []
        for _ in range(MAX_READS):
            followed = self._shown(tenant, state, after)
            if not state.ended or (followed and followed[-1].seq >= state.last_seq):
                break
        return followed

    def response(self, tenant: str, run_id: str) -> LettaResponse:
        """The whole reply of a run that has ended. Raises: the error that the run failed with, where it was the model's."""
        state = self.state(tenant, run_id)
        run = state.run
        if run.error is not None:
            raise failure(run)
        messages = [one.message for one in self._whole(tenant, state, 0) if one.message is not None]
        return LettaResponse(
            messages=messages,
            stop_reason=LettaStopReason(stop_reason=run.stop_reason or StopReason.ERROR),
            usage=statistics(run),
        )

    def _shown(self, tenant: str, state: RunState, after: int) -> list[Followed]:
        """As far as events and their messages are in sight: a transaction may show item by item."""
        run, log = state.run, state.run.conversation_id or state.run.agent_id
        events = self._stores.runs.events(tenant, run.id, after, self._clock.now())
        how = rendering(run.request_config, legacy=self._legacy(tenant, run))
        wanted = run.request_config.include_return_message_types if run.request_config else None
        ids = list(dict.fromkeys(event.message_id for _, event in events if isinstance(event, MessageEvent)))
        rendered = {row.id: render(row, how) for row in self._stores.conversations.messages(tenant, log, ids)}
        gone = len(rendered) < len(ids) and self._stores.conversations.head(tenant, log) is None
        followed: list[Followed] = []
        for seq, event in events:
            if state.ended and seq > state.last_seq:
                break
            message = None
            if isinstance(event, MessageEvent) and event.message_id not in rendered and not gone:
                break
            if isinstance(event, MessageEvent) and event.index < len(rendered.get(event.message_id, ())):
                message = rendered[event.message_id][event.index]
                if wanted is not None and message.message_type not in wanted:
                    message = None
                elif message.run_id is None:
                    message.run_id = run.id
            followed.append(Followed(seq, event, message))
        return followed

    def _legacy(self, tenant: str, run: StoredRun) -> bool:
        agent = self._stores.agents.get(tenant, run.agent_id)
        return spec_of(agent.agent_type if agent else AgentType.LETTA_V1).heartbeats


def failure(run: StoredRun) -> HibernautError:
    """The error that a run failed with, to be raised to whoever asked for it."""
    if run.error is None:
        return HibernautError("An unknown error occurred")
    return rebuilt(run.error.code, run.error.message)
