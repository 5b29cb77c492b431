"""What surrounds every request: paths, callers, limits, error bodies (API 1 and 2.1)."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from typing import Any

import httpx
import pytest
from letta_client import Letta

import hibernaut
from tests.compat.conftest import NO_KEY, Make, Said, Served

pytestmark = pytest.mark.deployed

UNKNOWN_AGENT = "agent-00000000-0000-4000-8000-000000000000"
WEB = {"origin": "https://app.letta.com"}


@pytest.mark.manifest("health.check")
def test_health_tells_the_version_that_clients_compare_and_our_own(client: Letta) -> None:
    health = client.health()
    assert (health.version, health.status) == ("0.16.8", "ok")
    assert health.hibernaut_version == hibernaut.__version__


@pytest.mark.manifest("health.ready")
def test_a_server_that_answers_is_ready(http: httpx.Client) -> None:
    assert http.get("/v1/ready/").status_code == 200


@pytest.mark.manifest("frame.slashes")
@pytest.mark.parametrize("path", ["/v1/health", "/v1/agents", "/v1/models/embedding", "/v1/runs"])
def test_both_slash_forms_answer_at_once(http: httpx.Client, path: str) -> None:
    assert [http.get(form).status_code for form in (path, path + "/")] == [200, 200]


@pytest.mark.manifest("frame.slashes")
def test_a_post_keeps_its_body_in_either_form(http: httpx.Client) -> None:
    made = [http.post(path, json={"label": "x", "value": "y"}).json() for path in ("/v1/blocks", "/v1/blocks/")]
    assert [block["value"] for block in made] == ["y", "y"]


@pytest.mark.manifest("frame.latest", "frame.docs")
def test_latest_is_v1_and_stands_in_no_description(http: httpx.Client) -> None:
    assert http.get("/latest/health/").json() == http.get("/v1/health").json()
    paths = http.get("/openapi.json").json()["paths"]
    assert "/v1/agents/{agent_id}/messages" in paths
    assert [path for path in paths if path.startswith("/latest")] == []


@pytest.mark.manifest("frame.root")
def test_the_root_leads_to_the_console(http: httpx.Client) -> None:
    answer = http.get("/", follow_redirects=True)
    assert answer.url.path == "/console/"
    assert answer.headers["content-type"].startswith("text/html")
    script = re.findall(r'<script type="module" src="([^"]+)">', answer.text)
    assert http.get(f"/console/{script[0]}").headers["content-type"].startswith("text/javascript")


@pytest.mark.manifest("frame.docs")
def test_the_description_is_a_page_that_loads_nothing(http: httpx.Client) -> None:
    answer = http.get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert "/v1/agents/{agent_id}/messages" in answer.text
    assert "://" not in answer.text.replace("http://www.w3.org", "")
    policy = answer.headers["content-security-policy"]
    style = answer.text.partition("<style>")[2].partition("</style>")[0]
    assert f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" in policy
    assert {"default-src 'none'", "frame-ancestors 'none'"} <= set(policy.split("; "))


@pytest.mark.manifest("frame.not_found", "frame.method")
def test_unknown_routes_and_methods(http: httpx.Client) -> None:
    unknown, method = http.get("/v1/nothing/here"), http.put("/v1/health/")
    assert (unknown.status_code, unknown.json()) == (404, {"detail": "Not Found"})
    assert (method.status_code, method.json()) == (405, {"detail": "Method Not Allowed"})


@pytest.mark.manifest("frame.cors")
def test_web_pages_of_other_origins_may_not_call(http: httpx.Client) -> None:
    asked = WEB | {"access-control-request-method": "PATCH"}
    assert http.options("/v1/agents/", headers=asked).status_code == 400
    assert "access-control-allow-origin" not in http.get("/v1/health", headers=WEB).headers
    refused = http.post("/v1/blocks/", headers=WEB, json={"label": "x", "value": "y"})
    assert (refused.status_code, refused.json()["detail"].partition(":")[0]) == (403, "FOREIGN_ORIGIN")


@pytest.mark.manifest("frame.cors")
def test_pages_of_the_server_s_own_origin_may_call(http: httpx.Client) -> None:
    own = {"origin": str(http.base_url).rstrip("/"), "sec-fetch-site": "same-origin"}
    assert http.post("/v1/blocks/", headers=own, json={"label": "x", "value": "y"}).status_code == 200


@pytest.mark.manifest("frame.hosts")
@pytest.mark.parametrize("path", ["/v1/health", "/v1/agents/", "/docs", "/nowhere"])
def test_a_name_that_is_not_the_server_s_reaches_nothing(http: httpx.Client, path: str) -> None:
    refused = http.get(path, headers={"host": f"evil.test:{http.base_url.port}"})
    assert (refused.status_code, refused.json()["detail"].partition(":")[0]) == (403, "FOREIGN_HOST")


@pytest.mark.manifest("frame.authorization")
@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer whatever"}, {"authorization": "nonsense"}])
def test_any_authorization_is_accepted_until_there_are_keys(served: Served, headers: dict[str, str]) -> None:
    expected = 200 if served.key == NO_KEY else 401
    assert httpx.get(f"{served.url}/v1/agents/", headers=headers).status_code == expected


@pytest.mark.manifest("frame.user_id")
def test_a_user_must_be_well_formed_and_need_not_be_known(http: httpx.Client) -> None:
    known = {"user_id": "user-12345678-1234-4234-8234-123456789012"}
    assert http.get("/v1/agents/", headers=known).status_code == 200
    bad = http.get("/v1/agents/", headers={"user_id": "me"})
    assert bad.status_code == 400
    assert "user-<uuid4>" in bad.json()["detail"]


@pytest.mark.manifest("frame.malformed_id", "frame.validation")
@pytest.mark.parametrize(
    "text", ["agent-1", "run-00000000-0000-4000-8000-000000000000", UNKNOWN_AGENT + "0", UNKNOWN_AGENT.upper()]
)
def test_a_malformed_id_is_refused_with_an_example(http: httpx.Client, text: str) -> None:
    answer = http.get(f"/v1/agents/{text}")
    assert answer.status_code == 422
    body = answer.json()
    assert list(body) == ["trace_id", "detail", "examples"]
    assert (body["trace_id"], body["examples"]) == ("", ["agent-123e4567-e89b-42d3-8456-426614174000"])
    assert body["detail"].startswith("[{'type': 'string_pattern_mismatch'")


@pytest.mark.manifest("frame.validation")
@pytest.mark.parametrize("content", [b"{", b"[]", b'{"label": 7, "value": "x"}', b"", b"\xff"])
def test_a_body_that_does_not_fit_is_told_as_one_text(http: httpx.Client, content: bytes) -> None:
    answer = http.post("/v1/blocks/", content=content, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert isinstance(answer.json()["detail"], str)
    if answer.status_code == 422:
        assert answer.json()["trace_id"] == ""
        assert "examples" not in answer.json()


@pytest.mark.manifest("frame.unknown_keys", "frame.nulls")
def test_unknown_keys_are_ignored_and_nulls_are_shown(http: httpx.Client, new_agent: Make) -> None:
    agent = new_agent()
    sent = {"input": "hi", "a_key_from_the_future": True}
    answer = http.post(f"/v1/agents/{agent.id}/messages", json=sent)
    assert answer.status_code == 200
    body = answer.json()
    assert body["logprobs"] is None
    assert body["messages"][0]["is_err"] is None
    assert body["messages"][0]["seq_id"] is None


@pytest.mark.manifest("frame.array_queries")
def test_repeated_keys_are_one_list(http: httpx.Client) -> None:
    both = http.get("/v1/runs/", params=[("statuses", "failed"), ("statuses", "running")])
    assert both.status_code == 200
    assert http.get("/v1/runs/", params=[("statuses", "failed"), ("statuses", "odd")]).status_code == 422


@pytest.mark.manifest("frame.body_limit")
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_limit_is_refused(http: httpx.Client, profile: str, chunked: bool) -> None:
    limit = 50 if profile == "embedded" else 6
    block = b" " * 2**20
    content = (block for _ in range(limit + 1)) if chunked else block * limit + b" "
    answer = http.post("/v1/blocks/", content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert f"{limit} MB" in answer.json()["detail"]


@pytest.mark.manifest("frame.provider_errors", "frame.no_vain_retries")
@pytest.mark.parametrize(
    ("status", "expected", "kind"),
    [(401, 401, "llm_authentication"), (400, 400, "llm_bad_request"), (429, 429, "llm_rate_limit")],
)
def test_a_providers_failure_has_its_own_body(
    http: httpx.Client, new_agent: Make, said: Said, status: int, expected: int, kind: str
) -> None:
    agent = new_agent()
    said.next({"status": status, "body": {"error": {"message": "no"}}, "headers": {"retry-after": "0"}})
    answer = http.post(f"/v1/agents/{agent.id}/messages", json={"input": "hi"})
    body: dict[str, Any] = answer.json()
    assert (answer.status_code, body["error"]["type"]) == (expected, kind)
    assert sorted(body["error"]) == ["detail", "message", "type"]
    assert answer.headers["x-should-retry"] == "false"


def test_nobody_manages_keys_where_there_are_none(served: Served, http: httpx.Client) -> None:
    refused = http.get("/v1/api-keys")
    if served.key != NO_KEY:
        assert [each["scope"] for each in refused.json()] == ["admin"]
        return
    assert refused.status_code == 403
    assert "hibernaut keys create" in refused.json()["detail"]
