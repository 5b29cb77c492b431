"""The errors of a run that does not exist, and of one that was accepted and cannot be read."""

from hibernaut.schemas.errors import NotFound, Unavailable


def no_run(run_id: str) -> NotFound:
    """The error for a run that does not exist."""
    return NotFound(f"Run with id {run_id} not found.")


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
