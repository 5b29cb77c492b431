"""The settings of schedules on AWS."""

from __future__ import annotations

from collections.abc import Mapping

from hibernaut.schemas.immutable import immutable
from hibernaut.wiring.configuration.variables import BadSetting

MOST_ALARMS = 10_000
"""The number of schedules of a tenant that EventBridge fires, where nothing is set: as many as a tenant may have."""
LARGEST = 1_000_000


@immutable
class ScheduleSettings:
    """`function`: the ARN of `fire_schedule` (empty: the sweep fires what is due itself). `group` and `role`: the schedule group,
    and the ARN of the role by which EventBridge invokes that function (empty: EventBridge fires nothing). `most`: the number of
    alarms of a tenant.
    """

    function: str = ""
    group: str = ""
    role: str = ""
    most: int = MOST_ALARMS


NO_SCHEDULES = ScheduleSettings()


def schedules_in(variables: Mapping[str, str]) -> ScheduleSettings:
    """The settings among the variables of a function. Raises: BadSetting."""
    return ScheduleSettings(
        variables.get("HIBERNAUT_FIRE_SCHEDULE", ""),
        variables.get("HIBERNAUT_SCHEDULE_GROUP", ""),
        variables.get("HIBERNAUT_SCHEDULE_ROLE", ""),
        most_alarms_in(variables),
    )


def most_alarms_in(variables: Mapping[str, str]) -> int:
    """The number of alarms of a tenant, 0 for none. Raises: BadSetting."""
    text = variables.get("HIBERNAUT_MOST_ALARMS") or str(MOST_ALARMS)
    if not text.isascii() or not text.isdecimal() or int(text) > LARGEST:
        raise BadSetting(f"HIBERNAUT_MOST_ALARMS must be a whole number from 0 to {LARGEST}, not {text!r}")
    return int(text)
