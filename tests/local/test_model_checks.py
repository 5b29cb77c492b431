"""`hibernaut models check`, against the servers of the conformance kit, which enforce the providers' rules."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hibernaut.local.command import main
from hibernaut.local.model_checks.checking import CheckOptions, check_models, most
from hibernaut.local.model_checks.checks import CHECKS, FORM
from hibernaut.local.profiles import CannotServe
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.wiring.settings import EmbeddedSettings
from tests.contracts.model.kit import (
    anthropic_messages,
    bedrock,
    bedrock_openai,
    compatible,
    gemini_native,
    openai_chat,
    openai_responses,
    vertex,
)
from tests.contracts.model.kit.plays import Fault, Play, ToolUse, reply
from tests.contracts.model.kit.server import KitServer, Provider

NOVA = next(each for each in bedrock.PROVIDERS if each.name == "bedrock-nova")
PROVIDERS = (
    openai_responses.PROVIDERS[1],
    anthropic_messages.PROVIDERS[0],
    gemini_native.GEMINI_NATIVE,
    compatible.DEEPSEEK,
    openai_chat.OPENAI,
    openai_chat.AZURE,
    bedrock.PROVIDERS[0],
    NOVA,
    bedrock_openai.PROVIDERS[0],
    *vertex.PROVIDERS,
)
AGREED = CheckOptions(agreed=True)


def stone(number: int) -> Play:
    return reply(ToolUse("next_stone", {"number": number}))


def heat(*cities: str) -> Play:
    return reply(*(ToolUse("temperature", {"city": city}) for city in cities))


STRUCTURED = reply('{"city": "Oslo", "degrees": 7}')
REPLIES: dict[str, Sequence[Play]] = {
    "plain reply": [reply("ready")],
    "streamed reply": [reply("one two three four")],
    "five tool calls": [*(stone(number) for number in (1, 10, 73, 9, 66)), reply("It is 61.")],
    "parallel calls": [heat("Oslo", "Rome", "Lima"), reply("4 in each, more or less.")],
    "memory edit": [
        reply(ToolUse("memory_insert", {"label": "human", "new_string": "Their dog is called Rex."})),
        reply("Saved."),
        reply("Rex."),
    ],
    "edit between messages": [heat("Oslo"), reply("4 degrees."), reply("Mia.")],
    "tool rule": [heat("Oslo"), reply("Good morning! It is 4 degrees.")],
    "narrowing rule": [stone(1), heat("Oslo"), reply("Done.")],
    "system message": [reply("ready"), reply("noted")],
    "after another model": [heat("Oslo"), reply("4 degrees."), heat("Lima"), reply("4 degrees again.")],
    "approval": [heat("Oslo"), reply("It is 4 degrees.")],
    "image in a return": [reply(ToolUse("take_photo")), reply("Red.")],
    "structured output": [STRUCTURED],
    "after a compaction": [reply("noted"), reply("noted"), reply("noted"), reply("They live in Oslo with Mia."), reply("ready")],
    "cancelled stream": [reply("one two three"), reply("ready")],
    "warm prefix": [reply("ready"), reply("steady")],
}


def settings(provider: Provider, server: KitServer) -> EmbeddedSettings:
    return EmbeddedSettings(data=Path("nowhere"), providers=provider.variables(server.address))


def plays(**instead: Sequence[Play]) -> list[Play]:
    return [play for check in CHECKS for play in instead.get(check.name.replace(" ", "_"), REPLIES[check.name])]


@pytest.fixture(params=PROVIDERS, ids=[each.name for each in PROVIDERS])
def server(request: pytest.FixtureRequest) -> Iterator[KitServer]:
    provider: Provider = request.param
    with provider.server(provider) as server:
        yield server


@pytest.fixture
def claude() -> Iterator[KitServer]:
    provider = anthropic_messages.PROVIDERS[0]
    with provider.server(provider) as server:
        yield server


def checked(server: KitServer, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = check_models(CheckOptions(models=[server.provider.handle], agreed=True), settings(server.provider, server))
    return code, capsys.readouterr().out


def outcomes(out: str) -> dict[str, str]:
    names = [check.name for check in CHECKS]
    return {name: line.removeprefix(name).strip() for line in out.splitlines() for name in names if line.startswith(f"{name}  ")}


def test_a_model_that_can_do_everything_passes_on_each_wire(server: KitServer, capsys: pytest.CaptureFixture[str]) -> None:
    lacks = {"structured output"} if server.provider in (compatible.DEEPSEEK, NOVA) else set()
    server.plays(*plays(**{name.replace(" ", "_"): () for name in lacks}))
    code, out = checked(server, capsys)
    assert server.broken == []
    assert (code, outcomes(out)) == (0, {name: "no" if name in lacks else "ok" for name in REPLIES}), out
    assert server.left == 0


@pytest.mark.parametrize(
    ("check", "replies", "remark"),
    [
        ("plain reply", [Fault("wrong_key")], "llm_authentication"),
        ("five tool calls", [stone(1), reply("It is 61.")], "it called the tool 1 times, not 5"),
        ("memory edit", [reply("I have saved it.")], "the fact is not in the memory block"),
        ("approval", [reply("It is 4 degrees.")], "it ended with end_turn"),
        ("edit between messages", [heat("Oslo"), reply("4 degrees."), reply("Rex?")], "it does not know what was written"),
        ("narrowing rule", [heat("Oslo"), reply("Done.")], "it called temperature"),
        ("after another model", [heat("Oslo"), reply("4 degrees."), reply("4 degrees again.")], "it did not call the tool"),
    ],
)
def test_what_a_model_cannot_do_is_named_with_its_reason(
    check: str, replies: Sequence[Play], remark: str, claude: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    claude.plays(*plays(**{check.replace(" ", "_"): replies}))
    code, out = checked(claude, capsys)
    assert (code, outcomes(out)[check]) == (1, "FAILED")
    assert [line for line in out.splitlines() if line.strip().startswith(f"{check}: ") and remark in line], out
    assert {name for name, word in outcomes(out).items() if word == "FAILED"} == {check}


def test_what_agents_can_do_without_fails_no_model(claude: KitServer, capsys: pytest.CaptureFixture[str]) -> None:
    claude.plays(*plays(structured_output=[reply("Seven degrees.")]))
    code, out = checked(claude, capsys)
    assert (code, outcomes(out)["structured output"]) == (0, "no")
    assert "structured output: the reply is not JSON" in out


def test_json_has_each_check_with_its_remark(claude: KitServer, capsys: pytest.CaptureFixture[str]) -> None:
    claude.plays(*plays(structured_output=[reply("Seven degrees.")]))
    options = CheckOptions(models=[claude.provider.handle], agreed=True, as_json=True)
    assert check_models(options, settings(claude.provider, claude)) == 0
    printed = capsys.readouterr()
    (told,) = json.loads(printed.out)
    assert "plain reply …" in printed.err
    assert (told["model"], told["ok"], told["model_calls"] > len(CHECKS)) == (claude.provider.handle, True, True)
    words = {each["check"]: each["outcome"] for each in told["checks"]}
    assert words == {name: "no" if name == "structured output" else "ok" for name in REPLIES}
    assert [each["remark"] for each in told["checks"] if each["outcome"] == "no"] == ["the reply is not JSON"]


def test_nothing_is_sent_without_agreement(
    claude: KitServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(CannotServe, match="--yes"):
        check_models(CheckOptions(models=[claude.provider.handle]), settings(claude.provider, claude))
    assert claude.left == 0
    assert [asked for asked in claude.requests if asked.method == "POST"] == []
    assert "its price is not known" in capsys.readouterr().out  # the server's address is nobody's


def test_the_price_of_the_checks_is_that_of_the_list() -> None:
    config = LLMConfig(model="gpt-5.4-mini", model_endpoint_type="openai", context_window=1, provider_name="openai")
    one = most(config, 1)
    assert one is not None
    assert one > 0
    assert most(config, 29) == one * 29
    assert most(config.model_copy(update={"model": "unheard-of"}), 1) is None


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (AGREED, "no provider is configured"),
        (CheckOptions(["openai"], agreed=True), "no provider openai is configured"),
        (CheckOptions(models=["unknown"], agreed=True), "provider/model-name"),
        (CheckOptions(models=["openai/gpt-5.4"], agreed=True), "OPENAI_API_KEY"),
    ],
)
def test_what_is_not_configured_is_named(options: CheckOptions, text: str) -> None:
    with pytest.raises(CannotServe, match=text) as refused:
        check_models(options, EmbeddedSettings(data=Path("nowhere")))
    assert refused.value.code == 2


def test_the_command_takes_its_options(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert main(["models", "check", "openai", "--yes"]) == 2
    assert "no provider openai is configured" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["models"])


def test_every_check_is_played_here() -> None:
    assert [check.name for check in CHECKS] == list(REPLIES)
    assert FORM["type"] == "json_schema"
