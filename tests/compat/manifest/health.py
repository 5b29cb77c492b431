"""Health, readiness and the frame of every request (digest 1 and 2.1)."""

from __future__ import annotations

from tests.compat.manifest.form import done

ROWS = (
    done("health.check", "API 2.1", "Answers version and status `ok`.", "GET /v1/health/"),
    done("health.ready", "API 1.7", "GET /v1/ready/ answers 200 when the server can serve."),
)
