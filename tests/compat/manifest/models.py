"""The lists of models (digest 2.13)."""

from __future__ import annotations

from tests.compat.manifest.form import LATER, done, todo

ROWS = (
    done("models.list", "API 2.13", "The models of all configured providers, the default first.", "GET /v1/models/"),
    done("models.list.filters", "API 2.13", "By category, provider name and provider type."),
    done("models.embedding", "API 2.13", "The embedding models.", "GET /v1/models/embedding"),
    todo("models.providers", "API 3", "/v1/providers/* manages providers with keys of their own.", LATER),
)
