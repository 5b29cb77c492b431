"""The error of a run that was accepted and cannot be read."""

from hibernaut.schemas.errors import Unavailable


class RunUnreadable(Unavailable):
    """The message was accepted, and the store does not show its run. `run_id`: the run, which goes on. Unlike the other errors
    with this status it must not lead to a repeated request: that would send the message a second time.
    """

    code = "run_unreadable"

    def __init__(self, run_id: str, retry_after: float) -> None:
        self.run_id = run_id
        super().__init__(
            f"The message was accepted, and its run {run_id} goes on, but the store is busy or out of reach. Do not send the message again: "
            f"GET /v1/runs/{run_id} shows the run, and POST /v1/runs/{run_id}/stream follows it.",
            retry_after,
        )
