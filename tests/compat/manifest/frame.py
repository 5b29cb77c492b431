"""What surrounds every request: paths, callers, limits, error bodies (digest 1 and 2.1)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done, out_of_reach

ROWS = (
    done("health.check", "API 2.1", "Answers the version of Letta that is stood in for, and the status `ok`.", "GET /v1/health/"),
    done("health.ready", "API 1.7", "GET /v1/ready/ answers 200 when requests can be served.", "GET /v1/ready/"),
    diverging(
        "frame.slashes",
        "API 1.1",
        "A path answers with and without a slash at its end, at once.",
        "V1 answers the other form with a redirect (307), which costs a round trip.",
    ),
    done("frame.latest", "API 1.1", "`/latest` is `/v1`, and stands in no description."),
    done("frame.root", "API 1.1", "GET / leads to /docs."),
    done("frame.docs", "API 1.1", "/docs and /openapi.json describe the API; here without loading anything from a network."),
    done("frame.not_found", "API 1.1", 'An unknown route is 404 `{"detail":"Not Found"}`.'),
    done("frame.method", "API 1.1", 'A wrong method is 405 `{"detail":"Method Not Allowed"}`.'),
    diverging(
        "frame.cors",
        "API 1.1",
        "Configured origins may call with credentials, any method and any header; a page of any other origin is refused (403).",
        "V1 also admits Letta's web app and takes requests that change something from any page; the API runs code.",
    ),
    diverging(
        "frame.hosts",
        "API 1.1",
        "A request that names a host which is not the server's is refused (403).",
        "V1 answers to every name, and so to pages that re-point their own (DNS rebinding).",
    ),
    done("frame.array_queries", "API 1.1", "Repeated keys of a query are one list."),
    done("frame.authorization", "API 1.2", "Without configured keys any Authorization is accepted, and none is needed."),
    done(
        "frame.keys",
        "API 1.2",
        'With configured keys a request without a usable one is 401 `{"detail":"Unauthorized"}`; health and readiness answer without.',
    ),
    done("frame.key_headers", "API 1.2", "A key comes as `Authorization: Bearer`, or as `X-BARE-PASSWORD: password <key>`."),
    diverging(
        "frame.tenants",
        "RT 13",
        "The tenant comes from the API key; `user_id` names a user inside it.",
        "V1 selects the organization by the header `user_id`, which any caller may set.",
    ),
    done("frame.user_id", "API 1.2", "The header `user_id` must be well formed (else 400); an unknown user is the default one."),
    done(
        "frame.malformed_id", "API 1.3", "A malformed id in the path is 422 before any look-up, with an example of a right one."
    ),
    done("frame.validation", "API 1.6", "A request that does not fit is 422 with `trace_id` and the list of errors as one text."),
    done("frame.unknown_keys", "API 1.7", "Unknown keys of a request to an agent are ignored."),
    done("frame.nulls", "API 1.7", "Every key of a reply is there, null or not."),
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
        "What would end the same when sent again bears `x-should-retry: false`, so that the SDK does not wait in vain.",
        "V1 sends no such header, and the SDK repeats every 409, 429 and 5xx twice.",
    ),
    out_of_reach(
        "frame.password",
        "API 1.2",
        "LETTA_SERVER_PASSWORD and the header X-BARE-PASSWORD guard a V1 server.",
        "Here a key decides whose data it is; one password for everybody cannot.",
    ),
)
