"""Steps (API 2.15 and 4.8)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done("steps.retrieve", "API 2.15", "Returns a step: its model, tokens, stop reason and status.", "GET /v1/steps/{step_id}"),
    done("steps.retrieve.missing", "API 2.15", "An unknown step is 404, a malformed id 422."),
    done("steps.list", "API 2.15", "Lists the steps of all runs, newest first; cursors follow the order.", "GET /v1/steps/"),
    done("steps.list.filters", "API 2.15", "Filters: agent, model, dates, feedback, tags and trace ids."),
    diverging(
        "steps.list.bounded",
        "API 2.15",
        "One request reads 10,000 steps; if the list continues, the header `x-hibernaut-next` has the cursor.",
        "V1 reads all steps in one request.",
    ),
    diverging(
        "steps.cost",
        "API 4.7",
        "A step, a run's usage and a reply's usage have `cost` in USD (null: unknown) and `price_list_date`; on AWS also `aws_cost`.",
        "V1 reports tokens only; its clients ignore the additional fields.",
    ),
    diverging(
        "usage.report",
        "API 2.15",
        "GET /v1/usage sums tokens and costs of steps by day, agent, API key and model; one request reads the newest 10,000 "
        "steps, `next` goes on.",
        "V1 has no such route.",
    ),
    diverging(
        "steps.call_times",
        "API 2.15",
        "The metrics of a step have `call_times`: how long each call of a tool took, in nanoseconds, where that is known.",
        "V1 keeps the time of all calls of a step; its clients ignore the additional field.",
    ),
    done("steps.metrics", "API 2.15", "Returns its times in nanoseconds.", "GET /v1/steps/{step_id}/metrics"),
    done(
        "steps.trace",
        "API 2.15, 4.8",
        "What a step sent to its provider and received (the provider's error too), with the agent, its tags and the "
        "run; kept for a day, null if off.",
        "GET /v1/steps/{step_id}/trace",
    ),
    done("steps.telemetry", "API 3", "Returns the step's trace.", "GET /v1/telemetry/{step_id}"),
    done(
        "steps.trace_id",
        "RT 13.2",
        "A step has the trace id of its run; spans have it too, and `trace_ids` filters by it.",
    ),
    done(
        "steps.feedback",
        "API 2.15",
        "Sets positive or negative feedback with tags, or null to remove it.",
        "PATCH /v1/steps/{step_id}/feedback",
    ),
    done("steps.bad_input", "API 1.6", "Invalid feedback, dates and cursors are refused."),
    diverging(
        "steps.messages",
        "API 2.15",
        "Lists the messages that the step added; text of letta_v1 agents is an assistant_message.",
        "V1 returns that text as a reasoning_message here, unlike in its lists.",
        "GET /v1/steps/{step_id}/messages",
    ),
)
