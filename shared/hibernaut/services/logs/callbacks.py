"""Callbacks at the end of runs (Letta V1 API, API 2.3; RT 13.5): one attempt, whose outcome is stored on the run.

A run with an outstanding callback stays in the index of due items, from the transaction that ends it to the one that stores the
outcome. If a worker dies in between, the sweep makes the call. The receiver gets a second call only if the worker dies between
the call and the storing of its outcome.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta

from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.ports.tools.web import WebFailure
from hibernaut.schemas.base import JsonObject, wire_time
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.services.host import Host
from hibernaut.store.runs.runs import RunState, unchanged
from hibernaut.store.stores import TenantStores

SECONDS = 5.0
"""The time limit of a callback in seconds."""
AGAIN_MS = 60_000
"""The time in milliseconds after which a callback without a stored outcome is due again."""
GIVEN_UP = timedelta(hours=1)
"""The time after a run's end from which its callback is no longer attempted."""
logger = logging.getLogger(__name__)


class Callbacks:
    """Calls a run's `callback_url` once after its end."""

    def __init__(self, stores: TenantStores, host: Host) -> None:
        self._runs = stores.runs
        self._writer = stores.writer
        self._stores = stores
        self._host = host
        self._clock = host.clock
        self._ids = host.ids
        self._web = host.web

    def send(self, run_id: str) -> bool:
        """Make the run's callback if the run has ended, has a `callback_url`, and no other worker writes to it at the same time.
        Returns whether this call stored an outcome. More than an hour after the run's end, the outcome is an error without a
        call.
        """
        state = self._runs.get(run_id)
        if state is None or not waits(state):
            return False
        now = self._clock.now()
        claimed = replace(state, token=self._ids.token())
        if not self._write_if_unchanged(state, claimed, int(now.timestamp() * 1000) + AGAIN_MS):
            return False
        run = state.run.model_copy(update={"callback_sent_at": now})
        if state.run.completed_at is not None and now - state.run.completed_at > GIVEN_UP:
            run.callback_error = "The server could not call within an hour of the run's end."
        else:
            self._call(run)
        return self._write_if_unchanged(claimed, replace(claimed, run=run, token=self._ids.token()), None)

    def _call(self, run: StoredRun) -> None:
        try:
            run.callback_status_code = self._web.post(run.callback_url or "", self._body(run), seconds=SECONDS)
        except WebFailure as failure:
            run.callback_error = str(failure)
        logger.info("callback sent", extra={"run_id": run.id, "status": run.callback_status_code, "error": run.callback_error})

    def _body(self, run: StoredRun) -> JsonObject:
        # At the first callback: every step has this object, and few runs have a callback.
        from hibernaut.domain.wire.run_failures import shown_metadata
        from hibernaut.services.logs.messages import MessageLists, MessageQuery
        from hibernaut.services.logs.run_follower import RunFollower

        stores = self._stores
        lists = MessageLists(
            agents=stores.agents, conversations=stores.conversations, agent_logs=stores.agent_logs, log=stores.messages
        )
        outcome = RunFollower(stores, self._host).outcome(run.id)
        result = outcome.model_dump(mode="json", include={"stop_reason", "usage"})
        messages = lists.of_run(run, MessageQuery(limit=None, descending=False))
        result["messages"] = [message.model_dump(mode="json") for message in messages]
        return {
            "run_id": run.id,
            "status": run.status.value,
            "completed_at": wire_time(run.completed_at) if run.completed_at else None,
            "metadata": {**(shown_metadata(run) or {}), "result": result},
        }

    def _write_if_unchanged(self, before: RunState, after: RunState, due_ms: int | None) -> bool:
        """Write the run unless it has changed since `before`. Returns whether it was written."""
        try:
            self._writer.write(self._runs.change(after, unchanged(before), due_ms), token=after.token)
        except ConditionFailed:
            return False
        return True


def waits(state: RunState) -> bool:
    """Whether the run has ended and its callback is outstanding."""
    return state.ended and state.run.callback_url is not None and state.run.callback_sent_at is None
