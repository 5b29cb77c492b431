"""Bedrock: signatures, the choice of models, what Claude is sent there, and what refusals mean."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.credentials import RefreshableCredentials

from hibernaut.adapters.model.bedrock.bedrock import BedrockModel, wire_of
from hibernaut.adapters.model.bedrock.signing import SignedHeaders, headers_of
from hibernaut.adapters.model.bedrock_endpoints import control_url, runtime_url
from hibernaut.adapters.model.catalogue import Catalogue
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.adapters.model.provider_settings import ProviderSettings, of_bedrock
from hibernaut.adapters.model.wire.provider_client import OutgoingRequest
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.ports.model import ModelRequest, ToolSpec
from hibernaut.schemas.content import ImageContent, TextContent, UrlImage
from hibernaut.schemas.errors import (
    ContextWindowExceeded,
    InvalidArgument,
    ModelAuthentication,
    ModelBadRequest,
    ModelCredits,
    ModelError,
    ModelNotFound,
    ModelOverloaded,
    ModelPermission,
    ModelRateLimit,
    NotFound,
)
from hibernaut.schemas.models.llm_config import LLMConfig
from tests.contracts.model.kit.bedrock import CLAUDES, NO_CREDIT, ClaudeOnBedrockServer
from tests.contracts.model.kit.bedrock_rules import REGION, refusal
from tests.contracts.model.kit.plays import reply
from tests.support.provider_http import Recorded
from tests.support.rows import Rows
from tests.support.sigv4 import unsigned

BELL = ToolSpec("ring", "Ring.", {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}, strict=True)
HAIKU = "eu.anthropic.claude-haiku-4-5"
ASKED = OutgoingRequest(
    "GET", "https://bedrock.eu-central-1.amazonaws.com/inference-profiles?type=SYSTEM_DEFINED&maxResults=1000", b""
)


@pytest.fixture
def server() -> Iterator[ClaudeOnBedrockServer]:
    with ClaudeOnBedrockServer(CLAUDES[2]) as started:
        yield started


def bedrock(server: ClaudeOnBedrockServer, **fields: Any) -> BedrockModel:
    settings = of_bedrock(REGION, url=server.address)
    assert settings is not None
    return BedrockModel(replace(settings, **fields), windows=ContextWindows())


def hello(model: str = HAIKU, *rows: Any, **config: Any) -> ModelRequest:
    made = LLMConfig(model=model, model_endpoint_type="bedrock", context_window=32_000, **config)
    return ModelRequest(config=made, messages=rows or (Rows().user("Hello."),), system="Be kind.", timeout=20.0)


def checked(headers: Any, *, key: str, secret: str) -> str | None:
    """What the service finds wrong with these headers."""
    path = ASKED.url.partition("amazonaws.com")[2]
    sent = {"host": "bedrock.eu-central-1.amazonaws.com"} | {name.lower(): value for name, value in headers.items()}
    return unsigned(Recorded("GET", path, sent), key=key, secret=secret, region=REGION, service="bedrock")


def test_given_keys_sign_instead_of_those_of_the_process() -> None:
    settings = ProviderSettings("own", "bedrock", "", "their secret", region=REGION, access_key="AKIATHEIRS")
    assert checked(headers_of(settings)(ASKED), key="AKIATHEIRS", secret="their secret") is None
    assert checked(headers_of(replace(settings, key=None, access_key=None))(ASKED), key="testing", secret="testing") is None


@pytest.mark.parametrize("variables", [True, False])
def test_the_credentials_are_those_that_the_aws_command_line_would_use(
    variables: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables come before a profile, as in botocore's own chain."""
    file = tmp_path / "credentials"
    file.write_text("[work]\naws_access_key_id = of-the-file\naws_secret_access_key = of-the-file\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    monkeypatch.setenv("AWS_PROFILE", "work")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    if variables:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-the-variables")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-variables")
    wanted = "of-the-variables" if variables else "of-the-file"
    assert (
        checked(headers_of(ProviderSettings("bedrock", "bedrock", "", region=REGION))(ASKED), key=wanted, secret=wanted) is None
    )


def test_a_key_without_an_access_key_is_a_bedrock_api_key() -> None:
    settings = ProviderSettings("own", "bedrock", "", "ABSK-key", region=REGION)
    assert headers_of(settings)(ASKED) == {"Authorization": "Bearer ABSK-key"}


def test_each_request_is_signed_with_the_credentials_of_its_moment() -> None:
    """Temporary credentials are renewed by botocore; their token is part of what is signed."""
    turns = iter("abc")

    def renew() -> dict[str, str]:
        turn = next(turns)
        past = "2020-01-01T00:00:00Z"
        return {
            "access_key": turn,
            "secret_key": turn,
            "token": f"token-{turn}",
            "expiry_time": past if turn == "a" else "2199-01-01T00:00:00Z",
        }

    credentials = RefreshableCredentials.create_from_metadata(renew(), renew, "test")
    sign = SignedHeaders("bedrock", REGION, lambda: credentials)
    first = sign(ASKED)
    assert checked(first, key="b", secret="b") is None
    assert first["X-Amz-Security-Token"] == "token-b"
    assert "x-amz-security-token" in first["Authorization"]


def test_a_process_without_credentials_says_what_to_set() -> None:
    with pytest.raises(ModelAuthentication, match="no AWS credentials were found; set AWS_ACCESS_KEY_ID"):
        SignedHeaders("bedrock", REGION, lambda: None)(ASKED)


def test_credentials_that_cannot_be_renewed_are_an_error_of_ours() -> None:
    def fails() -> Any:
        from botocore.exceptions import CredentialRetrievalError

        raise CredentialRetrievalError(provider="p", error_msg="secret words")

    with pytest.raises(ModelAuthentication, match=r"no usable AWS credentials \(CredentialRetrievalError\)") as caught:
        SignedHeaders("bedrock", REGION, fails)(ASKED)
    assert "secret words" not in str(caught.value)


def test_the_model_and_the_stream_are_named_by_the_path(server: ClaudeOnBedrockServer) -> None:
    server.plays(reply("One."), reply("Two."))
    bedrock(server).complete(hello())
    bedrock(server).complete(hello(), lambda _: None)
    paths = [each.path for each in server.requests]
    assert paths == [f"/model/{HAIKU}/invoke", f"/model/{HAIKU}/invoke-with-response-stream"]
    assert server.requests[0].body == server.requests[1].body == bedrock(server).payload(hello())
    assert server.broken == []


def test_a_version_in_an_id_stays_one_segment_of_the_path(server: ClaudeOnBedrockServer) -> None:
    model = f"{HAIKU}-20251001-v1:0"
    server.plays(reply("One."))
    assert bedrock(server).complete(hello(model)).text == "One."
    assert server.requests[0].path == f"/model/{HAIKU}-20251001-v1%3A0/invoke"


def test_the_last_block_has_the_marker_that_the_body_may_not_have(server: ClaudeOnBedrockServer) -> None:
    body = bedrock(server).payload(hello())
    assert "cache_control" not in body
    assert body["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}


def test_an_hour_of_cache_is_asked_for_where_the_model_has_it(server: ClaudeOnBedrockServer) -> None:
    settings = of_bedrock(REGION, url=server.address)
    assert settings is not None
    model = BedrockModel(settings, windows=ContextWindows(), cache_life="1h")
    assert "'ttl': '1h'" in str(model.payload(hello()))
    assert "ttl" not in str(model.payload(hello("eu.anthropic.claude-3-7-sonnet-20250219-v1:0")))


def test_an_image_that_is_an_address_is_named_instead_of_sent(server: ClaudeOnBedrockServer) -> None:
    shown = ImageContent(source=UrlImage(url="https://example.org/a.png"))
    row = Rows().user([shown, TextContent(text="What is it?")])
    sent = bedrock(server).payload(hello(HAIKU, row))["messages"][0]["content"]
    assert sent[0] == {"type": "text", "text": "[image https://example.org/a.png cannot be shown here]"}


def test_efforts_that_need_another_beta_are_left_out(server: ClaudeOnBedrockServer) -> None:
    config = {"enable_reasoner": True, "effort": "low"}
    assert "output_config" not in bedrock(server).payload(hello("eu.anthropic.claude-opus-4-5-20251101-v1:0", **config))
    assert bedrock(server).payload(hello("eu.anthropic.claude-opus-4-6-v1", **config))["output_config"] == {"effort": "low"}


def test_the_list_is_what_can_be_invoked_and_is_allowed(server: ClaudeOnBedrockServer) -> None:
    every = [row.model for row in bedrock(server).models()]
    assert every == sorted(server.profiles)
    one = bedrock(server, allowed=("eu.anthropic.claude-haiku-*", "us.*")).models()
    assert [(row.handle, row.provider_type, row.context_window, row.max_tokens) for row in one] == [
        (f"bedrock/{HAIKU}", "bedrock", 200_000, 8192)
    ]


def test_a_list_of_profiles_may_have_several_pages(server: ClaudeOnBedrockServer) -> None:
    own = server.listed

    def paged(asked: Recorded) -> Any:
        said = own(asked)
        if not asked.path.startswith("/inference-profiles"):
            return said
        rows = json.loads(said["raw"])["inferenceProfileSummaries"]
        after = "nextToken=a%2Fb" in asked.path
        page = {"inferenceProfileSummaries": rows[2:]} if after else {"inferenceProfileSummaries": rows[:2], "nextToken": "a/b"}
        return {"raw": json.dumps(page).encode()}

    server.listed = paged  # type: ignore[method-assign]
    assert len(bedrock(server).models()) == len(server.profiles)
    assert server.broken == []


def test_a_list_that_cannot_be_read_is_empty(server: ClaudeOnBedrockServer) -> None:
    server.listed = lambda _: {"status": 403, "body": {"message": "not authorized"}}  # type: ignore[method-assign]
    assert bedrock(server).models() == []


def test_handles_resolve_and_the_cheapest_claude_is_the_default(server: ClaudeOnBedrockServer) -> None:
    server.profiles = {  # type: ignore[misc]
        **server.profiles,
        "eu.anthropic.claude-haiku-5-5": "anthropic.claude-haiku-5-5",
    }
    catalogue = Catalogue(EnvironmentSecrets({"BEDROCK_REGION": REGION, "BEDROCK_BASE_URL": server.address}))
    assert catalogue.default_handle() == "bedrock/eu.anthropic.claude-haiku-5-5"
    config = catalogue.config(f"bedrock/{HAIKU}")
    assert (config.model, config.model_endpoint_type, config.handle) == (HAIKU, "bedrock", f"bedrock/{HAIKU}")
    server.plays(reply("One."))
    assert catalogue.of(config).complete(hello()).text == "One."


def test_a_deployment_may_narrow_the_list(server: ClaudeOnBedrockServer) -> None:
    variables = {"BEDROCK_REGION": REGION, "BEDROCK_BASE_URL": server.address, "BEDROCK_MODELS": f"us.*, {HAIKU}"}
    assert [row.handle for row in Catalogue(EnvironmentSecrets(variables)).list()] == [f"bedrock/{HAIKU}", "hibernaut/demo"]


def test_a_handle_of_bedrock_says_what_to_set_where_it_is_not_configured() -> None:
    with pytest.raises(NotFound, match="; set BEDROCK_REGION"):
        Catalogue(EnvironmentSecrets({})).config(f"bedrock/{HAIKU}")


def test_the_addresses_are_those_of_the_region() -> None:
    settings = of_bedrock(REGION)
    assert settings is not None
    assert settings.official
    assert settings.url == runtime_url(REGION) == "https://bedrock-runtime.eu-central-1.amazonaws.com"
    assert control_url(settings.url) == "https://bedrock.eu-central-1.amazonaws.com"
    assert control_url("http://127.0.0.1:1") == "http://127.0.0.1:1"
    assert of_bedrock(None) is None


@pytest.mark.parametrize(
    ("status", "code", "message", "error"),
    [
        (400, "ValidationException", "Input is too long for requested model.", ContextWindowExceeded),
        (400, "ValidationException", "The model returned the following errors: prompt is too long: 214131 tokens > 200000 maximum", ContextWindowExceeded),
        (400, "ValidationException", "The provided model identifier is invalid.", ModelNotFound),
        (403, "AccessDeniedException", "User: arn:aws:sts::1:assumed-role/r is not authorized to perform: bedrock:InvokeModel", ModelPermission),
        (403, "AccessDeniedException", NO_CREDIT, ModelCredits),
        (403, "ExpiredTokenException", "The security token included in the request is expired", ModelAuthentication),
        (404, "ResourceNotFoundException", "This model version has reached the end of its life.", ModelNotFound),
        (408, "ModelTimeoutException", "Model has timed out in processing the request.", ModelError),
        (424, "ModelErrorException", "The system encountered an unexpected error during processing.", ModelOverloaded),
        (429, "ThrottlingException", "Too many tokens, please wait before trying again.", ModelRateLimit),
        (429, "ModelNotReadyException", "Model is not ready for inference.", ModelRateLimit),
        (503, "ServiceUnavailableException", "Bedrock is unable to process your request.", ModelOverloaded),
    ],
)  # fmt: skip
def test_a_refusal_is_the_error_that_it_means(
    server: ClaudeOnBedrockServer, status: int, code: str, message: str, error: type[ModelError]
) -> None:
    """docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html, errors."""
    server.answer = lambda _: {"status": status, "body": {"message": message}, "headers": {"x-amzn-errortype": f"{code}:"}}  # type: ignore[method-assign]
    with pytest.raises(error, match=r"^bedrock: "):
        bedrock(server).complete(hello())


def test_a_refused_signature_repeats_nothing_of_what_was_signed(server: ClaudeOnBedrockServer) -> None:
    """AWS answers with the canonical request, which holds the session's token."""
    body = {
        "message": "The request signature we calculated does not match. The Canonical String was x-amz-security-token:planted"
    }
    server.answer = lambda _: {"status": 403, "body": body, "headers": {"x-amzn-errortype": "InvalidSignatureException"}}  # type: ignore[method-assign]
    with pytest.raises(ModelAuthentication, match=r"the AWS credentials \(InvalidSignatureException\) were refused") as caught:
        bedrock(server).complete(hello())
    assert "planted" not in str(caught.value) + str(caught.value.exchange)


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (HAIKU, "claude"),
        ("anthropic.claude-3-haiku-20240307-v1:0", "claude"),
        ("arn:aws:bedrock:eu-central-1:1:inference-profile/eu.anthropic.claude-sonnet-5-5", "claude"),
        ("openai.gpt-oss-120b-1:0", "chat"),
        ("us-gov.openai.gpt-oss-20b-1:0", "chat"),
        ("openai.gpt-5.4", "responses"),
        ("global.openai.gpt-6.1-sol", "responses"),
        ("eu.amazon.nova-lite-v1:0", "converse"),
        ("us.xai.grok-4-5", "converse"),
        ("arn:aws:bedrock:eu-central-1:1:application-inference-profile/abc", "converse"),
    ],
)
def test_each_model_has_its_wire(model: str, kind: str) -> None:
    assert wire_of(model) == kind


def test_a_process_imports_the_wires_of_the_models_that_it_calls() -> None:
    code = (
        "import sys\n"
        "from hibernaut.adapters.model.bedrock.bedrock import BedrockModel\n"
        "from hibernaut.adapters.model.prices.context_windows import ContextWindows\n"
        "from hibernaut.adapters.model.provider_settings import of_bedrock\n"
        "from hibernaut.ports.model import ModelRequest\n"
        "from hibernaut.schemas.models.llm_config import LLMConfig\n"
        "model = BedrockModel(of_bedrock('eu-central-1'), windows=ContextWindows())\n"
        f"config = LLMConfig(model='{HAIKU}', model_endpoint_type='bedrock', context_window=1000)\n"
        "model.payload(ModelRequest(config=config, messages=(), system='', timeout=1.0))\n"
        "print(sorted(name for name in sys.modules if 'converse' in name or '.openai' in name or name.startswith('boto')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "region", ["eu-central-1.example.org/", "eu-central-1#", "EU-CENTRAL-1", "eu", "@evil.example/?", "eu-central-1\n"]
)
def test_a_region_cannot_name_another_host(region: str) -> None:
    with pytest.raises(InvalidArgument, match="is not an AWS region; name one like eu-central-1"):
        of_bedrock(region)


@pytest.mark.parametrize("region", ["eu-central-1", "us-gov-west-1", "ap-southeast-5", "mx-central-1", "us-iso-east-1"])
def test_regions_of_aws_are_taken(region: str) -> None:
    assert of_bedrock(region) is not None


@pytest.mark.parametrize(
    ("refused", "gone", "kept"),
    [
        ("tools.0.custom.strict: Extra inputs are not permitted", "'strict'", "'effort'"),
        ("output_config.effort: Extra inputs are not permitted", "'effort'", "'strict'"),
        ("output_config: Extra inputs are not permitted", "'output_config'", "'tools'"),
    ],
)
def test_what_a_region_does_not_serve_yet_is_left_out_from_then_on(
    server: ClaudeOnBedrockServer, refused: str, gone: str, kept: str
) -> None:
    own = server.answer
    server.answer = lambda asked: refusal(refused).wire() if gone in str(asked.body) else own(asked)  # type: ignore[method-assign]
    server.plays(reply("One."), reply("Two."))
    asked = replace(hello("eu.anthropic.claude-sonnet-5", enable_reasoner=True, effort="low"), tools=(BELL,))
    model = bedrock(server)
    assert [model.complete(asked).text, model.complete(asked).text] == ["One.", "Two."]
    assert [gone in str(each.body) for each in server.requests] == [True, False, False]
    assert kept in str(server.requests[-1].body)


def test_a_refusal_that_names_nothing_to_leave_out_is_not_tried_again(server: ClaudeOnBedrockServer) -> None:
    server.answer = lambda _: refusal("messages: Extra inputs are not permitted").wire()  # type: ignore[method-assign]
    with pytest.raises(ModelBadRequest, match="messages: Extra inputs"):
        bedrock(server).complete(hello())
    assert len(server.requests) == 1


@pytest.mark.parametrize("access_key", [None, "AKIATHEIRS"])
def test_a_provider_of_ones_own_is_never_signed_with_the_credentials_of_the_process(access_key: str | None) -> None:
    with pytest.raises(InvalidArgument, match="own: Bedrock needs api_key: the secret of the access key"):
        of_bedrock(REGION, own="own", access_key=access_key)
    assert of_bedrock(REGION, own="own", key="secret", access_key=access_key) is not None
