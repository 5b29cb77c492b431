"""A server of Chat Completions refuses a part of a request by its name: the request without it is sent at once, and later ones
omit it.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest

from hibernaut.adapters.model.dialects import ANY, AZURE, VLLM, XAI, Dialect
from hibernaut.adapters.model.openai.chat_completions import OpenAIModel
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.ports.model import Delta, ToolChoice
from hibernaut.schemas.content import ImageContent, TextContent, UrlImage
from hibernaut.schemas.errors import ContextWindowExceeded, ModelBadRequest
from tests.contracts.model.spoken import Spoken
from tests.support.provider_http import Wire
from tests.support.rows import TEXT, Rows, called, gave, tool

HEARD: list[Delta] = []
FULL = {"temperature": 0.5, "frequency_penalty": 0.5, "max_tokens": 9, "reasoning_effort": "low"}
STRICT = tool("ring", required=("a",), strict=True, a=TEXT)
REFUSALS: dict[str, tuple[Dialect, Any]] = {
    # chenyme/grok2api#814: the error is a text
    "reasoning_effort": (
        XAI,
        {"code": "invalid-argument", "error": "Model grok-4.3 does not support parameter reasoningEffort."},
    ),
    # microsoft/vscode#274315
    "temperature": (
        AZURE,
        "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.",
    ),
    "frequency_penalty": (ANY, "Argument not supported on this model: frequencyPenalty"),
    # microsoft/vscode-copilot-release#8054
    "max_tokens": (
        ANY,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ),
    "parallel_tool_calls": (AZURE, "Unsupported parameter: 'parallel_tool_calls' is not supported with this model."),
    # can1357/oh-my-pi#827
    "tool_choice": (ANY, "tool_choice 'required' is incompatible with thinking enabled"),
    "prompt_cache_key": (AZURE, "Unrecognized request argument supplied: prompt_cache_key"),
    "stream_options": (ANY, "Extra inputs are not permitted (body.stream_options)"),
    "user": (ANY, {"detail": [{"type": "extra_forbidden", "loc": ["body", "user"], "msg": "Extra inputs are not permitted"}]}),
}


def speaking(openai: Spoken, dialect: Dialect) -> OpenAIModel:
    return OpenAIModel(api_key="k", base_url=openai.server.url, windows=ContextWindows(), name="mine", dialect=dialect)


def asked(openai: Spoken, model: str, **fields: Any) -> Any:
    options: dict[str, Any] = {"tools": (STRICT,), "choice": ToolChoice("required"), "user": "u", "cache_key": "c"} | fields
    return openai.request(Rows().user("Hi."), model=model, config=FULL, **options)


def says(openai: Spoken, *answers: Wire) -> None:
    """These answers, in this order."""
    left = list(answers)
    openai.server.script = lambda *_: left.pop(0)


def refusal(said: Any) -> Wire:
    body = {"error": {"message": said, "type": "invalid_request_error"}} if isinstance(said, str) else said
    return {"status": 422 if isinstance(said, dict) and "detail" in said else 400, "body": body}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refused_part_is_omitted_at_once_and_from_then_on(openai: Spoken, name: str, caplog: pytest.LogCaptureFixture) -> None:
    dialect, said = REFUSALS[name]
    model = speaking(openai, dialect)
    says(openai, refusal(said), {"content": "One."}, {"content": "Two."}, {"content": "Other."})
    with caplog.at_level(logging.WARNING):
        assert [model.complete(asked(openai, "grok-4.3"), HEARD.append).text for _ in range(2)] == ["One.", "Two."]
    first, second, third = (each.body for each in openai.server.requests)
    renamed = {"max_completion_tokens": 9} if name == "max_tokens" else {}
    assert second == {key: value for key, value in first.items() if key != name} | renamed
    assert name in first
    assert third == second
    assert [record.__dict__["part"] for record in caplog.records if record.message == "a part of a request was refused"] == [name]
    model.complete(asked(openai, "grok-4.5"), HEARD.append)
    assert openai.server.requests[-1].body == first | {"model": "grok-4.5"}, "what one model refuses, another may take"
    preview = model.payload(asked(openai, "grok-4.3"))
    assert preview == {key: value for key, value in second.items() if key not in ("stream", "stream_options")}


def test_strict_tools_are_sent_loose_after_a_refusal(openai: Spoken) -> None:
    model = speaking(openai, ANY)
    says(openai, refusal("Extra inputs are not permitted (body.tools.0.function.strict)"), {"content": "One."})
    assert model.complete(asked(openai, "m")).text == "One."
    first, second = (each.body["tools"][0]["function"] for each in openai.server.requests)
    assert second == {key: value for key, value in first.items() if key != "strict"}
    assert first["strict"] is True


def test_a_deployment_of_azure_whose_model_takes_tools_only_without_reasoning(openai: Spoken) -> None:
    """The name of a deployment does not tell its model (litellm#34569)."""
    model = speaking(openai, AZURE)
    tools = "Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions. To use function tools, use"
    says(openai, refusal(f"{tools} /v1/responses or set reasoning_effort to 'none'."), {"content": "One."}, {"content": "Two."})
    assert model.complete(asked(openai, "our-chat")).text == "One."
    assert model.complete(asked(openai, "our-chat", tools=())).text == "Two."
    assert [each.body.get("reasoning_effort") for each in openai.server.requests] == [None, "none", None]


def test_a_model_that_takes_tools_by_responses_alone_says_so(openai: Spoken) -> None:
    model = speaking(openai, AZURE)
    tools = "Function tools with reasoning_effort are not supported for gpt-6-astra in /v1/chat/completions. To use function tools, use"
    says(openai, *[refusal(f"{tools} /v1/responses.")] * 3)
    with pytest.raises(ModelBadRequest, match="use /v1/responses"):
        model.complete(asked(openai, "our-chat"))
    assert [each.body.get("reasoning_effort") for each in openai.server.requests] == [None, "none", None]


def test_users_and_the_assistant_take_turns_where_a_template_wants_it(openai: Spoken) -> None:
    """Gemma's template on vLLM (suitenumerique/conversations#197)."""
    look = [TextContent(text="Look."), ImageContent(source=UrlImage(url="https://x/a.png"))]
    model, rows = speaking(openai, VLLM), Rows()
    log = [
        rows.user("Hi."),
        rows.row("system", "The lights went out."),
        rows.assistant("", called("c", "ring")),
        rows.tool(gave("c")),
    ]
    request = openai.request(*log, rows.user("And?"), rows.user(look))
    says(openai, refusal("Conversation roles must alternate user/assistant/user/assistant/..."), {"content": "One."})
    assert model.complete(request).text == "One."
    before, after = (each.body["messages"] for each in openai.server.requests)
    assert [message["role"] for message in before] == ["system", "user", "user", "assistant", "tool", "user", "user"]
    assert [message["role"] for message in after] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert after[1]["content"] == "Hi.\n\n<system_alert>\nThe lights went out.\n</system_alert>"
    assert after[-1]["content"] == [{"type": "text", "text": "And?"}, *before[-1]["content"]]


def test_several_refused_parts_are_omitted_one_after_another(openai: Spoken) -> None:
    model = speaking(openai, AZURE)
    refused = ("temperature", "parallel_tool_calls", "frequency_penalty")
    says(openai, *(refusal(f"Unsupported parameter: '{name}' is not supported.") for name in refused), {"content": "One."})
    assert model.complete(asked(openai, "m"), HEARD.append).text == "One."
    assert not openai.server.requests[-1].body.keys() & set(refused)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("Invalid value: temperature must be between 0 and 2.", ModelBadRequest),
        ("max_tokens is too large: 9. This model supports at most 4 completion tokens.", ModelBadRequest),
        ("Unexpected role 'user' after role 'tool'", ModelBadRequest),
        ("Unsupported parameter: 'logprobs' is not supported with this model.", ModelBadRequest),
        ("Unsupported value: response_format 'json_schema' is not supported with this model.", ModelBadRequest),
        ("This model's maximum context length is 9 tokens; temperature is not supported.", ContextWindowExceeded),
    ],
)
def test_what_a_request_cannot_do_without_surfaces(openai: Spoken, said: str, error: type[Exception]) -> None:
    says(openai, refusal(said), {"content": "One."})
    with pytest.raises(error):
        speaking(openai, ANY).complete(asked(openai, "m"))
    assert len(openai.server.requests) == 1


def test_a_part_that_was_refused_in_vain_is_sent_again(openai: Spoken) -> None:
    model = speaking(openai, ANY)
    says(openai, refusal("'temperature' is not supported."), refusal("The request is wrong."), {"content": "One."})
    with pytest.raises(ModelBadRequest, match="The request is wrong"):
        model.complete(asked(openai, "m"))
    assert model.complete(asked(openai, "m")).text == "One."
    assert openai.server.requests[-1].body["temperature"] == 0.5


@pytest.mark.parametrize(
    "said",
    [
        '"llama3.1:8b" does not support thinking',  # Gitlawb/openclaude#1371
        'think value "medium" is not supported for this model',  # ollama/ollama#12561
        "reasoning_effort is not enabled for this model",  # NousResearch/hermes-agent#11243
        "reasoning_effort: Input should be 'low', 'medium' or 'high'",
    ],
)
def test_an_effort_that_a_model_does_not_take_is_omitted_for_this_effort_alone(openai: Spoken, said: str) -> None:
    model = speaking(openai, VLLM)
    says(openai, refusal(said), *({"content": "Yes."} for _ in range(3)))
    high = openai.request(Rows().user("Hi."), config=FULL | {"reasoning_effort": "high"})
    for request in (asked(openai, "local-model"), asked(openai, "local-model"), high):
        model.complete(request, HEARD.append)
    assert [each.body.get("reasoning_effort") for each in openai.server.requests] == ["low", None, None, "high"]


def test_a_refused_choice_of_tools_leaves_the_other_choices(openai: Spoken) -> None:
    model = speaking(openai, ANY)
    says(openai, refusal("tool_choice must be one of none, auto"), *({"content": "Yes."} for _ in range(2)))
    for choice in (ToolChoice("required"), ToolChoice("none")):
        model.complete(asked(openai, "local-model", choice=choice), HEARD.append)
    assert [each.body.get("tool_choice") for each in openai.server.requests] == ["required", None, "none"]


def test_the_assistants_first_messages_take_turns_with_a_user_too(openai: Spoken) -> None:
    said = "Conversation roles must alternate user/assistant/user/assistant/..."
    says(openai, refusal(said), {"content": "Yes."})
    log = Rows()
    rows = [log.assistant("Hello,"), log.assistant("I am Ada."), log.user("Hi.")]
    speaking(openai, VLLM).complete(openai.request(*rows, model="gemma"), HEARD.append)
    sent = openai.server.requests[-1].body["messages"]
    assert [each["role"] for each in sent] == ["system", "user", "assistant", "user"]
    assert sent[2]["content"] == "Hello,\n\nI am Ada."
