"""Streams of Chat Completions in the shapes that servers send, and cut in any way that a network cuts them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.adapters.model.dialects import ANY, OPENAI, Dialect
from hibernaut.adapters.model.openai.openai_replies import ChatSent, streamed, whole
from hibernaut.adapters.model.openai.think_tags import ThinkTags
from hibernaut.adapters.model.wire.http_stream import HttpAnswer
from hibernaut.ports.model import Delta, ModelReply
from hibernaut.schemas.errors import InvalidModelResponse, ModelConnection
from hibernaut.schemas.usage import Usage

COUNTS = {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}
DONE = {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}


def call(arguments: str, *, name: str | None = "f", **fields: Any) -> dict[str, Any]:
    """A chunk with a piece of a call."""
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return {"choices": [{"delta": {"tool_calls": [{"function": function} | fields]}}]}


def asked(dialect: Dialect = ANY, text: str = "hi") -> ChatSent:
    return ChatSent("openai", dialect, {"model": "m", "messages": [{"role": "user", "content": text}]})


def read(*chunks: dict[str, Any], dialect: Dialect = ANY) -> ModelReply:
    return streamed(asked(dialect), chunks, lambda _: None, None)


SHAPES: dict[str, list[dict[str, Any]]] = {
    "openai: numbered from 0, one id": [
        call("", index=0, id="a"), call('{"n"', name=None, index=0), call(": 1}", name=None, index=0),
        call("", index=1, id="b"), call('{"n": 2}', name=None, index=1),
    ],
    "sglang: whole, numbered from 1": [call('{"n": 1}', index=1, id="a"), call('{"n": 2}', index=2, id="b")],
    "llama.cpp: whole, no number, no id": [call('{"n": 1}'), call('{"n": 2}')],
    "lmstudio: whole, numbered, empty ids": [call('{"n": 1}', index=0, id=""), call('{"n": 2}', index=1, id="")],
    "all numbered 0, with ids": [call('{"n": 1}', index=0, id="a"), call('{"n": 2}', index=0, id="b")],
    "all numbered 0, without ids": [call('{"n": 1}', index=0), call('{"n": 2}', index=0)],
    "no number, ids repeated": [
        call('{"n"', id="a"), call(": 1}", id="a", name=None), call('{"n"', id="b"), call(": 2}", id="b", name=None),
    ],
    "no number, id once": [call("", id="a"), call('{"n": 1}', name=None), call("", id="b"), call('{"n": 2}', name=None)],
    "numbered from 1, interleaved": [
        call("", index=1, id="a"), call("", index=2, id="b"), call('{"n": 1}', name=None, index=1), call('{"n": 2}', name=None, index=2),
    ],
    "the name in each piece": [
        call('{"n"', index=0, id="a"), call(": 1}", index=0, id="a"), call('{"n"', index=1, id="b"), call(": 2}", index=1, id="b"),
    ],
    "both in one chunk, without ids": [
        {"choices": [{"delta": {"tool_calls": [{"function": {"name": "f", "arguments": {"n": n}}} for n in (1, 2)]}}]}
    ],
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_calls_stay_apart_and_whole_however_they_are_numbered(shape: str) -> None:
    reply = read(*SHAPES[shape], DONE)
    assert [(each.name, json.loads(each.arguments)) for each in reply.tool_calls] == [("f", {"n": 1}), ("f", {"n": 2})]
    ids = [each.id for each in reply.tool_calls]
    assert all(ids)
    assert len(set(ids)) == 2


def test_made_ids_differ_from_step_to_step() -> None:
    chunks = [call('{"n": 1}'), DONE]
    first, again, later = (streamed(asked(text=text), chunks, lambda _: None, None).tool_calls[0].id for text in ("a", "a", "b"))
    assert first == again != later


@pytest.mark.parametrize("given_id", ["a", ""])
def test_two_whole_calls_with_one_id_get_two(given_id: str) -> None:
    calls = [{"id": given_id, "function": {"name": "f", "arguments": "{}"}}] * 2
    reply = whole(asked(), {"choices": [{"message": {"tool_calls": calls}}]}, None)
    assert len({each.id for each in reply.tool_calls}) == 2


USAGES: dict[str, tuple[dict[str, Any], Usage]] = {
    "openai: cache writes": (
        {"usage": COUNTS | {"prompt_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 2}}},
        Usage(cached_input_tokens=8, cache_write_tokens=2),
    ),
    "groq: x_groq": ({"x_groq": {"id": "r", "usage": COUNTS | {"prompt_tokens_details": {"cached_tokens": 8}}}}, Usage(cached_input_tokens=8)),
    "moonshot: in the choice": (
        {"choices": [{"delta": {}, "finish_reason": "stop", "usage": COUNTS | {"cached_tokens": 8}}]}, Usage(cached_input_tokens=8)
    ),
    "sglang: cached tokens at the top, details null": (
        {"usage": COUNTS | {"cached_tokens": 8, "prompt_tokens_details": None, "reasoning_tokens": 3}},
        Usage(cached_input_tokens=8, reasoning_tokens=3),
    ),
    "deepseek: cache hits": ({"usage": COUNTS | {"prompt_cache_hit_tokens": 8}}, Usage(cached_input_tokens=8)),
    "xai: details": ({"usage": COUNTS | {"completion_tokens_details": {"reasoning_tokens": 3}}}, Usage(reasoning_tokens=3)),
}  # fmt: skip


@pytest.mark.parametrize("place", USAGES)
def test_usage_is_found_where_the_server_tells_it(place: str) -> None:
    chunk, counted = USAGES[place]
    said = {"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]}
    wanted = counted.model_copy(update={"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14})
    assert read(said, {"choices": []} | chunk).usage == wanted
    body = {"choices": [{"message": {"content": "x"}} | chunk.get("choices", [{}])[0]]} | {
        k: v for k, v in chunk.items() if k != "choices"
    }
    assert whole(asked(), body, None).usage == wanted


@pytest.mark.parametrize("tag", ["think", "reasoning"])
@given(
    st.lists(
        st.sampled_from(["<{}>", "</{}>", "<thi", "nk>", "<reas", "oning>", " ", "\n", "hm", "so", "</", "{}>"]), max_size=8
    ),
    st.data(),
)
def test_thoughts_in_a_text_are_the_same_however_it_is_cut(tag: str, words: list[str], data: st.DataObject) -> None:
    text = "".join(words).replace("{}", tag)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert separated(pieces) == separated([text])
    reasoning, said = separated([text])
    opened = next((each for each in ("think", "reasoning") if text.lstrip().startswith(f"<{each}>")), None)
    if opened is None:
        assert (reasoning, said) == ("", text)
    else:
        assert f"</{opened}>" not in reasoning


def separated(pieces: list[str]) -> tuple[str, str]:
    tags = ThinkTags()
    found = [part for piece in pieces for part in tags.take(piece)] + list(tags.end())
    return tuple("".join(text for kind, text in found if kind == wanted) for wanted in ("reasoning", "text"))  # type: ignore[return-value]


def test_openais_text_about_the_tag_is_text() -> None:
    said = {"choices": [{"delta": {"content": "<think> is a tag"}, "finish_reason": "stop"}]}
    assert read(said, dialect=OPENAI).text == "<think> is a tag"


class _Bytes:
    """A response whose body arrives in these pieces."""

    is_closed = False
    headers: dict[str, str] = {}  # noqa: RUF012

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces

    def iter_bytes(self) -> Iterator[bytes]:
        return iter(self.pieces)


RECORDED = [
    {"id": "r", "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
    {"id": "r", "choices": [{"index": 0, "delta": {"reasoning_content": "Ich überlege …"}}]},
    {"id": "r", "choices": [{"index": 0, "delta": {"content": "Zürich: 山\u2028\n"}}]},
    {
        "id": "r",
        "choices": [
            {"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x": '}}]}}
        ],
    },
    {"id": "r", "choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '"山"}'}}]}}]},
    {"id": "r", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    {"id": "r", "choices": [], "usage": COUNTS},
]
COMMENTS = [b"", b": keep-alive\n\n", b": OPENROUTER PROCESSING\n", b"event: message\n", b"\n", b"retry: 10\n"]


def heard(pieces: list[bytes]) -> tuple[ModelReply, list[tuple[str, str]]]:
    answer = HttpAnswer("openai", _Bytes(pieces), float("inf"), lambda: None)  # type: ignore[arg-type]
    deltas: list[Delta] = []
    reply = streamed(asked(), answer.events(), deltas.append, None)
    return reply, [(each.kind, each.text) for each in deltas]


def shuffled(value: Any, data: st.DataObject) -> Any:
    """The value with the members of its objects in another order."""
    if isinstance(value, dict):
        return {name: shuffled(value[name], data) for name in data.draw(st.permutations(sorted(value)))}
    return [shuffled(each, data) for each in value] if isinstance(value, list) else value


@given(st.data())
def test_a_stream_is_the_same_however_its_bytes_arrive(data: st.DataObject) -> None:
    plain = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode() for chunk in RECORDED] + [b"data: [DONE]\n\n"]
    wanted = heard(plain)
    body = b""
    for chunk in RECORDED:
        prefix = data.draw(st.sampled_from(["data: ", "data:"]))
        body += data.draw(st.sampled_from(COMMENTS))
        body += f"{prefix}{json.dumps(shuffled(chunk, data), ensure_ascii=data.draw(st.booleans()))}\n\n".encode()
    body += b"data: [DONE]\n\n" if data.draw(st.booleans()) else b""
    if data.draw(st.booleans()):
        body = body.replace(b"\n", b"\r\n")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=12)))
    pieces = [body[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert heard([piece for piece in pieces if piece]) == wanted


def test_a_stream_is_never_half_a_reply_at_whichever_byte_it_is_cut() -> None:
    """The reason to finish comes behind the last piece: with it the reply is whole but for its usage, without it the connection
    broke.
    """
    events = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode() for chunk in RECORDED]
    raw, enough = b"".join(events), len(b"".join(events[:-1]).rstrip())
    reply, _ = heard([raw])
    for upto in range(len(raw)):
        if upto >= enough:
            found, _ = heard([raw[:upto]])
            assert (found.text, found.reasoning, found.tool_calls) == (reply.text, reply.reasoning, reply.tool_calls)
        else:
            with pytest.raises((ModelConnection, InvalidModelResponse)):
                heard([raw[:upto]])
