"""How routes that are not served answer, and routes that have no counterpart here (API 2.2-2.17)."""

from __future__ import annotations

from tests.compat.manifest.form import done, out_of_reach

CLOUD = "They connect devices to Letta's cloud and have no counterpart here; the answer is 404, as from an open-source V1 server."

ROWS = (
    done(
        "routes.unserved",
        "API 3",
        "A route of V1 that is not served is 501 with its name (`route`) and the code `route_not_served`.",
    ),
    out_of_reach(
        "metadata.balance",
        "API 3",
        "`GET /v1/metadata/balance`: the credits and the billing tier of an account, which Letta Code asks for.",
        "It is a route of Letta's cloud. The answer is 404, as from an open-source V1 server, and Letta Code goes on without a tier.",
    ),
    out_of_reach("environments.list", "API 2.17", "The connected devices.", CLOUD, "GET /v1/environments"),
    out_of_reach("environments.retrieve", "API 2.17", "Returns a folder.", CLOUD, "GET /v1/environments/{device_id}"),
    out_of_reach(
        "environments.messages", "API 2.17", "Messages to one.", CLOUD, "POST /v1/environments/{connection_id}/messages"
    ),
)
