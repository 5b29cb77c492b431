"""The description tells how the API refuses, as the table of errors really does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from hibernaut.rest.access.origin_policy import OriginPolicy
from hibernaut.rest.app import create_app
from hibernaut.rest.http.errors import body_of, status_of, validation_body
from hibernaut.schemas import errors
from hibernaut.schemas.errors import HibernautError, ModelError
from hibernaut.schemas.mcp.faults import McpServerUnavailable
from hibernaut.schemas.memory.version_faults import VersionExpired
from tests.support.api_description import api_description
from tests.support.faces import no_services
from tests.support.json_schema import fits
from tests.unit.rest.http.test_errors import made, tree

DOCUMENT = api_description()
SENDING, PLAIN, RESUMING, UPLOADING, ROLLING_BACK = (
    DOCUMENT["paths"][path]["post"]
    for path in (
        "/v1/agents/{agent_id}/messages",
        "/v1/blocks",
        "/v1/runs/{run_id}/stream",
        "/v1/folders/{folder_id}/upload",
        "/v1/blocks/{block_id}/rollback",
    )
)
REFRESHING = DOCUMENT["paths"]["/v1/mcp-servers/{mcp_server_id}/refresh"]["patch"]
ELSEWHERE = {
    errors.LogExpired: RESUMING,
    errors.UnsupportedMedia: UPLOADING,
    VersionExpired: ROLLING_BACK,
    McpServerUnavailable: REFRESHING,
}


def operations() -> Iterator[tuple[str, Any]]:
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            yield f"{method} {path}", operation


def described(operation: Any, status: int) -> Any:
    return operation["responses"][str(status)]["content"]["application/json"]["schema"]


@pytest.mark.parametrize("kind", list(tree()), ids=lambda kind: kind.__name__)
def test_every_error_is_described_as_it_is_answered(kind: type[HibernautError]) -> None:
    error = made(kind)
    operation = SENDING if issubclass(kind, ModelError) else ELSEWHERE.get(kind, PLAIN)
    body = body_of(error) if kind is not HibernautError else {"detail": "An unknown error occurred"}
    assert fits(DOCUMENT, described(operation, status_of(error)), body)


CHECKING = ("post /v1/providers/check", "post /v1/providers/{provider_id}/check", "patch /v1/providers/{provider_id}/refresh")


@pytest.mark.parametrize("kind", [kind for kind in tree() if issubclass(kind, ModelError)], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", CHECKING)
def test_the_check_of_a_key_tells_of_the_failures_of_providers(name: str, kind: type[HibernautError]) -> None:
    error = made(kind)
    assert fits(DOCUMENT, described(dict(operations())[name], status_of(error)), body_of(error))


def test_a_pending_approval_is_a_conflict_that_names_it() -> None:
    assert fits(DOCUMENT, described(SENDING, 409), body_of(errors.ApprovalPending("x", "message-1")))


def test_a_422_has_one_text_as_its_detail() -> None:
    found = [{"type": "string_pattern_mismatch", "ctx": {"pattern": "^agent-[0-9a-f]{8}"}}]
    for name, operation in operations():
        if "422" in operation["responses"]:
            assert fits(DOCUMENT, described(operation, 422), validation_body(found)), name
    assert "HTTPValidationError" not in str(DOCUMENT)


def test_every_operation_tells_of_the_refusals_that_any_request_may_meet() -> None:
    for name, operation in operations():
        assert {"400", "401", "403", "404", "500", "503"} <= operation["responses"].keys(), name
        assert ("409" in operation["responses"]) is not name.startswith("get "), name


def test_streams_of_events_are_described_as_such() -> None:
    streams = {
        name
        for name, operation in operations()
        if "text/event-stream" in operation["responses"].get("200", {"content": {}}).get("content", {})
    }
    assert streams == {
        "get /v1/mcp-servers/connect/{mcp_server_id}",
        "post /v1/tools/mcp/servers/connect",
        "post /v1/agents/{agent_id}/messages",
        "post /v1/agents/{agent_id}/messages/stream",
        "post /v1/chat/completions",
        "post /v1/conversations/{conversation_id}/messages",
        "post /v1/conversations/{conversation_id}/stream",
        "post /v1/groups/{group_id}/messages",
        "post /v1/groups/{group_id}/messages/stream",
        "post /v1/runs/{run_id}/stream",
    }
    for name in (each for each in streams if "connect" in each):
        assert list(dict(operations())[name]["responses"]["200"]["content"]) == ["text/event-stream"]


@pytest.mark.parametrize("path", ["/openapi.json", "/docs"])
def test_other_requests_are_answered_while_the_description_is_built(path: str) -> None:
    app = create_app(no_services(), policy=OriginPolicy(hosts=("localhost",)))

    async def both() -> list[str]:
        answered = []

        async def ask(path: str) -> None:
            reply = await client.get(path)
            assert reply.status_code == 200
            answered.append(path)

        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            await asyncio.gather(ask(path), ask("/v1/health/"))
        return answered

    assert asyncio.run(both()) == ["/v1/health/", path]
    app.state.pools.close()


def test_two_that_ask_at_once_are_shown_the_whole_description() -> None:
    app = create_app(no_services())
    with ThreadPoolExecutor(2) as readers:
        shown = [each.result() for each in [readers.submit(lambda: json.dumps(app.openapi())) for _ in range(2)]]
    assert shown[0] == shown[1] == json.dumps(DOCUMENT)
