"""The errors of erasures, as parts of the tree in `schemas/errors.py`."""

from hibernaut.schemas.errors import Conflict


class ErasureRunning(Conflict):
    """A person is being erased whose agent the request concerns, or who sends it. `erasure_id` names the erasure."""

    code = "erasure_running"

    def __init__(self, detail: str, erasure_id: str) -> None:
        self.erasure_id = erasure_id
        super().__init__(detail)
