"""The events of a run, followed across lost connections and restarts of the server.

A request carries an otid, so that a repeated request attaches to the run of the first. Every event of a background stream has a
number, after which another stream continues. Nothing is sent twice, and nothing is shown twice.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from hibernaut.local.remote.agent_server import AgentServer, ServerRefused, Unreachable
from hibernaut.schemas.base import JsonObject

PATIENCE = 120.0
"""Seconds of retries after the server became unreachable."""
PAUSE = 0.25
"""Seconds before the first repetition. Each further pause is twice as long, up to `LONGEST_PAUSE`."""
LONGEST_PAUSE = 4.0
BUSY = frozenset({429, 502, 503, 504})
"""Replies of a server that is starting, or busy."""


@dataclass(slots=True)
class RunStream:
    """Follows the runs of one agent. `lost` is called when the connection is lost, and returns the next server (possibly another
    address of the same data). `run_id` is the newest run.
    """

    server: AgentServer
    lost: Callable[[Unreachable | ServerRefused], AgentServer]
    pause: Callable[[float], None] = time.sleep
    run_id: str = ""
    _last_seq: int = field(default=0, init=False)

    def sent(self, agent_id: str, message: JsonObject) -> Iterator[JsonObject]:
        """The events of the run that answers a message. Raises: CannotServe."""
        self.run_id, self._last_seq = "", 0
        body = {"messages": [{**message, "otid": str(uuid.uuid4())}], "stream_tokens": True, "background": True}
        yield from self._followed(f"/v1/agents/{agent_id}/messages/stream", body)

    def continued(self) -> Iterator[JsonObject]:
        """The events of the newest run after the last received event. Raises: CannotServe."""
        yield from self._followed(self._place, {"starting_after": self._last_seq})

    def resumed(self, run_id: str) -> Iterator[JsonObject]:
        """All events of a run, from its beginning to its end. Raises: CannotServe."""
        self.run_id, self._last_seq = run_id, 0
        yield from self._followed(self._place, {"starting_after": 0})

    @property
    def _place(self) -> str:
        return f"/v1/runs/{self.run_id}/stream"

    def _followed(self, path: str, body: JsonObject) -> Iterator[JsonObject]:
        waited, pause = 0.0, PAUSE
        while True:
            try:
                for event in self.server.events(path, body):
                    waited, pause = 0.0, PAUSE
                    self.run_id = self.run_id or str(event.get("run_id") or "")
                    self._last_seq = max(self._last_seq, int(event.get("seq_id") or 0))
                    yield event
            except (Unreachable, ServerRefused) as problem:
                if waited >= PATIENCE or (isinstance(problem, ServerRefused) and problem.status not in BUSY):
                    raise
                self.server = self.lost(problem)
            else:
                return
            self.pause(pause)
            waited, pause = waited + pause, min(2 * pause, LONGEST_PAUSE)
            if self.run_id:
                path, body = self._place, {"starting_after": self._last_seq}
