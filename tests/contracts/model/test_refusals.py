"""What providers say when they refuse a request, in their own words and forms, and which of our errors it becomes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from hibernaut.adapters.model.dialects import GROQ
from hibernaut.adapters.model.provider_settings import (
    ProviderSettings,
    key_advice,
    of_anthropic,
    of_bedrock,
    of_dialect,
    of_vertex,
)
from hibernaut.adapters.model.wire.provider_errors import model_error, read_refusal
from hibernaut.adapters.model.wire.redacted import redacted
from hibernaut.domain.redaction import Redaction
from hibernaut.schemas.errors import (
    ContextWindowExceeded,
    ModelAuthentication,
    ModelBadRequest,
    ModelCredits,
    ModelError,
    ModelNotFound,
    ModelOverloaded,
    ModelRateLimit,
)

TOO_LONG = {
    "openai/types/responses/response_error.py; platform.openai.com": (
        400,
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens.",
    ),
    "openai/codex#13946": (400, "Your input exceeds the context window of this model. Please adjust your input and try again."),
    "stackblitz/bolt.new#1748": (400, "prompt is too long: 202128 tokens > 200000 maximum"),
    "anthropics/claude-code#2569": (413, "Prompt is too long"),
    "providers.md: Anthropic, Bedrock": (
        400,
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens`",
    ),
    "docs.aws.amazon.com/bedrock: ValidationException": (400, "Input is too long for requested model."),
    "docs.aws.amazon.com/bedrock: ValidationException, Claude": (
        400,
        "The model returned the following errors: input length and `max_tokens` exceed context limit: 1 + 2 > 2",
    ),
    "docs.claude.com/en/api/errors": (413, "Request exceeds the maximum size"),
    "providers.md: xAI": (
        400,
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    ),
    "google-gemini/gemini-cli#4692": (
        400,
        "The input token count (2845475) exceeds the maximum number of tokens allowed (1048576).",
    ),
    "warpdotdev/warp#15662": (400, "The input token count exceeds the maximum number of tokens allowed 1048576."),
    "cloud.google.com/vertex-ai: errors": (
        400,
        "Unable to submit request because the input token count is 1100000 but model only supports up to 1048576.",
    ),
    "console.groq.com/docs/errors": (400, "Please reduce the length of the messages or completion."),
    "kit: Mistral, code 3051": (
        400,
        "Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
    ),
    "api-docs.deepseek.com": (
        400,
        "This model's maximum context length is 131072 tokens. However, you requested 140000 tokens (139000 in the messages).",
    ),
    "providers.md: Together": (
        422,
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32769. Given: 40000 `inputs` tokens",
    ),
    "huggingface/text-generation-inference: validation.rs": (
        422,
        "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000",
    ),
    "vllm-project/vllm: serving_engine.py": (
        400,
        (
            "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages, Please reduce the "
            "length of the messages."
        ),
    ),
    "vllm-project/vllm: V1 engine": (
        400,
        "The decoder prompt (length 40000) is longer than the maximum model length of 32768.",
    ),
    "kit: vLLM": (400, "Input length (40000) exceeds the model's maximum context length (32768)."),
    "providers.md: SGLang": (400, "The input (40000 tokens) is longer than the model's context length (32768 tokens)."),
    "sgl-project/sglang: tokenizer_manager.py": (
        400,
        "Requested token count exceeds the model's maximum context length of 32768 tokens.",
    ),
    "lmstudio-ai/lmstudio-bug-tracker#546": (
        400,
        (
            "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only "
            "32768 tokens, which is not enough."
        ),
    ),
    "lmstudio-ai/lmstudio-bug-tracker#1251": (
        400,
        "Reached context length of 4096 tokens with model that does not currently support mid-generation context overflow.",
    ),
    "ggml-org/llama.cpp: exceed_context_size_error": (
        400,
        "the request exceeds the available context size, try increasing it",
    ),
    "letta-ai/letta-code#2886": (
        400,
        "This endpoint's maximum context length is 524288 tokens. However, you requested about 538487 tokens.",
    ),
    "kit: Moonshot": (400, "Invalid request: Your request exceeded model token limit: 262144"),
    "providers.md: Z.ai": (400, "Prompt exceeds max length"),
    "MiniMax-AI/MiniMax-M2#119": (400, "invalid params, context window exceeds limit (2013)"),
}
"""Source -> status and text."""


@pytest.mark.parametrize("source", TOO_LONG)
def test_too_long_is_understood_in_every_providers_words(source: str) -> None:
    status, text = TOO_LONG[source]
    assert type(refused(status, {"error": {"message": text}})) is ContextWindowExceeded


def refused(status: int, body: Any) -> ModelError:
    return model_error(read_refusal("groq", status, body, {}))


TPM = (
    "Request too large for model `openai/gpt-oss-120b` in organization `org` service tier `on_demand` on tokens per minute (TPM): "
    "Limit 8000, Requested 9000, please reduce your message size and try again."
)


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (413, TPM, ModelRateLimit),  # console.groq.com/docs/rate-limits
        (400, "max_tokens is too large: 40000. This model supports at most 16384 completion tokens.", ModelBadRequest),
        (400, "The `reasoning_content` in the thinking mode must be passed back to the API.", ModelBadRequest),
        (429, "This request would exceed your organization's rate limit of 30,000 input tokens per minute.", ModelRateLimit),
        (402, "Insufficient Balance", ModelCredits),  # api-docs.deepseek.com/quick_start/error_codes
        (500, "Internal error", ModelOverloaded),
        # ai.google.dev/gemini-api/docs/rate-limits: the same words for a minute's limit and for an empty account
        (429, "You exceeded your current quota, please check your plan. Please retry in 7.5s.", ModelRateLimit),
        (429, "Your prepayment credits are depleted.", ModelCredits),
        (400, "API key not valid. Please pass a valid API key.", ModelAuthentication),
        (400, "Incorrect API key provided: xa***. You can obtain an API key from the console.", ModelAuthentication),
    ],
)
def test_what_is_not_too_long_is_not_taken_for_it(status: int, text: str, kind: type[ModelError]) -> None:
    assert type(refused(status, {"error": {"message": text}})) is kind


FORMS = {
    "ai.google.dev, an array": [{"error": {"code": 400, "message": "Said.", "status": "INVALID_ARGUMENT"}}],
    "openai": {"error": {"message": "Said.", "type": "invalid_request_error", "param": None, "code": None}},
    "openrouter, JSON of the upstream": {
        "error": {
            "message": "Provider returned error",
            "code": 400,
            "metadata": {"raw": json.dumps({"error": {"message": "Said."}})},
        }
    },
    "openrouter, text of the upstream": {
        "error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": "Said.", "provider_name": "Together"}}
    },
    "mistral": {"object": "error", "message": "Said.", "type": "invalid_request_error", "param": None, "code": "3051"},
    "vllm, before 0.10": {"object": "error", "message": "Said.", "type": "BadRequestError", "param": None, "code": 400},
    "ollama, lmstudio": {"error": "Said."},
    "fastapi": {"detail": "Said."},
    "z.ai": {"error": {"code": "1261", "message": "Said."}},
    "plain text": "Said.",
}


@pytest.mark.parametrize("form", FORMS)
def test_the_reason_is_found_in_every_form_of_a_body(form: str) -> None:
    error = refused(400, FORMS[form])
    assert type(error) is ModelBadRequest
    assert error.detail == "groq: Said. (status 400)"


def test_a_member_that_mistral_forbids_is_named() -> None:
    detail = [{"type": "extra_forbidden", "loc": ["body", "user"], "msg": "Extra inputs are not permitted", "input": "u"}]
    assert refused(422, {"object": "error", "message": {"detail": detail}}).detail == (
        "groq: Extra inputs are not permitted (body.user) (status 422)"
    )


@pytest.mark.parametrize(
    ("code", "kind"),
    [(429, ModelRateLimit), (502, ModelOverloaded), ("1261", ModelBadRequest), ("model_not_found", ModelNotFound)],
)
def test_an_error_inside_a_200_is_read_by_its_code(code: Any, kind: type[ModelError]) -> None:
    error = refused(200, {"error": {"code": code, "message": "No.", "type": "invalid_request_error"}})
    assert type(error) is kind


@pytest.mark.parametrize(
    "body", [[], [[]], [None], {"error": []}, {"message": 5}, {"detail": [[[]]]}, {"error": {"metadata": {"raw": "[" * 9000}}}]
)
def test_any_body_is_an_error_of_ours(body: Any) -> None:
    assert isinstance(refused(400, body), ModelBadRequest)


@pytest.mark.parametrize(
    ("text", "seconds"), [("Please retry in 7.5s.", 7.5), ("Rate limit reached. Please try again in 1s.", 1.0), ("Later.", None)]
)
def test_a_time_to_wait_is_read_from_the_text_where_no_header_tells_it(text: str, seconds: float | None) -> None:
    assert refused(429, {"error": {"message": text}}).retry_after == seconds


@pytest.mark.parametrize(
    ("provider", "status", "advice"),
    [
        ("openrouter", 402, "add credit to the account"),
        ("deepseek", 404, "GET /v1/models/ lists the models that exist"),
    ],
)
def test_an_error_names_the_provider_and_what_to_do(provider: str, status: int, advice: str) -> None:
    error = model_error(read_refusal(provider, status, {"error": {"message": "No."}}, {}))
    assert error.detail.startswith(f"{provider}: ")
    assert advice in error.detail


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        (of_dialect(GROQ, "gsk-a", None), "check GROQ_API_KEY"),
        (of_anthropic("sk-a", None), "check ANTHROPIC_API_KEY"),
        (of_dialect(GROQ, "gsk-a", None, "groq"), "check GROQ_API_KEY"),
        (of_bedrock("eu-central-1"), "check the AWS credentials of this process: its variables, AWS_PROFILE, or its role"),
        (of_vertex("project", "europe-west4"), "check GOOGLE_APPLICATION_CREDENTIALS"),
    ],
)
@pytest.mark.parametrize("own", [False, True])
def test_a_refused_key_is_put_right_where_it_was_set(settings: ProviderSettings | None, advice: str, own: bool) -> None:
    """A tenant, who may give its provider any name, sets no variable of the deployment."""
    assert settings is not None
    expected = "correct its api_key (a stored one by PATCH /v1/providers/{id})" if own else advice
    with pytest.raises(ModelAuthentication) as raised, redacted(Redaction(), key_advice(replace(settings, own=own))):
        raise model_error(read_refusal("groq", 401, {"error": {"message": "No."}}, {}))
    assert raised.value.detail == "groq: the API key was refused (status 401); " + expected
    with pytest.raises(ModelAuthentication) as raised, redacted(Redaction(), key_advice(settings)):
        raise ModelAuthentication("groq: the API key contains a line break; set it again without it")
    assert raised.value.detail.endswith("without it"), "what is not the provider's refusal says itself what to do"


def test_a_refused_key_names_the_provider_and_repeats_no_key() -> None:
    error = refused(401, {"error": {"message": "Incorrect API key provided: sk-planted-secret."}})
    assert type(error) is ModelAuthentication
    assert "groq: the API key was refused" in error.detail
    assert "planted" not in error.detail
