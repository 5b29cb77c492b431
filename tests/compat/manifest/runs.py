"""Runs (digest 2.15 and 4.8)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done("runs.retrieve", "API 2.15", "One run, with its status and stop reason.", "GET /v1/runs/{run_id}"),
    done("runs.retrieve.bad_id", "API 1.3", "What is no run id is 400, and says what one looks like."),
    done("runs.retrieve.missing", "API 2.15", "An unknown run is 404."),
    done("runs.fields", "API 4.8", "A run remembers how it was asked for: `request_config`, `metadata.run_type`, `background`."),
    done("runs.first_token", "API 4.8", "`ttft_ns` is when the first words of a token stream were there; null without one."),
    done("runs.list", "API 2.15", "Runs, the newest first.", "GET /v1/runs/"),
    done("runs.list.filters", "API 2.15", "By agent, statuses, stop reason, background, conversation, and activity."),
    diverging(
        "runs.list.bounded",
        "API 2.15",
        "One request looks at 10,000 runs; where the list goes on behind them, the header `x-hibernaut-next` holds the cursor.",
        "V1 looks through all runs in one request.",
    ),
    done("runs.list.limit", "API 1.5", "`limit` is from 1 to 1000 (else 422)."),
    diverging(
        "runs.list.cursors",
        "API 1.5",
        "`after` is further along in the order asked for, so that the SDK's paging shows every run once.",
        "V1 turns the cursors round, and paging through it repeats and misses runs.",
    ),
    done("runs.messages.types", "API 5.5", "A run's messages are of the types that its request wanted."),
    diverging(
        "runs.messages",
        "API 2.15",
        "What was said in the run, its input included, oldest first; text of letta_v1 agents is an assistant_message.",
        "V1 shows that text as a reasoning_message here, unlike in its lists.",
        "GET /v1/runs/{run_id}/messages",
    ),
    done("runs.steps", "API 2.15", "The steps of a run, the newest first.", "GET /v1/runs/{run_id}/steps"),
    done("runs.usage", "API 2.15", "The tokens of all its steps.", "GET /v1/runs/{run_id}/usage"),
    diverging(
        "runs.trace",
        "API 2.15",
        "Spans of the run, its steps, model calls and tools, made from what the run and its steps know; no prompt and no reply.",
        "V1 reads spans from ClickHouse, and answers 501 without it.",
        "GET /v1/runs/{run_id}/trace",
    ),
    done(
        "runs.metrics",
        "API 3",
        "GET /v1/runs/{id}/metrics tells its times, its number of steps and its tools.",
        "GET /v1/runs/{run_id}/metrics",
    ),
    done("runs.active", "API 3", "GET /v1/runs/active lists the runs that have not ended.", "GET /v1/runs/active"),
    done(
        "runs.stream",
        "API 6.5",
        "Resumes the events of a run after any number: exactly what an uninterrupted client got from there, then what still comes.",
        "POST /v1/runs/{path_run_id}/stream",
    ),
    diverging(
        "runs.stream.every",
        "API 6.5",
        "Every run can be resumed, with the numbers of the background, for 24 hours after its end (then 410).",
        "V1 resumes only runs in the background (else 400), with Redis (else 503), for 3 hours and 10,000 events.",
    ),
    done("runs.stream.refused", "API 6.5", "An unknown run is 404; what is no run id, or a number beyond the stream, is 400."),
    diverging(
        "runs.delete",
        "API 3",
        "DELETE /v1/runs/{id} takes away a run with its steps and events: null, then 404. Its messages stay in the log.",
        "The route is broken in V1 (500).",
        "DELETE /v1/runs/{run_id}",
    ),
    done("runs.delete.open", "API 3", "A run that goes on, waits, or waits for an approval cannot be deleted: 409."),
    done("runs.bad_input", "API 1.6", "Unknown values of filters and orders, and cursors of other runs, are refused."),
)
