"""What a team sets when it grows: rates, concurrent streams, the time of tools, the default model."""

from __future__ import annotations

import json

import pytest

from hibernaut.wiring.settings import AwsSettings
from infra.capacity import LONGEST_TOOL
from infra.settings import FOLLOWERS, Settings, Sizes, settings_in
from tests.infra.conftest import synthesized
from tests.infra.reading import Template

WISHES = {
    "rate": "20",
    "burst": "40",
    "followers": "7",
    "toolTime": "300",
    "replyTime": "7200",
    "defaultModel": "openai/gpt-5.4",
}


@pytest.fixture(scope="module")
def sized(tmp_path_factory: pytest.TempPathFactory) -> Template:
    folder = tmp_path_factory.mktemp("cdk.out")
    done = synthesized(folder, *(f"{name}={value}" for name, value in WISHES.items()), "check=false")
    assert done.returncode == 0, done.stderr
    return Template(json.loads((folder / "Hibernaut-dev.template.json").read_text(encoding="utf-8")))


def test_the_stage_limits_requests_to_the_given_rate(sized: Template) -> None:
    (limits,) = sized.only("AWS::ApiGateway::Stage")["Properties"]["MethodSettings"]
    assert (limits["ThrottlingRateLimit"], limits["ThrottlingBurstLimit"]) == (20, 40)
    assert (limits["ResourcePath"], limits["HttpMethod"]) == ("/*", "*")


def test_streams_have_the_reserved_concurrency_that_is_asked_for(sized: Template) -> None:
    reserved = {name: made.get("ReservedConcurrentExecutions") for name, made in sized.functions().items()}
    assert {name: count for name, count in reserved.items() if count is not None} == {"stream": 7}
    assert settings_in({"env": "prod"}).sizes.stream.at_once == FOLLOWERS
    assert settings_in({"env": "prod", "followers": "none"}).sizes.stream.at_once is None
    assert settings_in({"env": "dev"}).sizes == Sizes()


def test_every_function_that_runs_tools_or_models_reads_what_was_set(sized: Template) -> None:
    for name in ("api", "stream", "advance_turn", "summarize"):
        variables = sized.functions()[name]["Environment"]["Variables"].items()
        plain = {key: value for key, value in variables if isinstance(value, str)}
        read = AwsSettings.from_environment({**plain, "HIBERNAUT_TABLE": "table"})
        assert (read.tool_timeout, read.agent_reply, read.default_model) == (300.0, 7200.0, "openai/gpt-5.4")


def test_without_wishes_the_server_s_own_defaults_apply(dev: Template) -> None:
    variables = dev.functions()["advance_turn"]["Environment"]["Variables"]
    assert "HIBERNAUT_TOOL_TIMEOUT" not in variables
    assert settings_in({}) == Settings("dev")


def test_a_tool_has_less_time_than_the_functions_that_wait_for_it() -> None:
    sizes = Sizes()
    assert min(sizes.advance_turn.timeout, sizes.run_tool.timeout) - LONGEST_TOOL >= 30


@pytest.mark.parametrize(
    "handle",
    ["bedrock/eu.anthropic.claude-sonnet-5-5", "hibernaut/demo", "openrouter/vendor/model", "google_vertex/gemini-3.5-flash"],
)
def test_a_default_model_is_of_a_provider_that_functions_can_have(handle: str) -> None:
    assert settings_in({"bedrockModels": "eu.anthropic.*", "defaultModel": handle}).default_model == handle


@pytest.mark.parametrize(
    ("context", "text"),
    [
        ({"rate": "0"}, "rate must be a whole number from 1, not '0'"),
        ({"burst": "-1"}, "burst must be a whole number from 1, not '-1'"),
        ({"followers": "0"}, "followers must be a whole number from 1, or none, not '0'"),
        ({"followers": "many"}, "followers must be a whole number from 1, or none, not 'many'"),
        ({"toolTime": "841"}, "toolTime must be from 1 to 840 seconds"),
        ({"toolTime": "1m"}, "toolTime must be a whole number from 1, not '1m'"),
        ({"replyTime": "43201"}, "replyTime must be from 1 to 43200 seconds"),
        ({"defaultModel": "gpt-5.4"}, "defaultModel must be a handle like openai/gpt-5.4 of anthropic, azure"),
        ({"defaultModel": "opnai/gpt-5.4"}, "not 'opnai/gpt-5.4'"),
        ({"defaultModel": "bedrock/amazon.nova-lite-v1:0"}, "is none that bedrockModels allows"),
        ({"defaultModel": "bedrock/amazon.nova-lite-v1:0", "bedrockModels": "none"}, r"allows \(none\)"),
    ],
)
def test_a_setting_that_cannot_hold_is_refused(context: dict[str, str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        settings_in(context)
