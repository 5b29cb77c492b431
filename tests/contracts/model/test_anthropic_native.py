"""Replies of Claude go back as they came: block by block, to the model that gave them, and to no other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hibernaut.adapters.model.anthropic.anthropic import AnthropicModel
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.ports.model import Model, ModelReply, ModelRequest
from hibernaut.schemas.content import OmittedReasoningContent, ReasoningContent, RedactedReasoningContent, TextContent
from hibernaut.schemas.messages.message import FunctionCall, Message, ToolCall
from hibernaut.schemas.messages.native import NativeReply
from hibernaut.schemas.models.llm_config import LLMConfig
from tests.contracts.model.spoken import KEY, Spoken
from tests.support.messages_streams import message, stream, text, thinking, use
from tests.support.provider_servers import ScriptedAnthropic
from tests.support.rows import MEMORY_INSERT, SEARCH, Rows, called, gave

ADAPTIVE, BUDGET, BOUND = "claude-sonnet-5", "claude-haiku-4-5", "claude-opus-5-5"
BOTH = (SEARCH, MEMORY_INSERT)


INTERLEAVED = [
    thinking("One.", "s1"),
    text("First. \n"),
    use("toolu:1|é" + "x" * 60, query="a"),
    {"type": "redacted_thinking", "data": "cipher"},
    thinking("", "s2"),
    text("  Then. ", citations=None),
    use("toolu_2", query="ü\u2028"),
]
"""Thinking between text and calls, one block without its text, an id that our own form would shorten."""


def asked(
    anthropic: Spoken, blocks: list[dict[str, Any]], *, streams: bool, model: str = ADAPTIVE, stop: str = "tool_use"
) -> ModelReply:
    anthropic.server.says(raw=b"".join(stream(blocks, stop)) if streams else json.dumps(message(blocks, stop)).encode())
    request = anthropic.request(Rows().user("hi"), model=model, tools=BOTH)
    return anthropic.model.complete(request, (lambda _: None) if streams else None)


@pytest.mark.parametrize("streams", [True, False])
def test_the_blocks_of_a_reply_are_kept_as_they_came(anthropic: Spoken, streams: bool) -> None:
    kept = asked(anthropic, INTERLEAVED, streams=streams).native
    calls = [INTERLEAVED[2]["id"], "toolu_2"]
    assert kept == NativeReply(wire="messages", provider="anthropic", model=ADAPTIVE, items=INTERLEAVED, calls=calls)


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(
    ("last", "stop"),
    [({"type": "thinking", "thinking": "And", "signature": ""}, "max_tokens"), (use("c") | {"input": '{"qu'}, "max_tokens")],
)
def test_a_reply_that_was_cut_inside_a_block_is_not_kept(
    anthropic: Spoken, last: dict[str, Any], stop: str, streams: bool
) -> None:
    """Thinking without its signature and calls without their input are refused."""
    assert asked(anthropic, [text("So"), last], streams=streams, stop=stop).native is None


def test_a_server_that_seals_nothing_gets_its_thoughts_back_as_well(anthropic: Spoken) -> None:
    blocks = [{"type": "thinking", "thinking": "hm"}, text("So")]
    kept = asked(anthropic, blocks, streams=False, model="of-others", stop="end_turn").native
    assert kept is not None
    log = [Rows().user("hi"), row(kept), Rows().user("and?")]
    assert payload(anthropic, *log, model="of-others")["messages"][1]["content"] == blocks


def row(kept: NativeReply, *, words: str = "So", step: str = "step-1") -> Message:
    """An assistant row with a reply's calls, as the engine stores it."""
    uses = [item for item in kept.items if item["type"] == "tool_use"]
    calls = [ToolCall(id=use["id"], function=FunctionCall(name=use["name"], arguments=json.dumps(use["input"]))) for use in uses]
    return Rows().row("assistant", words, tool_calls=calls or None, step_id=step, native=kept)


def native(*blocks: dict[str, Any], model: str = ADAPTIVE, provider: str = "anthropic") -> NativeReply:
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    return NativeReply(wire="messages", provider=provider, model=model, items=list(blocks), calls=calls)


def payload(anthropic: Spoken, *messages: Any, model: str = ADAPTIVE, **fields: Any) -> dict[str, Any]:
    return anthropic.model.payload(anthropic.request(*messages, model=model, **fields))


def answered(kept: NativeReply) -> list[Message]:
    """A conversation whose last reply is waiting for what its calls returned."""
    rows = Rows()
    return [rows.user("hi"), row(kept), rows.tool(*(gave(call) for call in reversed(kept.calls)))]


def test_a_reply_goes_back_as_it_came_with_results_in_the_order_of_its_calls(anthropic: Spoken) -> None:
    kept = native(*INTERLEAVED)
    [_, spoken, results] = payload(anthropic, *answered(kept))["messages"]
    assert spoken == {"role": "assistant", "content": INTERLEAVED}
    assert [(block["type"], block["tool_use_id"]) for block in results["content"]] == [
        ("tool_result", call) for call in kept.calls
    ]


def test_rows_without_their_own_blocks_are_sent_without_thinking(anthropic: Spoken) -> None:
    parts = [
        ReasoningContent(reasoning="deep", signature="sealed"),
        RedactedReasoningContent(data="cipher"),
        OmittedReasoningContent(signature="sealed too"),
        TextContent(text="said"),
    ]
    log = [Rows().user("hi"), Rows().assistant([*parts], model=ADAPTIVE), Rows().user("and?")]
    assert payload(anthropic, *log)["messages"][1]["content"] == [text("said")]


@pytest.mark.parametrize(
    ("blocks", "sent"),
    [
        ([text(""), text("a"), text(" "), use("c")], [text("a"), text(" "), use("c")]),
        ([thinking("x"), text("\n\n"), use("c")], [thinking("x"), use("c")]),
    ],
)
def test_texts_that_the_api_sends_but_does_not_take_back_are_left_out(anthropic: Spoken, blocks: Any, sent: Any) -> None:
    """Empty texts anywhere, white space that is a message's only text (LibreChat-AI/agents#124 lists what the API answers)."""
    assert payload(anthropic, *answered(native(*blocks)))["messages"][1]["content"] == sent


@pytest.mark.parametrize("model", [ADAPTIVE, BOUND])
def test_with_thinking_switched_off_no_thinking_goes_back(anthropic: Spoken, model: str) -> None:
    """ "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`"
    (tailcallhq/forgecode#1853).
    """
    anthropic.server.models = [{"id": model}]
    sent = payload(anthropic, *answered(native(*INTERLEAVED, model=model)), model=model, config={"enable_reasoner": False})
    assert {block["type"] for block in sent["messages"][1]["content"]} == {"text", "tool_use"}


def test_where_changed_prefixes_cannot_be_dropped_bound_thinking_stays_here(anthropic: Spoken) -> None:
    """A server that does not show itself as Anthropic's may refuse the beta, and then a memory edit would break the
    conversation.
    """
    sent = payload(anthropic, *answered(native(*INTERLEAVED, model=BOUND)), model=BOUND)
    assert [block["type"] for block in sent["messages"][1]["content"]] == ["text", "tool_use", "text", "tool_use"]


def test_with_a_budget_a_loop_that_another_model_began_is_ended_without_thinking(anthropic: Spoken) -> None:
    """ "a final `assistant` message must start with a thinking block" (anomalyco/opencode#3077). The next loop thinks again."""
    rows = Rows()
    foreign = native(text("I help."), use("c"), model="another")
    own = native(thinking("x"), use("d"), model=BUDGET)
    began = payload(anthropic, *answered(own), model=BUDGET)
    assert (began["thinking"]["type"], began["messages"][1]["content"]) == ("enabled", own.items)
    mixed = [*answered(own), row(foreign, words="I help.", step="step-2"), rows.tool(gave("c"))]
    stopped = payload(anthropic, *mixed, model=BUDGET)
    assert "thinking" not in stopped
    assert [block["type"] for block in stopped["messages"][1]["content"]] == ["tool_use"]
    assert payload(anthropic, *mixed, rows.user("next"), model=BUDGET)["thinking"]["type"] == "enabled"


@pytest.mark.parametrize(("model", "last"), [(ADAPTIVE, "user"), (BUDGET, "user"), ("of-others", "assistant")])
def test_claude_is_never_asked_to_continue_its_own_message(anthropic: Spoken, model: str, last: str) -> None:
    """ "Prefill not supported" (errors page of the API; `messages` in message_create_params.py)."""
    rows = Rows()
    one = payload(anthropic, rows.user("hi"), rows.assistant("I begin."), model=model)["messages"]
    both = payload(anthropic, rows.user("hi"), rows.assistant("I begin."), rows.assistant("I end."), rows.user("ok"), model=model)
    assert one[-1]["role"] == last
    assert both["messages"][: len(one)] == one, "what was sent stays the beginning of what is sent"


class Chain:
    """Two providers, as an agent with a fallback model asks them."""

    def __init__(self, *servers: ScriptedAnthropic) -> None:
        names = ("anthropic", "house")
        self.adapters: dict[str, Model] = {
            name: AnthropicModel(api_key=KEY, base_url=server.url, windows=ContextWindows(), name=name)
            for name, server in zip(names, servers, strict=True)
        }
        self.servers = dict(zip(names, servers, strict=True))
        self.rows = Rows()
        self.log = [self.rows.user("hi")]

    def step(self, name: str, *blocks: dict[str, Any]) -> list[dict[str, Any]]:
        """One step of a run at this provider, and the messages that it was sent."""
        server = self.servers[name]
        server.says(raw=json.dumps(message(list(blocks))).encode())
        config = LLMConfig(model=ADAPTIVE, model_endpoint_type="anthropic", context_window=32_000)
        reply = self.adapters[name].complete(ModelRequest(config=config, system="", messages=self.log, tools=BOTH))
        calls = [called(call.id, call.name, **json.loads(call.arguments)) for call in reply.tool_calls]
        spoken = self.rows.assistant([*reply.reasoning, TextContent(text=reply.text)], *calls, model=ADAPTIVE)
        spoken.native, spoken.step_id = reply.native, f"step-{len(self.log)}"
        self.log += [spoken, self.rows.tool(*(gave(call.id) for call in calls))]
        sent: list[dict[str, Any]] = server.requests[-1].body["messages"]
        return sent


def test_a_fallback_in_the_middle_of_a_run_hands_no_models_thinking_to_another() -> None:
    with ScriptedAnthropic() as own, ScriptedAnthropic() as other:
        chain = Chain(own, other)
        first = [thinking("Mine.", "s1"), text("I look."), use("a")]
        helped = [thinking("Theirs.", "t1"), text("I help."), use("b")]
        chain.step("anthropic", *first)
        assert "Mine." not in json.dumps(chain.step("house", *helped))
        back = chain.step("anthropic", thinking("Back.", "s2"), use("c"))
        spoken = [each["content"] for each in back if each["role"] == "assistant"]
        assert spoken == [first, [text("I help."), use("b")]]
