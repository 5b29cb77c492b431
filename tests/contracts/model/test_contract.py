"""The promises of the `Model` port, kept by every adapter that speaks to a provider (and, where it can be asked, by the demo)."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest

from hibernaut.adapters.model.demo.demo import DemoModel
from hibernaut.ports.model import Delta, ModelToolCall, ToolChoice
from hibernaut.schemas.base import JsonObject
from tests.contracts.model.spoken import KEY, Spoken, thoughts
from tests.support.rows import MEMORY_INSERT, SEARCH, Rows, called, gave

CALLS = [
    {"id": "call_a", "name": "memory_insert", "arguments": {"label": "human", "new_string": "Lives in Oslo."}},
    {"id": "call_b", "name": "conversation_search", "arguments": {"query": "Oslo"}},
]
FULL: dict[str, Any] = {"reasoning": "They told me where they live.", "content": "I will note that down.", "tool_calls": CALLS}
BOTH = (MEMORY_INSERT, SEARCH)


def hello(spoken: Spoken, **fields: Any) -> Any:
    return spoken.request(Rows().user("I live in Oslo"), **fields)


def test_a_text_comes_back_with_its_usage(spoken: Spoken) -> None:
    spoken.server.says(content="Hello there.")
    reply = spoken.model.complete(hello(spoken))
    assert (reply.text, reply.tool_calls, reply.finish_reason) == ("Hello there.", (), "stop")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.total_tokens) == (12, 5, 17)
    assert (reply.usage.cached_input_tokens, reply.usage.reasoning_tokens) == (None, None)
    assert (reply.model, reply.request_id) == ("test-model-2026", "req-1")


def test_reasoning_text_and_calls_come_back_in_order(spoken: Spoken) -> None:
    spoken.server.says(**FULL)
    reply = spoken.model.complete(hello(spoken, tools=BOTH))
    assert (len(reply.reasoning), thoughts(reply)) == (1, "They told me where they live.")
    assert reply.text == "I will note that down."
    assert [(call.id, call.name, json.loads(call.arguments)) for call in reply.tool_calls] == [
        (call["id"], call["name"], call["arguments"]) for call in CALLS
    ]
    assert reply.finish_reason == "tool_calls"


def test_a_streamed_reply_is_the_whole_in_pieces(spoken: Spoken) -> None:
    spoken.server.says(**FULL)
    deltas: list[Delta] = []
    reply = spoken.model.complete(hello(spoken, tools=BOTH), deltas.append)
    assert reply == spoken.model.complete(hello(spoken, tools=BOTH))
    assert len(deltas) > 12
    assert "".join(delta.text for delta in deltas if delta.kind == "text") == reply.text
    assert "".join(delta.text for delta in deltas if delta.kind == "reasoning") == FULL["reasoning"]
    for index, call in enumerate(reply.tool_calls):
        of_call = [delta for delta in deltas if delta.kind.startswith("tool") and delta.index == index]
        assert {delta.call_id for delta in of_call} == {call.id}
        assert [delta.text for delta in of_call if delta.kind == "tool_name"] == [call.name]
        assert "".join(delta.text for delta in of_call if delta.kind == "tool_arguments") == call.arguments


def test_broken_arguments_are_passed_on_as_they_were_written(spoken: Spoken) -> None:
    spoken.server.says(tool_calls=[{"id": "c", "name": "memory_insert", "arguments": '{"label": "hum'}])
    reply = spoken.model.complete(hello(spoken, tools=BOTH), lambda _: None)
    assert reply.tool_calls == (ModelToolCall("c", "memory_insert", '{"label": "hum'),)


@pytest.mark.parametrize(
    ("finish", "ours"), [("stop", "stop"), ("length", "length"), ("content_filter", "refusal"), ("a_new_reason", "other")]
)
def test_the_reason_to_finish_is_translated(spoken: Spoken, finish: str, ours: str) -> None:
    spoken.server.says(content="So", finish_reason=finish)
    assert spoken.model.complete(hello(spoken)).finish_reason == ours
    assert spoken.model.complete(hello(spoken), lambda _: None).finish_reason == ours


def test_calls_count_as_calls_whatever_the_reason_given(spoken: Spoken) -> None:
    spoken.server.says(tool_calls=CALLS, finish_reason="stop")
    assert spoken.model.complete(hello(spoken, tools=BOTH)).finish_reason == "tool_calls"


def test_the_payload_is_what_is_sent(spoken: Spoken) -> None:
    request = hello(spoken, tools=BOTH, parallel_tool_calls=True, user="user-1")
    spoken.model.complete(request)
    assert spoken.sent() == spoken.model.payload(request)


def grown(spoken: Spoken) -> list[JsonObject]:
    """The payloads of one conversation, as its log grows by turns, calls, approvals and notices."""
    rows = Rows()
    log = [
        [rows.user("I live in Oslo")],
        [rows.assistant("Let me note that.", called("call_a", "memory_insert", label="human")), rows.tool(gave("call_a"))],
        [rows.row("system", "The lights went out.")],
        [rows.assistant("Noted.  ")],
        [rows.user("And delete it all")],
        [
            rows.assistant("I would:", called("call_b", "conversation_search", query="x")),
            rows.asked_approval(called("call_c", "memory_insert", label="human")),
            rows.answered_approval({"type": "approval", "tool_call_id": "call_c", "approve": False}),
            rows.tool(gave("call_c", "denied", "error"), gave("call_b", "found")),
        ],
        [rows.user('{"type": "heartbeat"}')],
    ]
    upto = [[row for part in log[: n + 1] for row in part] for n in range(len(log))]
    return [spoken.model.payload(spoken.request(*rows, tools=BOTH)) for rows in upto]


def test_requests_that_share_rows_share_their_serialized_beginning(spoken: Spoken) -> None:
    payloads = grown(spoken)
    for shorter, longer in pairwise(payloads):
        assert longer[spoken.log][: len(shorter[spoken.log])] == shorter[spoken.log]
        assert json.dumps(longer[spoken.log]).startswith(json.dumps(shorter[spoken.log])[:-1])
        without = [{key: value for key, value in each.items() if key != spoken.log} for each in (shorter, longer)]
        assert json.dumps(without[0]) == json.dumps(without[1])


def test_every_call_that_is_sent_has_its_return_right_after_it(spoken: Spoken) -> None:
    text = json.dumps(grown(spoken)[-1][spoken.log])
    for call_id in ("call_a", "call_b", "call_c"):
        assert text.count(f'"{call_id}"') == 2
    assert text.index("call_c") < text.index("denied")
    assert "approve" not in text


def test_calls_and_returns_without_each_other_are_left_out(spoken: Spoken) -> None:
    rows = Rows()
    log = [rows.tool(gave("call_gone", "from before the cut")), rows.user("hi")]
    log += [
        rows.assistant("Wait.", called("call_lost", "memory_insert")),
        rows.tool(gave("call_gone")),
        rows.user("still there?"),
    ]
    text = json.dumps(spoken.model.payload(spoken.request(*log, tools=BOTH))[spoken.log])
    assert "call_gone" not in text
    assert "call_lost" not in text
    assert "Wait." in text


def test_a_request_that_still_waits_for_approval_is_not_shown(spoken: Spoken) -> None:
    rows = Rows()
    log = [rows.user("hi"), rows.assistant("I want to"), rows.asked_approval(called("call_p", "memory_insert"))]
    text = json.dumps(spoken.model.payload(spoken.request(*log, tools=BOTH))[spoken.log])
    assert "call_p" not in text
    assert "I want to" not in text


def test_a_return_given_twice_is_sent_once(spoken: Spoken) -> None:
    rows = Rows()
    call = called("call_a", "memory_insert")
    log = [
        rows.user("hi"),
        rows.assistant("", call, call),
        rows.tool(gave("call_a", "first")),
        rows.tool(gave("call_a", "second")),
    ]
    text = json.dumps(spoken.model.payload(spoken.request(*log, tools=BOTH))[spoken.log])
    assert (text.count('"call_a"'), "first" in text, "second" in text) == (2, True, False)


def test_an_id_that_a_provider_would_refuse_is_made_fit_and_stays_its_own(spoken: Spoken) -> None:
    rows = Rows()
    odd, long_one, longer = "call:1|é", "x" * 60, "x" * 61
    log = [rows.user("hi")]
    for call_id in (odd, long_one, longer):
        log += [rows.assistant("", called(call_id, "memory_insert")), rows.tool(gave(call_id))]
    text = json.dumps(spoken.model.payload(spoken.request(*log, tools=BOTH))[spoken.log])
    name = "call_id" if spoken.log == "input" else "tool_call_id" if spoken.kind == "openai" else "tool_use_id"
    ids = [part.split('"')[0] for part in text.split(f'"{name}": "')[1:]]
    assert len(set(ids)) == 3
    assert all(len(each) <= 40 and each.replace("-", "").replace("_", "").isalnum() and each.isascii() for each in ids)


def test_the_environment_changes_nothing_that_is_sent(spoken: Spoken, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "from-the-environment")
    for name in ("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.setenv(name, "Authorization: from-the-environment\nX-Api-Key: from-the-environment")
    spoken.model.complete(hello(spoken))
    headers = spoken.server.requests[-1].headers
    own = headers["authorization"] if spoken.kind == "openai" else headers["x-api-key"]
    assert own.endswith(KEY)
    if spoken.kind == "openai":
        assert not {"openai-organization", "openai-project"} & headers.keys()


def test_many_threads_share_one_adapter(spoken: Spoken) -> None:
    spoken.server.script = lambda messages, _: {"content": json.dumps(messages[-1]["content"])}
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda n: spoken.model.complete(spoken.request(Rows().user(f"<{n}>"))).text, range(40)))
    assert all(f"<{n}>" in reply for n, reply in enumerate(replies))


def test_the_demo_keeps_the_promises_that_need_no_wire() -> None:
    model = DemoModel()
    rows = Rows()
    request = Spoken("hibernaut", model, None).request(rows.user("My name is Ada"), tools=BOTH, choice=ToolChoice("auto"))  # type: ignore[arg-type]
    deltas: list[Delta] = []
    reply = model.complete(request, deltas.append)
    assert reply == model.complete(request)
    assert "".join(delta.text for delta in deltas if delta.kind == "tool_arguments") == reply.tool_calls[0].arguments
    assert json.loads(json.dumps(model.payload(request))) == model.payload(request)
    assert [row.handle for row in model.models()] == ["hibernaut/demo"]
