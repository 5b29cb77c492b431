"""Events and webhooks: who hears what of a tenant. All of it is ours."""

from __future__ import annotations

from tests.compat.manifest.form import diverging

V1 = "V1 has no webhooks."
ROWS = (
    diverging(
        "webhooks.administration",
        "API 2",
        "/v1/webhooks adds, lists, shows, changes, tests and deletes webhooks; an administrator's key is needed, and none on a server without keys.",
        V1,
    ),
    diverging(
        "webhooks.delivery",
        "API 2",
        "The end of a run reaches a webhook as a signed request, and its delivery is listed and can be replayed.",
        V1,
    ),
    diverging("webhooks.refusal", "API 1.6", "A webhook that could not work is refused, and the answer names what is wrong.", V1),
)
