"""What fires schedules on AWS: EventBridge Scheduler at their times, and the function `fire_schedule`."""

from __future__ import annotations

from hibernaut.ports.runs.schedules import NO_SCHEDULE_WORKERS, NO_SCHEDULER, Scheduler, ScheduleWorkers
from hibernaut.wiring.configuration.schedule_settings import ScheduleSettings


def workers_of(settings: ScheduleSettings) -> ScheduleWorkers:
    """What the sweep hands due schedules to."""
    if not settings.function:
        return NO_SCHEDULE_WORKERS
    from hibernaut.adapters.schedules.lambda_function import LambdaScheduleWorkers

    return LambdaScheduleWorkers(settings.function)


def scheduler_of(settings: ScheduleSettings) -> Scheduler:
    """The scheduler outside the functions; a function without its group has none."""
    if not settings.group or not settings.function:
        return NO_SCHEDULER
    from hibernaut.adapters.schedules.event_bridge import EventBridgeScheduler

    return EventBridgeScheduler(settings.group, settings.function, settings.role, most=settings.most)
