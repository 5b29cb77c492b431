"""Errors restored from the records of runs."""

from __future__ import annotations

from hibernaut.schemas.errors import MODEL_CALL_ERRORS, HibernautError


def rebuilt(code: str, detail: str) -> HibernautError:
    """The error with this code and text, restored from the record of a run; an unknown code gives the root class."""
    pending = list(MODEL_CALL_ERRORS)
    while pending:
        kind = pending.pop()
        if kind.code == code:
            return kind(detail)
        pending += kind.__subclasses__()
    return HibernautError(detail)
