"""What each Claude is sent, by what its provider's list or our table says of it. The rules are those of the pages
"Troubleshooting thinking", "Effort", "What's new in …" and "Migration guide" of each model (platform.claude.com, November 2026).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hibernaut.adapters.model.anthropic.anthropic import AnthropicModel
from hibernaut.adapters.model.anthropic.anthropic_list import LOOK_SECONDS, AnthropicModelList
from hibernaut.adapters.model.prices.context_windows import ContextWindows, ProviderPlace
from hibernaut.adapters.model.wire.provider_client import ProviderClient, fixed
from hibernaut.ports.model import ToolChoice, ToolSpec
from hibernaut.schemas.errors import ModelBadRequest
from hibernaut.schemas.models.llm_config import JsonObjectResponseFormat, JsonSchemaResponseFormat
from tests.contracts.model.claude_table import table
from tests.contracts.model.spoken import KEY, Spoken
from tests.support.provider_servers import ScriptedAnthropic
from tests.support.rows import SEARCH, Rows, tool

DROP = {"prefix_mismatch_behavior": "drop_block"}
SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}
SUMMARIZED = {"type": "adaptive", "display": "summarized"}
BOUND = [
    "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1", "claude-fable-5-2", "claude-mythos-5-1",
]  # fmt: skip


@dataclass
class HandClock:
    """Seconds that pass when a test says so."""

    seconds: float = 1000.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class Claude:
    """The adapter with a server whose list has these rows, and a clock."""

    server: ScriptedAnthropic
    clock: HandClock = field(default_factory=HandClock)

    def __post_init__(self) -> None:
        self.model = AnthropicModel(api_key=KEY, base_url=self.server.url, windows=ContextWindows(), now=self.clock)
        self.spoken = Spoken("anthropic", self.model, self.server)

    def sent(self, model: str, **fields: Any) -> tuple[dict[str, Any], list[str]]:
        """The body of a call, and its beta headers."""
        self.model.complete(self.spoken.request(Rows().user("hi"), model=model, **fields))
        asked = self.server.requests[-1]
        return asked.body, [beta for beta in asked.headers.get("anthropic-beta", "").split(",") if beta]


@pytest.fixture
def claude() -> Iterator[Claude]:
    with ScriptedAnthropic() as server:
        yield Claude(server)


def official(model: str, **fields: Any) -> dict[str, Any]:
    """The body for Anthropic's own address, of whose list nothing is known yet."""
    adapter = AnthropicModel(api_key=None, windows=ContextWindows())
    return adapter.payload(Spoken("anthropic", adapter, None).request(Rows().user("hi"), model=model, **fields))  # type: ignore[arg-type]


def listed(name: str, *types: str, efforts: tuple[str, ...] = ("low", "medium", "high"), **fields: Any) -> dict[str, Any]:
    """A row of the list as `ModelInfo` has it (anthropic 2.12.0)."""
    kinds = ("adaptive", "between_tools", "disabled", "enabled")
    levels = ("low", "medium", "high", "max", "xhigh")
    capabilities = {
        "thinking": {"supported": bool(types), "types": {kind: {"supported": kind in types} for kind in kinds}},
        "effort": {"supported": bool(efforts)} | {level: {"supported": level in efforts} for level in levels},
        "structured_outputs": {"supported": fields.pop("structured", True)},
    }
    return {"id": name, "max_input_tokens": 200_000, "max_tokens": 64_000, "capabilities": capabilities} | fields


@pytest.mark.parametrize("model", ["claude-opus-4-6", "claude-sonnet-4-6", "claude-opus-4-8", "claude-opus-5", "claude-sonnet-5"])
def test_newer_models_find_their_own_budget(model: str) -> None:
    sent = official(model, config={"effort": "high"})
    assert (sent["thinking"], sent["output_config"]) == (SUMMARIZED, {"effort": "high"})


@pytest.mark.parametrize("model", BOUND)
def test_models_whose_thinking_is_bound_are_told_to_drop_what_no_longer_fits(model: str) -> None:
    """`BetaThinkingBlockBindingParam` (anthropic 2.12.0); "Fix a thinking block bound to a different conversation"."""
    assert official(model)["thinking"] == SUMMARIZED | {"block_binding": DROP}


def test_the_drop_of_bound_thinking_needs_a_header(claude: Claude) -> None:
    claude.server.models = [listed("claude-opus-5-5", "adaptive"), listed("claude-sonnet-5", "adaptive", "disabled")]
    body, betas = claude.sent("claude-opus-5-5")
    assert (body["thinking"]["block_binding"], betas) == (DROP, ["thinking-binding-controls-2026-08-01"])
    body, betas = claude.sent("claude-sonnet-5")
    assert (body["thinking"], betas) == (SUMMARIZED, [])


@pytest.mark.parametrize("row", [None, {"id": "claude-opus-5-5"}])
def test_a_server_that_does_not_show_itself_as_anthropics_gets_no_beta(claude: Claude, row: Any) -> None:
    claude.server.models = [row] if row else []
    assert claude.sent("claude-opus-5-5") == (claude.sent("claude-opus-5-5")[0], [])
    assert claude.spoken.sent()["thinking"] == SUMMARIZED


def test_thinking_has_a_budget_below_the_output_limit_on_older_models() -> None:
    sent = official("claude-sonnet-4-5", config={"max_reasoning_tokens": 8000, "max_tokens": 4096})
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 8000}
    assert sent["max_tokens"] > 8000
    assert official("claude-haiku-4-5", config={"max_reasoning_tokens": 10})["thinking"]["budget_tokens"] == 1024


def test_a_budget_leaves_room_in_the_limit_that_the_provider_tells(claude: Claude) -> None:
    claude.server.models = [listed("claude-haiku-4-5", "enabled", "disabled", max_tokens=8192)]
    body, _ = claude.sent("claude-haiku-4-5", config={"max_reasoning_tokens": 50_000, "max_tokens": 100_000})
    assert (body["thinking"]["budget_tokens"], body["max_tokens"]) == (4096, 8192)


@pytest.mark.parametrize(("model", "betas"), [("claude-haiku-4-5", ["interleaved-thinking-2025-05-14"]), ("claude-sonnet-5", [])])
def test_only_older_models_need_a_header_to_think_between_calls(claude: Claude, model: str, betas: list[str]) -> None:
    claude.server.models = [listed("claude-haiku-4-5", "enabled", "disabled"), listed("claude-sonnet-5", "adaptive", "disabled")]
    assert claude.sent(model)[1] == betas
    claude.server.models = []
    assert Claude(claude.server).sent(model)[1] == []


OFF = {"enable_reasoner": False}


@pytest.mark.parametrize(
    ("model", "thinking", "effort"),
    [
        ("claude-3-5-haiku-20241022", None, None),
        ("claude-haiku-4-5", None, None),
        ("claude-opus-4-6", {"type": "disabled"}, None),
        ("claude-sonnet-5", {"type": "disabled"}, None),
        ("claude-haiku-5-5", {"type": "disabled"}, None),
        ("claude-sonnet-5-5", {"type": "between_tools"}, None),
        ("claude-fable-5", {"type": "adaptive", "display": "omitted"}, "low"),
        ("claude-opus-5-5", {"type": "adaptive", "display": "omitted", "block_binding": DROP}, "low"),
    ],
)
def test_reasoning_that_is_off_is_switched_off_as_far_as_the_model_lets_it(model: str, thinking: Any, effort: str | None) -> None:
    """From Opus 5 on, leaving `thinking` out no longer switches it off; 5.5 refuses `disabled`, but for Haiku."""
    sent = official(model, config=OFF)
    assert (sent.get("thinking"), sent.get("output_config", {}).get("effort")) == (thinking, effort)


@pytest.mark.parametrize("model", ["claude-sonnet-5", "claude-sonnet-5-5", "claude-haiku-5-5"])
def test_without_thinking_no_effort_is_above_high(model: str) -> None:
    assert official(model, config=OFF | {"effort": "max"})["output_config"] == {"effort": "high"}


@pytest.mark.parametrize(
    ("model", "wanted", "sent"),
    [
        ("claude-opus-5-5", "xhigh", "xhigh"),
        ("claude-sonnet-4-6", "max", "max"),
        ("claude-sonnet-4-6", "xhigh", "high"),
        ("claude-opus-4-5", "max", "high"),
        ("claude-haiku-4-5", "high", None),
        ("claude-next-9", "max", "high"),
    ],
)
def test_an_effort_that_the_model_lacks_becomes_the_next_lower_one(model: str, wanted: str, sent: str | None) -> None:
    assert official(model, config={"effort": wanted}).get("output_config", {}).get("effort") == sent


@pytest.mark.parametrize("mode", ["required", "named"])
@pytest.mark.parametrize(
    ("model", "config", "forced"),
    [
        ("claude-sonnet-4-5", {}, False),
        ("claude-sonnet-4-5", OFF, True),
        ("claude-sonnet-4-6", {}, False),
        ("claude-sonnet-5", OFF, True),
        ("claude-sonnet-5-5", OFF, False),
        ("claude-opus-5-5", {}, False),
        ("claude-fable-5-1", OFF, False),
        ("claude-next-9", OFF, False),
    ],
)
def test_a_tool_is_forced_only_where_the_model_does_not_think_and_takes_it(
    mode: Any, model: str, config: Any, forced: bool
) -> None:
    """can1357/oh-my-pi#12939, vercel/ai#21364; "Forced tool use returns an error" (What's new in Claude Sonnet 5.5)."""
    choice = official(model, config=config, tools=(SEARCH,), choice=ToolChoice(mode, "conversation_search"))["tool_choice"]
    assert (choice["type"] in ("any", "tool"), choice["disable_parallel_tool_use"]) == (forced, True)


@pytest.mark.parametrize(
    ("model", "config", "sent"),
    [
        ("claude-haiku-4-5", OFF, 0.2),
        ("claude-opus-4-6", OFF, 0.2),
        ("claude-haiku-4-5", {}, None),
        ("claude-opus-4-8", OFF, None),
        ("claude-sonnet-5", OFF, None),
        ("claude-next-9", OFF, None),
    ],
)
def test_a_temperature_is_sent_only_to_models_that_take_it_and_do_not_think(model: str, config: Any, sent: float | None) -> None:
    """A value other than the default is 400 from Opus 4.7 on (migration guides), and for all while they think."""
    assert official(model, config=config | {"temperature": 0.2}).get("temperature") == sent
    assert "temperature" not in official(model, config=config | {"temperature": 1.0})


def test_the_version_that_these_bodies_are_written_for_is_named(claude: Claude) -> None:
    claude.sent("claude-sonnet-5")
    assert claude.server.requests[-1].headers["anthropic-version"] == "2023-06-01"


@pytest.mark.parametrize("given", [{"name": "n", "schema": SCHEMA}, SCHEMA])
def test_a_schema_for_the_reply_is_handed_over(given: dict[str, Any]) -> None:
    sent = official("claude-sonnet-4-5", config={"response_format": JsonSchemaResponseFormat(json_schema=given)})
    assert sent["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}


ANSWER = ToolSpec("structured_output", "Answer.", {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]})


def answered_in(model: str, schema: dict[str, Any], **config: Any) -> dict[str, Any]:
    """The body of a question whose answer has a schema."""
    answer = ToolSpec(ANSWER.name, ANSWER.description, schema)
    return official(model, tools=(answer,), choice=ToolChoice("named", answer.name), reply_schema=schema, config=config)


def test_an_answer_in_a_form_is_a_forced_call_where_a_call_can_be_forced() -> None:
    sent = answered_in("claude-sonnet-5", ANSWER.parameters, enable_reasoner=False)
    assert (sent["thinking"], sent["tool_choice"]["name"]) == ({"type": "disabled"}, ANSWER.name)
    assert "format" not in sent.get("output_config", {})


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5"])
def test_an_answer_in_a_form_is_a_structured_output_where_no_call_can_be_forced(model: str) -> None:
    sent = answered_in(model, ANSWER.parameters, enable_reasoner=False)
    assert sent["output_config"]["format"]["schema"] == ANSWER.parameters | {"additionalProperties": False}
    assert not {"tools", "tool_choice"} & set(sent)


def test_a_form_that_has_no_grammar_is_offered_as_a_tool() -> None:
    sent = answered_in("claude-opus-5-5", {"type": "object", "properties": {"x": {"pattern": "a+"}}}, enable_reasoner=False)
    assert (sent["tool_choice"]["type"], [each["name"] for each in sent["tools"]]) == ("auto", [ANSWER.name])
    assert "format" not in sent.get("output_config", {})


@pytest.mark.parametrize(
    ("model", "wanted", "advice"),
    [
        ("claude-opus-4-1", JsonSchemaResponseFormat(json_schema=SCHEMA), "a model with structured outputs"),
        ("a-model-of-others", JsonSchemaResponseFormat(json_schema=SCHEMA), "a model with structured outputs"),
        ("claude-sonnet-5", JsonObjectResponseFormat(), "'json_schema' with a schema"),
    ],
)
def test_a_form_of_reply_that_the_model_lacks_is_refused_clearly(model: str, wanted: Any, advice: str) -> None:
    with pytest.raises(ModelBadRequest, match=f"anthropic: {model} has no response_format .*{advice}"):
        official(model, config={"response_format": wanted})


def test_tools_are_strict_only_where_the_model_has_strict_tools() -> None:
    strict = tool("f", strict=True)
    [sent], [loose] = (official(model, tools=(strict,))["tools"] for model in ("claude-sonnet-5", "claude-opus-4-1"))
    assert (sent["strict"], sent["input_schema"]["additionalProperties"]) == (True, False)
    assert "strict" not in loose


def test_what_the_list_tells_counts_more_than_the_table(claude: Claude) -> None:
    claude.server.models = [listed("claude-haiku-4-5", "adaptive", "disabled", efforts=("low",), structured=False)]
    body, _ = claude.sent("claude-haiku-4-5", config={"effort": "high"})
    assert (body["thinking"], body["output_config"]) == (SUMMARIZED, {"effort": "low"})
    with pytest.raises(ModelBadRequest):
        claude.sent("claude-haiku-4-5", config={"response_format": JsonSchemaResponseFormat(json_schema=SCHEMA)})


def test_a_model_of_another_name_is_what_its_list_says(claude: Claude) -> None:
    claude.server.models = [listed("house-model", "adaptive", "disabled", efforts=("low", "max"))]
    body, betas = claude.sent("house-model", config={"effort": "max"})
    assert (body["thinking"]["type"], body["output_config"]["effort"], betas) == (
        "adaptive",
        "max",
        ["thinking-binding-controls-2026-08-01"],
    )


def test_before_the_first_call_of_an_unknown_model_the_list_is_read_once(claude: Claude) -> None:
    claude.server.models = [listed("claude-next-9", "adaptive", "disabled", efforts=("max",))]
    for _ in range(3):
        body, _ = claude.sent("claude-next-9", config={"effort": "max"})
        assert body["output_config"] == {"effort": "max"}
    assert len(claude.server.listings) == 1


@pytest.mark.parametrize("says", [None, {"status": 404, "body": {}}, {"status": 200, "body": b"<html>"}])
def test_a_model_that_no_list_knows_is_looked_for_every_five_minutes_at_most(claude: Claude, says: Any) -> None:
    claude.server.listing_says = says
    for seconds in (0.0, LOOK_SECONDS - 1, 1.0):
        claude.clock.seconds += seconds
        for model in ("claude-next-9", "of-others"):
            claude.sent(model)
    assert len(claude.server.listings) == 2


def test_a_list_that_was_just_read_is_not_read_again_for_a_call(claude: Claude) -> None:
    claude.model.models()
    claude.sent("claude-next-9")
    assert len(claude.server.listings) == 1


@pytest.mark.parametrize("says", [{"status": 500, "body": {}}, {"status": 200, "body": {"data": []}}])
def test_a_list_that_fails_or_is_empty_leaves_what_was_known(claude: Claude, says: Any) -> None:
    claude.server.models = [listed("claude-next-9", "adaptive", efforts=("max",))]
    claude.model.models()
    claude.server.listing_says = says
    assert claude.model.models() == []
    assert claude.sent("claude-next-9", config={"effort": "max"})[0]["output_config"] == {"effort": "max"}


@pytest.mark.parametrize(("model", "looks"), [("claude-opus-5-5", 0), ("claude-haiku-4-5-20251001", 0), ("claude-next-9", 1)])
def test_at_anthropics_own_address_the_table_saves_the_look(claude: Claude, model: str, looks: int) -> None:
    place = ProviderPlace("anthropic", "anthropic", claude.server.url)
    kept = AnthropicModelList(place, ContextWindows(), official=True)
    with ProviderClient("anthropic", claude.server.url, fixed({})).call() as call:
        kept.look(call, model)
    assert len(claude.server.listings) == looks


@pytest.mark.parametrize(("life", "marker"), [("5m", {"type": "ephemeral"}), ("1h", {"type": "ephemeral", "ttl": "1h"})])
def test_the_markers_say_how_long_the_prefix_is_kept(life: Any, marker: Any) -> None:
    """`CacheControlEphemeralParam.ttl` (anthropic 2.12.0), 5m where it is left out. At most four markers (page "Prompt
    caching").
    """
    adapter = AnthropicModel(api_key=None, windows=ContextWindows(), cache_life=life)
    request = Spoken("anthropic", adapter, None).request(Rows().user("hi"), tools=(SEARCH, SEARCH))  # type: ignore[arg-type]
    sent = adapter.payload(request)
    assert [sent["cache_control"], sent["system"][-1]["cache_control"], sent["tools"][-1]["cache_control"]] == [marker] * 3
    assert str(sent).count("cache_control") == 3


def test_the_page_of_models_has_the_table_of_claude() -> None:
    page = Path(__file__).parents[3] / "docs" / "models.md"
    assert table() in page.read_text(encoding="utf-8")
