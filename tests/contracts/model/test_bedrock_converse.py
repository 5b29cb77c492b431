"""Bedrock's Converse: what is sent for which model, what is learned from refusals, and replies from streams that are cut
anywhere.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.adapters.model.bedrock.bedrock import BedrockModel
from hibernaut.adapters.model.bedrock.converse_replies import ConverseSent, streamed, whole
from hibernaut.adapters.model.bedrock.event_stream import CONTENT_TYPE, events
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.adapters.model.provider_settings import of_bedrock
from hibernaut.adapters.model.wire.http_stream import HttpAnswer
from hibernaut.ports.model import Delta, ModelReply, ModelRequest, ToolChoice
from hibernaut.schemas.content import Base64Image, ImageContent, TextContent, UrlImage
from hibernaut.schemas.errors import InvalidModelResponse, ModelBadRequest, ModelConnection, ModelError
from hibernaut.schemas.models.llm_config import JsonObjectResponseFormat, JsonSchemaResponseFormat, LLMConfig
from tests.contracts.model.kit.bedrock import CONVERSES, ConverseServer
from tests.contracts.model.kit.bedrock_rules import REGION, refusal
from tests.contracts.model.kit.converse_rules import DEEPSEEK, LLAMA, NOVA
from tests.contracts.model.kit.plays import reply, ring
from tests.contracts.model.test_gemini_streams import shuffled
from tests.support import event_frames
from tests.support.provider_http import Recorded
from tests.support.rows import MEMORY_INSERT, Rows, called, gave

SENT = ConverseSent("bedrock", "m", {})
TEXTS = st.text(alphabet=st.sampled_from('ab \n"{}é\u2028\U0001f600'), min_size=1, max_size=12)
BLOCKS = st.one_of(
    st.builds(lambda text: {"text": text}, TEXTS),
    st.builds(lambda text: {"reasoningContent": {"reasoningText": {"text": text, "signature": "s"}}}, TEXTS),
    st.builds(lambda data: {"reasoningContent": {"redactedContent": data}}, TEXTS),
    st.builds(
        lambda number, values: {"toolUse": {"toolUseId": f"t{number}", "name": "ring", "input": values}},
        st.integers(1, 99),
        st.dictionaries(st.sampled_from("abc"), TEXTS, max_size=2),
    ),
)
REPLIES = st.builds(
    lambda blocks, last, stop: ([*blocks, {"text": last}], stop),
    st.lists(BLOCKS, max_size=3),
    TEXTS,
    st.sampled_from(["end_turn", "tool_use", "max_tokens", "content_filtered", "a_new_reason"]),
)
USAGE = {"inputTokens": 5, "outputTokens": 3, "totalTokens": 18, "cacheReadInputTokens": 8, "cacheWriteInputTokens": 2}


@pytest.fixture
def server() -> Iterator[ConverseServer]:
    with ConverseServer(CONVERSES[0]) as started:
        yield started


def bedrock(server: ConverseServer) -> BedrockModel:
    settings = of_bedrock(REGION, url=server.address)
    assert settings is not None
    return BedrockModel(settings, windows=ContextWindows())


def request(model: str = NOVA, *rows: Any, config: dict[str, Any] | None = None, **fields: Any) -> ModelRequest:
    made = LLMConfig(model=model, model_endpoint_type="bedrock", context_window=32_000, **(config or {}))
    asked: dict[str, Any] = {"system": "Be kind.", "timeout": 20.0} | fields
    return ModelRequest(config=made, messages=rows or (Rows().user("Hello."),), **asked)


def frames(blocks: Sequence[Any], stop: str, ordered: Callable[[Any], Any] = lambda content: content) -> list[bytes]:
    """The events of a reply, one for each character. `ordered` puts the members of an event into another order."""

    def event(kind: str, content: Any) -> bytes:
        return event_frames.event(kind, ordered(content))

    sent = [event("messageStart", {"role": "assistant"})]
    for index, block in enumerate(blocks):
        place = {"contentBlockIndex": index}
        if use := block.get("toolUse"):
            sent.append(
                event("contentBlockStart", {"start": {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}} | place)
            )
        sent += [event("contentBlockDelta", {"delta": delta} | place) for delta in deltas(block)]
        sent.append(event("contentBlockStop", place))
    return [*sent, event("messageStop", {"stopReason": stop}), event("metadata", {"usage": USAGE, "metrics": {"latencyMs": 1}})]


def deltas(block: Any) -> Iterator[Any]:
    match block:
        case {"text": text}:
            yield from ({"text": letter} for letter in text)
        case {"toolUse": use}:
            yield from ({"toolUse": {"input": letter}} for letter in json.dumps(use["input"], ensure_ascii=False))
        case {"reasoningContent": {"reasoningText": told}}:
            yield from ({"reasoningContent": {"text": letter}} for letter in told["text"])
            yield {"reasoningContent": {"signature": told["signature"]}}
        case {"reasoningContent": {"redactedContent": data}}:
            yield {"reasoningContent": {"redactedContent": data}}


def read(raw: bytes, places: Sequence[int] = (), say: Any = lambda _: None) -> ModelReply:
    def pieces() -> Iterator[bytes]:
        for start, end in zip([0, *places], [*places, len(raw)], strict=True):
            yield raw[start:end]

    response = httpx2.Response(200, headers={"content-type": CONTENT_TYPE}, content=pieces())
    return streamed(SENT, events(HttpAnswer("bedrock", response, math.inf, lambda: None)), say, "r-1")


def at_once(blocks: Sequence[Any], stop: str) -> ModelReply:
    body = {"output": {"message": {"role": "assistant", "content": list(blocks)}}, "stopReason": stop, "usage": USAGE}
    return whole(SENT, body, "r-1")


def same(one: ModelReply, other: ModelReply) -> bool:
    """Whether two replies say the same; what was received may be written differently."""
    return all(
        getattr(one, name) == getattr(other, name)
        for name in ("text", "reasoning", "tool_calls", "finish_reason", "usage", "request_id")
    )


@given(st.data(), REPLIES)
def test_however_a_stream_arrives_it_is_the_whole_in_pieces(data: st.DataObject, said: Any) -> None:
    raw = b"".join(frames(*said, partial(shuffled, Random(data.draw(st.integers(0, 2**32))))))
    heard: list[Delta] = []
    found = read(raw, sorted(data.draw(st.sets(st.integers(1, len(raw) - 1), max_size=12))), heard.append)
    assert same(found, at_once(*said))
    assert "".join(delta.text for delta in heard if delta.kind == "text") == found.text
    for number, call in enumerate(found.tool_calls):
        own = [delta for delta in heard if delta.kind.startswith("tool") and delta.index == number]
        assert {delta.call_id for delta in own} == {call.id}
        assert "".join(delta.text for delta in own if delta.kind == "tool_arguments") == call.arguments


def test_a_stream_is_never_half_a_reply_at_whichever_byte_it_is_cut() -> None:
    said = [{"text": "é"}, {"toolUse": {"toolUseId": "t", "name": "ring", "input": {"a": "b"}}}], "tool_use"
    sent = frames(*said)
    raw, first, enough = b"".join(sent), len(sent[0]), len(b"".join(sent[:-1]))
    for upto in range(len(raw)):
        if upto >= enough:
            assert read(raw[:upto]).tool_calls == at_once(*said).tool_calls
        else:
            with pytest.raises(ModelConnection if upto >= first else InvalidModelResponse):
                read(raw[:upto])


@given(st.recursive(st.none() | st.booleans() | st.integers() | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(
    st.sampled_from(["output", "message", "content", "text", "toolUse", "toolUseId", "name", "input", "reasoningContent", "usage", "stopReason"]), inner
), max_leaves=12))  # fmt: skip
def test_any_other_body_is_a_reply_or_an_error_of_ours(body: Any) -> None:
    try:
        whole(SENT, body if isinstance(body, dict) else {"output": {"message": {"content": [body]}}}, None)
    except ModelError:
        return


def test_cached_tokens_are_part_of_the_prompt() -> None:
    used = at_once([{"text": "Hi."}], "end_turn").usage
    assert (used.prompt_tokens, used.cached_input_tokens, used.cache_write_tokens, used.completion_tokens) == (15, 8, 2, 3)


@pytest.mark.parametrize("stop", ["malformed_model_output", "malformed_tool_use"])
def test_a_reply_that_the_model_broke_is_invalid(stop: str) -> None:
    with pytest.raises(InvalidModelResponse, match=stop):
        at_once([{"text": "Hi."}], stop)


def test_a_forced_choice_is_sent_where_the_model_takes_it(server: ConverseServer) -> None:
    named = {"tools": (MEMORY_INSERT,), "choice": ToolChoice("named", "memory_insert")}
    config = bedrock(server).payload(request(NOVA, **named))["toolConfig"]
    assert config["toolChoice"] == {"tool": {"name": "memory_insert"}}
    assert "toolChoice" not in bedrock(server).payload(request(DEEPSEEK, **named))["toolConfig"]


@pytest.mark.parametrize(
    ("status", "text", "member"),
    [
        (
            400,
            "This model doesn't support the toolConfig.toolChoice.any field. Remove toolConfig.toolChoice.any and try again.",
            "'toolChoice'",
        ),
        (403, "You invoked an unsupported model or your request did not allow prompt caching.", "'cachePoint'"),
    ],
)
def test_what_a_model_refuses_is_left_out_from_then_on(server: ConverseServer, status: int, text: str, member: str) -> None:
    own = server.answer

    def strict(asked: Recorded) -> Any:
        return refusal(text, status).wire() if member in str(asked.body) else own(asked)

    server.answer = strict  # type: ignore[method-assign]
    server.plays(reply("One."), reply("Two."))
    model = bedrock(server)
    asked = request(NOVA, tools=(MEMORY_INSERT,), choice=ToolChoice("required"))
    assert [model.complete(asked).text, model.complete(asked).text] == ["One.", "Two."]
    assert [member in str(each.body) for each in server.requests] == [True, False, False]
    assert member in str(bedrock(server).payload(asked))


def test_a_model_that_streams_no_tools_is_asked_as_a_whole(server: ConverseServer) -> None:
    own = server.answer

    def strict(asked: Recorded) -> Any:
        streams = asked.path.endswith("-stream") and "toolConfig" in asked.body
        return refusal("This model doesn't support tool use in streaming mode.").wire() if streams else own(asked)

    server.answer = strict  # type: ignore[method-assign]
    server.plays(reply("One."), reply("Two."), reply("Three."))
    model = bedrock(server)
    for asked in (
        request(NOVA, tools=(MEMORY_INSERT,)),
        request(NOVA, tools=(MEMORY_INSERT,)),
        request(LLAMA, tools=(MEMORY_INSERT,)),
    ):
        model.complete(asked, lambda _: None)
    operations = [each.path.rpartition("/")[2] for each in server.requests]
    assert operations == ["converse-stream", "converse", "converse", "converse"]


def test_other_refusals_are_not_tried_again(server: ConverseServer) -> None:
    server.answer = lambda _: refusal("This model doesn't support tool use.").wire()  # type: ignore[method-assign]
    with pytest.raises(ModelBadRequest, match="doesn't support tool use"):
        bedrock(server).complete(request(DEEPSEEK, tools=(MEMORY_INSERT,)))
    assert len(server.requests) == 1


def test_calls_are_told_as_text_if_the_request_has_no_tools(server: ConverseServer) -> None:
    rows = Rows()
    log = (
        rows.user("Note it."),
        rows.assistant("I do.", called("c1", "memory_insert", label="human")),
        rows.tool(gave("c1", "done")),
    )
    sent = bedrock(server).payload(request(NOVA, *log))["messages"]
    assert "toolUse" not in str(sent)
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert "memory_insert" in sent[1]["content"][1]["text"]
    assert sent[2]["content"][0]["text"].startswith("[returned: ")
    server.plays(reply("Good."))
    assert bedrock(server).complete(request(NOVA, *log)).text == "Good."


def test_images_are_bytes_of_four_formats(server: ConverseServer) -> None:
    def image(source: Any) -> ImageContent:
        return ImageContent(source=source)

    parts = [
        image(Base64Image(media_type="image/jpg", data="aGk=")),
        image(Base64Image(media_type="image/tiff", data="aGk=")),
        image(UrlImage(url="https://example.org/a.png")),
        TextContent(text="What?"),
    ]
    content = bedrock(server).payload(request(NOVA, Rows().user(parts)))["messages"][0]["content"]
    assert content[0] == {"image": {"format": "jpeg", "source": {"bytes": "aGk="}}}
    assert [block["text"] for block in content[1:]] == [
        "[image of type image/tiff cannot be shown here]",
        "[image https://example.org/a.png cannot be shown here]",
        "What?",
    ]


def test_log_probabilities_are_refused_before_anything_is_sent(server: ConverseServer) -> None:
    with pytest.raises(ModelBadRequest, match="Converse gives no log probabilities"):
        bedrock(server).complete(request(NOVA, config={"return_logprobs": True}))


SCHEMA = {
    "type": "object",
    "properties": {"at": {"type": "object", "properties": {"x": {"type": "integer"}}}},
    "required": ["at"],
}


def in_form(**schema: Any) -> dict[str, Any]:
    return {"response_format": JsonSchemaResponseFormat(json_schema=schema)}


def test_a_schema_for_the_reply_is_sent_where_the_model_takes_one(server: ConverseServer) -> None:
    server.plays(reply('{"at": {"x": 1}}'), reply('{"at": {"x": 1}}'))
    for config in (in_form(name="my place", schema=SCHEMA), in_form(**SCHEMA)):
        assert bedrock(server).complete(request(DEEPSEEK, config=config)).text == '{"at": {"x": 1}}'
    assert server.broken == []
    sent = server.requests[0].body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]
    assert (sent["name"], json.loads(sent["schema"])["properties"]["at"]["additionalProperties"]) == ("my_place", False)
    assert "additionalProperties" not in SCHEMA, "the agent's own schema is unchanged"


def test_a_single_answer_has_its_form_where_no_call_can_be_forced(server: ConverseServer) -> None:
    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
    asked = request(DEEPSEEK, tools=(MEMORY_INSERT,), choice=ToolChoice("required"), reply_schema=schema)
    sent = bedrock(server).payload(asked)
    assert "toolConfig" not in sent
    assert json.loads(sent["outputConfig"]["textFormat"]["structure"]["jsonSchema"]["schema"])["required"] == ["sum"]
    forced = bedrock(server).payload(replace(asked, config=request(NOVA).config))
    assert "outputConfig" not in forced
    assert forced["toolConfig"]["toolChoice"] == {"any": {}}


@pytest.mark.parametrize(
    ("model", "form", "said"),
    [
        (NOVA, in_form(**SCHEMA), "takes no response_format 'json_schema' here; use 'text', or a model with structured output"),
        (LLAMA, in_form(**SCHEMA), "takes no response_format 'json_schema' here"),
        (DEEPSEEK, {"response_format": JsonObjectResponseFormat()}, "takes no response_format 'json_object' here; use 'json_schema'"),
    ],
)  # fmt: skip
def test_a_form_that_a_model_does_not_have_is_refused_before_anything_is_sent(
    server: ConverseServer, model: str, form: dict[str, Any], said: str
) -> None:
    with pytest.raises(ModelBadRequest, match=said):
        bedrock(server).complete(request(model, config=form))
    assert server.requests == []


def test_a_call_of_the_model_comes_back_with_its_id(server: ConverseServer) -> None:
    server.plays(reply("I ring.", ring()))
    found = bedrock(server).complete(request(NOVA, tools=(MEMORY_INSERT,)), lambda _: None)
    assert [(call.name, call.arguments) for call in found.tool_calls] == [("ring", '{"x": "bell 1"}')]
    assert found.native is None
