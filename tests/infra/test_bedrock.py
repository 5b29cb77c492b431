"""Who may invoke which model of Bedrock: the policies of the templates, evaluated against the calls that the functions make."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import pytest

from hibernaut.adapters.model.provider_settings import configured
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.schemas.base import JsonObject
from infra.bedrock_models import DEFAULT_MODELS, default_handle, foundation_model, models_in
from infra.settings import settings_in
from tests.infra.reading import Template, listed

REGION, ACCOUNT = "eu-central-1", "123456789012"
HAIKU, SONNET, NOVA = "anthropic.claude-haiku-5-5", "anthropic.claude-sonnet-5-5", "amazon.nova-lite-v1:0"
CALLING = {"stream", "advance_turn", "summarize", "fire_schedule"}
INVOKE = ("bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream")


def rendered(value: Any) -> str:
    """A resource or a condition with the pseudo parameters of a deployment."""
    match value:
        case str():
            return value
        case {"Ref": "AWS::Partition"}:
            return "aws"
        case {"Ref": "AWS::Region"}:
            return REGION
        case {"Ref": "AWS::AccountId"}:
            return ACCOUNT
        case {"Fn::Join": [between, parts]}:
            return str(between).join(rendered(part) for part in parts)
        case _:
            return "?"


def allows(statement: JsonObject, action: str, resource: str, through: str | None) -> bool:
    """Whether the statement allows the action on the resource; `through`: the inference profile by way of which it is reached."""
    if statement["Effect"] != "Allow" or action not in listed(statement.get("Action", [])):
        return False
    wanted = statement.get("Condition", {}).get("ArnLike", {}).get("bedrock:InferenceProfileArn")
    if wanted is not None and (through is None or not fnmatchcase(through, rendered(wanted))):
        return False
    return any(fnmatchcase(resource, rendered(each)) for each in listed(statement["Resource"]))


def may_invoke(template: Template, function: str, model: str, action: str = INVOKE[0]) -> bool:
    """Whether a call of the model succeeds: of a profile, if the profile and the model in every region that it may choose are
    allowed.
    """
    statements = template.statements(template.role_of(function))
    own = foundation_model(model)
    profile = f"arn:aws:bedrock:{REGION}:{ACCOUNT}:inference-profile/{model}" if own != model else None
    regions = (REGION,) if profile is None else (REGION, "eu-west-3", "us-east-1", "")
    needed = [(f"arn:aws:bedrock:{region}::foundation-model/{own}", profile) for region in regions]
    needed += [(profile, None)] if profile else []
    return all(any(allows(each, action, resource, through) for each in statements) for resource, through in needed)


@pytest.mark.parametrize("action", INVOKE)
def test_functions_that_call_models_may_invoke_the_default_model(prod: Template, action: str) -> None:
    (default,) = DEFAULT_MODELS
    assert {name for name in prod.functions() if may_invoke(prod, name, default, action)} == CALLING


def test_nothing_else_is_allowed(prod: Template) -> None:
    for model in (HAIKU, f"eu.{HAIKU}", f"global.{SONNET}", NOVA, f"global.{HAIKU}-v2"):
        assert [name for name in prod.functions() if may_invoke(prod, name, model)] == []


def test_exactly_the_models_of_the_setting_are_allowed(large: Template) -> None:
    for function in CALLING:
        for model in (f"eu.{SONNET}", NOVA, "us.anthropic.claude-opus-5-5"):
            assert may_invoke(large, function, model), (function, model)
        for model in (f"global.{HAIKU}", SONNET, f"us.{NOVA}", "us.meta.llama4-scout-17b-instruct-v1:0"):
            assert not may_invoke(large, function, model), (function, model)


def test_models_are_listed_by_functions_that_resolve_handles(prod: Template) -> None:
    for action in ("bedrock:ListFoundationModels", "bedrock:ListInferenceProfiles"):
        asking = {
            name
            for name in prod.functions()
            for each in prod.statements(prod.role_of(name))
            if action in listed(each.get("Action", []))
        }
        assert asking == CALLING | {"api"}


def test_the_functions_know_what_they_may_invoke(prod: Template, large: Template) -> None:
    for template, models, default in (
        (prod, "global.anthropic.claude-haiku-5-5", "bedrock/global.anthropic.claude-haiku-5-5"),
        (large, f"eu.{SONNET},{NOVA},us.anthropic.*", f"bedrock/eu.{SONNET}"),
    ):
        for name in CALLING | {"api"}:
            variables = template.functions()[name]["Environment"]["Variables"]
            assert (variables["BEDROCK_MODELS"], variables["HIBERNAUT_DEFAULT_MODEL"]) == (models, default)
    (provider,) = configured(EnvironmentSecrets({"BEDROCK_REGION": REGION, "BEDROCK_MODELS": f"eu.{SONNET},us.anthropic.*"}))
    assert provider.allowed == (f"eu.{SONNET}", "us.anthropic.*")


def test_none_leaves_bedrock_out(dev: Template) -> None:
    """The template of the offline profile, whose functions must not call AWS."""
    assert "bedrock" not in str(dev.document)
    assert settings_in({"bedrockModels": "none"}).bedrock_models == ()
    assert default_handle(()) is None


@pytest.mark.parametrize(
    "text", ["", " , ", "claude", "*", "eu.*", "*.claude", "eu.anth*.claude", "a b.c", "arn:aws:bedrock:x", "none, amazon.nova"]
)
def test_a_bad_list_of_models_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="bedrockModels must"):
        models_in(text)


def test_a_list_of_models_keeps_its_order() -> None:
    models = models_in(f" eu.{SONNET} ,{NOVA}")
    assert models == (f"eu.{SONNET}", NOVA)
    assert models_in(None) == DEFAULT_MODELS
    assert default_handle(("us.anthropic.*", NOVA)) == f"bedrock/{NOVA}"
    assert [foundation_model(each) for each in ("us-gov.amazon.nova-pro-v1:0", "meta.llama3-8b")] == [
        "amazon.nova-pro-v1:0",
        "meta.llama3-8b",
    ]
