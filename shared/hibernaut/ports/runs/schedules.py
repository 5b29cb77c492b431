"""Firing of schedules at their times: workers of this deployment, and an external scheduler. The table is authoritative; both
only shorten the wait.

A lost, late, early or repeated invocation does no harm: the worker reads the schedule first, and advances it by a conditional
write.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hibernaut.ports.storage.table import Key
from hibernaut.schemas.immutable import immutable


class ScheduleWorkers(Protocol):
    """Starts the workers that fire due schedules."""

    def start(self, places: Sequence[Key]) -> None:
        """Have the schedules at these places fired if they are due, and return at once. Idempotent."""


class NoScheduleWorkers:
    """The workers of a deployment that fires no schedules: they do nothing."""

    def start(self, places: Sequence[Key]) -> None:  # noqa: ARG002 - the port names it
        return None


@immutable
class Alarm:
    """When a scheduler outside is to invoke the workers for a schedule. Exactly one of the three is set.

    `at_ms`: once, milliseconds since 1970. `cron` and `timezone`: a cron expression of five fields, with the zone's IANA name.
    `every_minutes`: a rate, counted from `from_ms`.
    """

    schedule_id: str
    at_ms: int | None = None
    cron: str | None = None
    timezone: str = "UTC"
    every_minutes: int | None = None
    from_ms: int = 0


@immutable
class AlarmPage:
    """Some of the alarms that a scheduler holds: the tenant and the schedule of each. `after`: where the next page begins; None:
    there is none.
    """

    schedules: Sequence[tuple[str, str]]
    after: str | None = None


class Scheduler(Protocol):
    """A scheduler outside the process, which holds alarms of all tenants."""

    @property
    def most(self) -> int:
        """The largest number of alarms of a tenant; 0: this deployment has no such scheduler."""

    def takes(self, alarm: Alarm) -> bool:
        """Whether it can express the alarm."""

    def put(self, tenant: str, alarm: Alarm) -> bool:
        """Set the alarm of a schedule, in place of an earlier one. False: it is not set; the sweep fires the schedule."""

    def delete(self, tenant: str, schedule_id: str) -> None:
        """Remove the alarm of a schedule, if there is one. A failure is logged, not raised: an orphaned alarm does no harm."""

    def list(self, after: str | None = None) -> AlarmPage:
        """A page of the alarms that are set. Raises: Unavailable."""


class NoScheduler:
    """The scheduler of a deployment that has none outside its process."""

    most = 0

    def takes(self, alarm: Alarm) -> bool:  # noqa: ARG002 - the port names it
        return False

    def put(self, tenant: str, alarm: Alarm) -> bool:  # noqa: ARG002 - the port names them
        return False

    def delete(self, tenant: str, schedule_id: str) -> None:  # noqa: ARG002 - the port names them
        return None

    def list(self, after: str | None = None) -> AlarmPage:  # noqa: ARG002 - the port names it
        return AlarmPage(())


NO_SCHEDULE_WORKERS = NoScheduleWorkers()
NO_SCHEDULER = NoScheduler()
