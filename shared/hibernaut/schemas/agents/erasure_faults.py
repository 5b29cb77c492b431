"""The errors of erasures, as parts of the tree in `schemas/errors.py`."""

from hibernaut.schemas.errors import Conflict


class ErasureRunning(Conflict):
    """The request comes from a person who is being erased, or concerns an agent of this person. `erasure_id` names the
    erasure.
    """

    code = "erasure_running"

    def __init__(self, detail: str, erasure_id: str) -> None:
        self.erasure_id = erasure_id
        super().__init__(detail)
