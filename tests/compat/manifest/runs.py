"""Runs (API 2.15 and 4.8)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done("runs.retrieve", "API 2.15", "Returns a run with its status and stop reason.", "GET /v1/runs/{run_id}"),
    done("runs.retrieve.bad_id", "API 1.3", "A malformed run id is 400, with an example of a valid one."),
    done("runs.retrieve.missing", "API 2.15", "An unknown run is 404."),
    done("runs.fields", "API 4.8", "A run has the options of its request: `request_config`, `metadata.run_type`, `background`."),
    done("runs.first_token", "API 4.8", "`ttft_ns` is the time to the first token of a token stream; otherwise null."),
    done("runs.list", "API 2.15", "Lists runs, newest first.", "GET /v1/runs/"),
    done("runs.list.filters", "API 2.15", "Filters: agent, statuses, stop reason, background, conversation, and activity."),
    diverging(
        "runs.list.bounded",
        "API 2.15",
        "One request reads 10,000 runs; if the list continues, the header `x-hibernaut-next` has the cursor.",
        "V1 reads all runs in one request.",
    ),
    done("runs.list.limit", "API 1.5", "`limit` is from 1 to 1000 (else 422)."),
    diverging(
        "runs.list.cursors",
        "API 1.5",
        "`after` follows the requested order, so that the SDK's paging returns every run once.",
        "V1 reverses the cursors, so that paging repeats and misses runs.",
    ),
    done("runs.messages.types", "API 5.5", "A run's messages have the types that its request selected."),
    diverging(
        "runs.messages",
        "API 2.15",
        "Lists the messages of the run, its input included, oldest first, with `order=desc` newest first; text of letta_v1 "
        "agents is an assistant_message.",
        "V1 returns that text as a reasoning_message here, unlike in its lists.",
        "GET /v1/runs/{run_id}/messages",
    ),
    diverging(
        "runs.error",
        "RT 13.1",
        "A failed run has its error in `metadata.error`, with the type, the message and the detail that its stream ends with; "
        "so have jobs and callbacks.",
        "V1 has this object for streams; for blocking and asynchronous requests it has a text.",
    ),
    done("runs.steps", "API 2.15", "Lists the steps of a run, newest first.", "GET /v1/runs/{run_id}/steps"),
    done("runs.usage", "API 2.15", "Returns the tokens of all its steps.", "GET /v1/runs/{run_id}/usage"),
    diverging(
        "runs.trace",
        "API 2.15",
        "Spans of the run, its steps, model calls and tools, derived from the run and its steps, without prompts and replies.",
        "V1 reads spans from ClickHouse, and answers 501 without it.",
        "GET /v1/runs/{run_id}/trace",
    ),
    done(
        "runs.metrics",
        "API 3",
        "Returns the run's times, number of steps and tools.",
        "GET /v1/runs/{run_id}/metrics",
    ),
    diverging(
        "runs.deaths",
        "API 3",
        "The metrics of a run have `attempts`, `sweeps` and `take_ups` (after the death of a worker); a step has `failed_calls` of its model.",
        "V1 keeps none of this; its clients ignore the additional fields.",
    ),
    done("runs.active", "API 3", "Lists open runs.", "GET /v1/runs/active"),
    done(
        "runs.stream",
        "API 6.5",
        "Resumes the stream of a run after any sequence number, with the same events as an uninterrupted stream, and "
        "continues it.",
        "POST /v1/runs/{path_run_id}/stream",
    ),
    diverging(
        "runs.stream.every",
        "API 6.5",
        "The stream of every run can be resumed, with the same sequence numbers, for 24 hours after its end, until its first event is 48 "
        "hours old (then 410).",
        "V1 resumes only runs in the background (else 400), with Redis (else 503), for 3 hours and 10,000 events.",
    ),
    done("runs.stream.refused", "API 6.5", "An unknown run is 404; a malformed run id or a number beyond the stream is 400."),
    diverging(
        "runs.delete",
        "API 3",
        "Deletes a run with its steps and events and returns null; a second time is 404. Its messages remain in the log.",
        "The route is broken in V1 (500).",
        "DELETE /v1/runs/{run_id}",
    ),
    done("runs.delete.open", "API 3", "An open run, a queued run and a run with a pending approval cannot be deleted: 409."),
    done("runs.bad_input", "API 1.6", "Unknown values of filters and orders, and cursors of other runs, are refused."),
)
