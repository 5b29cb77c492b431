"""Batches of messages (API 3; RT 13.6)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    diverging(
        "batches.create",
        "RT 13.6",
        "Sends requests to many agents; each is an ordinary run in the background, with any model. The reply is a job of the type `batch`.",
        "V1 sends them through Anthropic's batch API, and needs a model of Anthropic.",
        "POST /v1/messages/batches",
    ),
    diverging("batches.limit", "RT 13.6", "A batch has 1 to 100 requests.", "V1 limits the body to 256 MB."),
    diverging(
        "batches.list",
        "RT 13.6",
        "Lists batches, newest first, also those that have ended. A status may be a minute old.",
        "V1 lists those that have not ended.",
        "GET /v1/messages/batches",
    ),
    done("batches.retrieve", "RT 13.6", "Returns a batch with its status and its runs.", "GET /v1/messages/batches/{batch_id}"),
    done(
        "batches.messages",
        "RT 13.6",
        "Lists the rows that its runs have written, newest first, also by agent.",
        "GET /v1/messages/batches/{batch_id}/messages",
    ),
    done(
        "batches.cancel",
        "RT 13.6",
        "Cancels its runs that have not ended; null.",
        "PATCH /v1/messages/batches/{batch_id}/cancel",
    ),
)
