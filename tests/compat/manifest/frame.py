"""What surrounds every request: paths, callers, limits, error bodies (API 1 and 2.1)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done, out_of_reach

ROWS = (
    done(
        "health.check",
        "API 2.1",
        "Returns the version of Letta that this server replaces, and the status `ok`.",
        "GET /v1/health/",
    ),
    done("health.ready", "API 1.7", "Returns 200 if requests can be served.", "GET /v1/ready/"),
    diverging(
        "frame.slashes",
        "API 1.1",
        "A path is served with and without a final slash, without a redirect.",
        "V1 redirects the other form (307), which costs a round trip.",
    ),
    done("frame.latest", "API 1.1", "`/latest` is an alias of `/v1`; the description omits it."),
    diverging(
        "frame.root",
        "API 1.1",
        "GET / redirects to the console at /console/.",
        "V1 redirects to /docs, which the console links. V1's own web interface is a hosted service.",
    ),
    done("frame.docs", "API 1.1", "/docs and /openapi.json describe the API; the page loads nothing from the network."),
    done("frame.not_found", "API 1.1", 'An unknown route is 404 `{"detail":"Not Found"}`.'),
    done("frame.method", "API 1.1", 'A wrong method is 405 `{"detail":"Method Not Allowed"}`.'),
    diverging(
        "frame.cors",
        "API 1.1",
        "Configured origins may call with credentials, any method and any header; a page of another origin is refused (403).",
        "V1 also admits Letta's web app, and accepts changing requests from any page, although the API runs code.",
    ),
    diverging(
        "frame.hosts",
        "API 1.1",
        "A request for a host name that is not the server's is refused (403).",
        "V1 accepts every host name, and so requests by DNS rebinding.",
    ),
    done("frame.array_queries", "API 1.1", "Repeated keys of a query form a list."),
    done("frame.authorization", "API 1.2", "Without configured keys the server ignores the Authorization header."),
    done(
        "frame.keys",
        "API 1.2",
        'With configured keys a request without a usable one is 401 `{"detail":"Unauthorized"}`; health and readiness need no key.',
    ),
    done("frame.key_headers", "API 1.2", "A key is sent as `Authorization: Bearer`, or as `X-BARE-PASSWORD: password <key>`."),
    diverging(
        "frame.tenants",
        "RT 13",
        "The tenant comes from the API key; `user_id` names a user inside it.",
        "V1 selects the organization by the header `user_id`, which any caller may set.",
    ),
    done("frame.user_id", "API 1.2", "The header `user_id` must be well formed (else 400); an unknown user is the default one."),
    done("frame.malformed_id", "API 1.3", "A malformed id in the path is 422, with an example of a valid one."),
    done("frame.validation", "API 1.6", "An invalid request is 422 with `trace_id` and all errors in one text."),
    done("frame.unknown_keys", "API 1.7", "Unknown keys of a request to an agent are ignored."),
    done("frame.nulls", "API 1.7", "A reply has all its keys, also those that are null."),
    done(
        "frame.provider_errors",
        "API 1.6",
        'A provider\'s failure is `{"error": {"type", "message", "detail"}}` with its own status.',
    ),
    diverging(
        "frame.body_limit",
        "API 1.6",
        "A body over the limit (50 MB, on AWS 6 MB) is 413, and the text names the limit.",
        "V1 has no limit.",
    ),
    diverging(
        "frame.no_vain_retries",
        "API 8",
        "An error that a retry cannot change has `x-should-retry: false`, so that the SDK does not retry it.",
        "V1 sends no such header, and the SDK repeats every 409, 429 and 5xx twice.",
    ),
    out_of_reach(
        "frame.password",
        "API 1.2",
        "LETTA_SERVER_PASSWORD and the header X-BARE-PASSWORD guard a V1 server.",
        "Here an API key names the tenant; a password for all callers cannot.",
    ),
)
