"""The setting with the budget of tenants for which none is set: `tokens_per_day=1000000,cost_per_month=50`."""

from __future__ import annotations

from pydantic import ValidationError

from hibernaut.schemas.access.budget import SetBudget


def tenant_budget_of(text: str) -> SetBudget | None:
    """The budget that the text describes; None for an empty text. Raises: ValueError that says what is wrong with it."""
    if not text.strip():
        return None
    fields: dict[str, object] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or name in fields:
            raise ValueError(f"{part.strip()!r} is not a limit like tokens_per_day=1000000, or occurs twice")
        fields[name] = int(value) if value.isdecimal() else value
    try:
        return SetBudget.model_validate(fields)
    except ValidationError as error:
        found = error.errors()[0]
        where = ".".join(map(str, found["loc"])) or text
        raise ValueError(f"{where}: {found['msg']}") from error
