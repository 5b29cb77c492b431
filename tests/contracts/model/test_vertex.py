"""Gemini on Vertex AI: its address, its access tokens, its list, and what its server refuses."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hibernaut.adapters import google_credentials
from hibernaut.adapters.google_credentials import GoogleTokens, NoGoogleToken
from hibernaut.adapters.model.catalogue import Catalogue
from hibernaut.adapters.model.provider_settings import of_vertex
from hibernaut.schemas.errors import InvalidArgument, ModelAuthentication, NotFound
from hibernaut.schemas.models.model_call import ModelRequest, ToolChoice, ToolSpec
from tests.contracts.model.kit.plays import reply
from tests.contracts.model.kit.vertex import PUBLISHER, VERTEX, VertexServer
from tests.contracts.model.test_catalogue import Kept
from tests.support.google_tokens import TokenServer, shared_token_server
from tests.support.rows import Rows


@pytest.fixture
def server() -> Iterator[VertexServer]:
    with VertexServer(VERTEX) as made:
        yield made


@pytest.fixture
def tokens() -> Iterator[TokenServer]:
    server = TokenServer()
    yield server
    server.close()


def catalogue(server: VertexServer, **changed: str) -> Catalogue:
    return Catalogue(Kept(**{**VERTEX.variables(server.address), **changed}))


def asked(models: Catalogue, handle: str = VERTEX.handle, **fields: Any) -> Any:
    config = models.config(handle)
    return models.of(config).complete(ModelRequest(config, "", [Rows().user("hi")], **fields))


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("europe-west4", "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/publishers/google"),
        ("global", "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google"),
        ("eu", "https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu/publishers/google"),
    ],
)
def test_the_address_is_that_of_the_project_and_the_location(location: str, url: str) -> None:
    settings = of_vertex("p", location)
    assert settings is not None
    assert (settings.url, settings.official) == (url, True)
    assert of_vertex("p", None) is of_vertex(None, location) is None


@pytest.mark.parametrize(
    "location", ["evil.example/", "europe-west4.evil.example", "x@evil", "EUROPE-WEST4", "europe west4", "a-1#", "../x", "é-1"]
)
def test_a_location_of_another_form_is_refused_because_it_would_be_part_of_the_address(location: str) -> None:
    with pytest.raises(InvalidArgument, match="is not a location of Vertex AI; name one like europe-west4, or global"):
        of_vertex("p", location)


def test_a_wrong_location_in_the_parameters_leaves_the_other_providers(caplog: pytest.LogCaptureFixture) -> None:
    """On AWS, where parameters are read at the first question."""
    models = Catalogue(Kept(GOOGLE_CLOUD_PROJECT="p", GOOGLE_CLOUD_LOCATION="x.example/", GROQ_API_KEY="gsk"))
    assert set(models.providers()) == {"hibernaut", "groq"}
    assert [record.message for record in caplog.records] == ["provider refused"]
    assert "'x.example/' is not a location" in caplog.records[0].reason  # type: ignore[attr-defined]


def test_a_call_carries_a_token_of_the_account_which_is_asked_for_once(server: VertexServer) -> None:
    before = shared_token_server().asked
    models = catalogue(server)
    server.plays(reply("One."), reply("Two."))
    assert [asked(models).text, asked(models).text] == ["One.", "Two."]
    assert server.broken == []
    assert {request.path for request in server.requests} == {f"{PUBLISHER}/models/gemini-3.8-flash:generateContent"}
    assert shared_token_server().asked == before + 1


def test_a_token_that_expires_is_renewed(tokens: TokenServer) -> None:
    tokens.life = 60  # within google-auth's margin
    headers = GoogleTokens(tokens.credentials())
    assert [headers.headers()["authorization"], headers.headers()["authorization"]] == [
        "Bearer ya29.token-0",
        "Bearer ya29.token-1",
    ]


def test_credentials_are_read_from_a_file_too(tokens: TokenServer, tmp_path: Path) -> None:
    file = tmp_path / "key.json"
    file.write_text(tokens.credentials(), encoding="utf-8")
    assert GoogleTokens(str(file)).headers()["authorization"] == "Bearer ya29.token-0"


def test_without_credentials_those_of_the_machine_are_used(
    tokens: TokenServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key.json"
    file.write_text(tokens.credentials(), encoding="utf-8")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    assert GoogleTokens().headers()["authorization"] == "Bearer ya29.token-0"


@pytest.mark.parametrize(
    "given",
    [
        "{",
        '{"type": "service_account"}',
        '{"type": "external_account", "credential_source": {"executable": {"command": "/bin/true"}}}',
        '{"type": "gdch_service_account"}',
        "[]",
        "/no/such/file.json",
    ],
)
def test_credentials_that_cannot_be_used_are_said_without_their_content(given: str) -> None:
    with pytest.raises(NoGoogleToken) as failed:
        GoogleTokens(given).headers()
    assert not failed.value.retryable
    assert "GOOGLE_APPLICATION_CREDENTIALS" in str(failed.value)
    assert given not in str(failed.value)


def test_a_deleted_key_is_an_error_of_the_key(server: VertexServer, tokens: TokenServer) -> None:
    tokens.refuses = True
    models = catalogue(server, GOOGLE_APPLICATION_CREDENTIALS=tokens.credentials())
    with pytest.raises(ModelAuthentication) as failed:
        asked(models)
    assert "RefreshError" in failed.value.detail
    assert "PRIVATE KEY" not in failed.value.detail
    assert server.requests == []


def test_a_token_service_that_is_away_may_answer_later(tokens: TokenServer) -> None:
    given = tokens.credentials(token_uri="http://127.0.0.1:1/token")
    with pytest.raises(NoGoogleToken) as failed:
        GoogleTokens(given).headers()
    assert failed.value.retryable


def test_without_google_auth_the_error_says_what_to_install(server: VertexServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "google.auth.exceptions", None)
    with pytest.raises(ModelAuthentication, match=r"install hibernaut\[google\]"):
        asked(catalogue(server))
    assert google_credentials.SCOPES


def test_the_list_leaves_models_out_and_their_names_are_taken_all_the_same(server: VertexServer) -> None:
    server.models += [{"id": name} for name in ("gemini-3.1-flash-image", "chat-bison", "gemini-live-2.5", "text-embedding-005")]
    models = catalogue(server)
    assert [row.handle for row in models.list() if row.provider_name == "google_vertex"] == ["google_vertex/gemini-3.8-flash"]
    assert models.config("google_vertex/gemini-9-preview").context_window > 0
    assert models.default_handle() == "google_vertex/gemini-3.8-flash"


def test_the_default_model_is_of_the_middle_tier_and_not_the_first_of_the_list(server: VertexServer) -> None:
    server.models[:] = [{"id": name} for name in ("gemini-2.0-flash", "gemini-3.5-flash", "gemini-3.8-flash", "gemini-3.8-pro")]
    assert catalogue(server).default_handle() == "google_vertex/gemini-3.8-flash"
    server.models.pop(2)
    assert catalogue(server).default_handle() == "google_vertex/gemini-3.5-flash"


def test_a_handle_without_the_settings_names_them() -> None:
    with pytest.raises(NotFound, match="set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION"):
        Catalogue(Kept()).config("google_vertex/gemini-3.8-flash")


def test_allowed_tools_are_named_with_a_forced_call_alone(server: VertexServer) -> None:
    tools = tuple(ToolSpec(name, "Do it.", {"properties": {"x": {"type": "string"}}}) for name in ("ring", "tell"))
    models = catalogue(server)
    for choice, expected in (
        (ToolChoice("auto"), {"mode": "AUTO"}),
        (ToolChoice("required"), {"mode": "ANY", "allowedFunctionNames": ["ring"]}),
    ):
        server.plays(reply("Done."))
        asked(models, tools=tools, choice=choice, allowed=("ring",))
        assert server.requests[-1].body["toolConfig"] == {"functionCallingConfig": expected}
    assert server.broken == []


GOOD: dict[str, Any] = {
    "contents": [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "ring", "args": {}}, "thoughtSignature": "skip_thought_signature_validator"}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "ring", "response": {"output": ""}}}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "ring", "description": "Ring."}]}],
    "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
}  # fmt: skip


def _id_of_a_call(body: Any) -> None:
    body["contents"][1]["parts"][0]["functionCall"]["id"] = "fc-1"


def _id_of_a_response(body: Any) -> None:
    body["contents"][2]["parts"][0]["functionResponse"]["id"] = "fc-1"


def _names_in_auto(body: Any) -> None:
    body["toolConfig"]["functionCallingConfig"] = {"mode": "VALIDATED", "allowedFunctionNames": ["ring"]}


def _file_without_type(body: Any) -> None:
    body["contents"][0]["parts"].append({"fileData": {"fileUri": "https://example.com/a.png"}})


@pytest.mark.parametrize(
    ("rule", "spoil", "token"),
    [
        ("", lambda _: None, True),
        ("vertex_bearer_token", lambda _: None, False),
        ("vertex_no_call_ids", _id_of_a_call, True),
        ("vertex_no_call_ids", _id_of_a_response, True),
        ("vertex_names_with_a_forced_call_alone", _names_in_auto, True),
        ("vertex_files_with_their_type", _file_without_type, True),
    ],
)
def test_the_server_refuses_what_vertex_refuses(server: VertexServer, rule: str, spoil: Any, token: bool) -> None:
    body = copy.deepcopy(GOOD)
    spoil(body)
    headers = dict(GoogleTokens(shared_token_server().credentials()).headers()) if token else {"x-goog-api-key": "k"}
    answer = httpx.post(f"{server.address}{PUBLISHER}/models/gemini-3.8-flash:generateContent", json=body, headers=headers)
    assert [each.rule.name for each in server.broken] == ([rule] if rule else []), json.dumps(answer.json())
    assert answer.is_success is (rule == "")
