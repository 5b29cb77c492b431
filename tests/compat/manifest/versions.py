"""Versions of memory. All of it is ours."""

from __future__ import annotations

from tests.compat.manifest.form import diverging

V1 = "V1 keeps no versions that a client can read."
ROWS = (
    diverging(
        "versions.passages",
        "API 2.11",
        "/v1/archives/{id}/passages/{id}/versions shows a passage after its deletion too; POST …/rollback brings it back.",
        V1,
    ),
    diverging(
        "versions.blocks",
        "API 2.10",
        "/v1/blocks/{id}/versions lists who changed a block, when and how; one version, the version at a time, and differences are read below it. GET /v1/audit checks all chains of versions, page by page, for keys of the scope admin.",
        V1,
    ),
    diverging(
        "versions.rollback",
        "API 2.10",
        "POST /v1/blocks/{id}/rollback brings back the values of a version as a new version; 409 with the current version if it is not the named one.",
        V1,
    ),
    diverging(
        "versions.edit",
        "API 2.10",
        "PATCH of a block takes `current_version`: 409 with the current version if the block has another one.",
        "V1 keeps no versions, and writes over what changed meanwhile.",
    ),
    diverging(
        "versions.runs",
        "API 2.15",
        "/v1/runs/{id}/versions lists what a run changed in blocks and in its agent's settings, with the differences, and the passages that it inserted.",
        V1,
    ),
)
