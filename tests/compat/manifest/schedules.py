"""Schedules of agents. The last rows are ours."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done(
        "schedule.create",
        "API 2.4",
        "A one-time and a recurring message are scheduled; the answer has the id and the next time.",
        "POST /v1/agents/{agent_id}/schedule",
    ),
    done(
        "schedule.retrieve",
        "API 2.4",
        "A schedule is shown with its message, its time and its next time.",
        "GET /v1/agents/{agent_id}/schedule/{scheduled_message_id}",
    ),
    done(
        "schedule.list",
        "API 2.4",
        "The schedules of an agent in pages, oldest first, by `after` and `limit` as texts.",
        "GET /v1/agents/{agent_id}/schedule",
    ),
    done(
        "schedule.delete",
        "API 2.4",
        "A schedule is deleted; the answer says so.",
        "DELETE /v1/agents/{agent_id}/schedule/{scheduled_message_id}",
    ),
    diverging(
        "schedule.refusal",
        "API 2.4",
        "A time in the past, a cron expression that never comes or counts seconds, and an unknown time zone answer 422.",
        "V1 runs schedules in its cloud alone, and does not say what it refuses.",
    ),
    diverging(
        "schedule.administration",
        "API 2.4",
        "A schedule is changed, paused, resumed and run now; /v1/schedules lists those of all agents; each shows its last ten outcomes.",
        "V1 can only create and delete schedules.",
    ),
    diverging(
        "schedule.extensions",
        "API 2.4",
        "A recurring schedule may name a time zone, a rate takes the place of a cron expression, and a schedule may compact its agent's conversation.",
        "V1's recurring schedules are in UTC, and send messages only.",
    ),
)
