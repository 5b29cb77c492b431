"""Steps (digest 2.15 and 4.8)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done("steps.retrieve", "API 2.15", "One step: its model, tokens, stop reason and status.", "GET /v1/steps/{step_id}"),
    done("steps.retrieve.missing", "API 2.15", "An unknown step is 404, a malformed id 422."),
    done("steps.list", "API 2.15", "Steps of all runs, the newest first; cursors follow the order.", "GET /v1/steps/"),
    done("steps.list.filters", "API 2.15", "By agent, model, dates, feedback, tags and trace ids."),
    diverging(
        "steps.list.bounded",
        "API 2.15",
        "One request looks at 10,000 steps; where the list goes on behind them, the header `x-hibernaut-next` holds the cursor.",
        "V1 looks through all steps in one request.",
    ),
    diverging(
        "steps.cost",
        "API 4.7",
        "A step, a run's usage and the usage of a reply tell their `cost` in USD (null: unknown) and the `price_list_date`.",
        "V1 tells tokens only; its clients pass over the additional members.",
    ),
    diverging(
        "usage.report",
        "API 2.15",
        "GET /v1/usage adds tokens and costs of steps up, by day, agent and model; one request reads the newest 10,000 steps, `next` goes on.",
        "V1 has no such route.",
    ),
    done("steps.metrics", "API 2.15", "Its times in nanoseconds.", "GET /v1/steps/{step_id}/metrics"),
    done(
        "steps.trace",
        "API 2.15, 4.8",
        "What a step sent to its provider and received (the provider's error too), with the agent, its tags and the run; kept for a day, null if off.",
        "GET /v1/steps/{step_id}/trace",
    ),
    done("steps.telemetry", "API 3", "Answers as the step's trace does.", "GET /v1/telemetry/{step_id}"),
    done(
        "steps.trace_id",
        "RT 13.2",
        "A step names the trace of its run, which its spans bear and `trace_ids` filters by.",
    ),
    done(
        "steps.feedback", "API 2.15", "Praise, blame, or null to take it back, with tags.", "PATCH /v1/steps/{step_id}/feedback"
    ),
    done("steps.bad_input", "API 1.6", "Feedback that is neither, dates that are none, and foreign cursors are refused."),
    diverging(
        "steps.messages",
        "API 2.15",
        "What the step added to the log; text of letta_v1 agents is an assistant_message.",
        "V1 shows that text as a reasoning_message here, unlike in its lists.",
        "GET /v1/steps/{step_id}/messages",
    ),
)
