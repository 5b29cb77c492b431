"""The settings of what leaves the table after a time: idle agents, old messages and runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import NamedTuple

from hibernaut.schemas.immutable import immutable
from hibernaut.services.host import Retention
from hibernaut.wiring.configuration.variables import BadSetting, days_in


class RetentionNames(NamedTuple):
    """The names of the settings."""

    rest: str = "HIBERNAUT_REST_DAYS"
    days: str = "HIBERNAUT_RETENTION_DAYS"
    mode: str = "HIBERNAUT_RETENTION"


VARIABLES = RetentionNames()


@immutable
class RetentionSettings:
    """`rest_after`: the time after which an idle agent is put to rest. `messages`: what becomes of old messages and runs. None:
    nothing.
    """

    rest_after: timedelta | None = None
    messages: Retention | None = None

    def variables(self) -> dict[str, str]:
        """The variables that say so."""
        rest = {VARIABLES.rest: str(self.rest_after.days)} if self.rest_after else {}
        if self.messages is None:
            return rest
        return {**rest, VARIABLES.days: str(self.messages.after.days), VARIABLES.mode: self.messages.mode}


NOTHING_LEAVES = RetentionSettings()


def retention_in(variables: Mapping[str, str], names: RetentionNames = VARIABLES) -> RetentionSettings:
    """Raises: BadSetting."""
    rest, after = days_in(variables, names.rest, None), days_in(variables, names.days, None)
    match variables.get(names.mode) or "archive":
        case ("archive" | "delete") as mode:
            if after is None and variables.get(names.mode):
                raise BadSetting(f"{names.mode} needs {names.days}, the age in days")
            return RetentionSettings(rest, None if after is None else Retention(after, mode))
        case other:
            raise BadSetting(f"{names.mode} must be archive or delete, not {other!r}")
