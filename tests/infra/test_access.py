"""Who reaches the API on AWS: addresses by setting, and always a key."""

from __future__ import annotations

import pytest

from hibernaut.wiring.settings import AwsSettings, BadSetting
from infra.constructs.gateway import _callers
from infra.endpoint_settings import Endpoint
from infra.settings import settings_in
from tests.infra.reading import Template


def effects(**changed: object) -> list[str]:
    document = _callers(Endpoint(**changed)).to_json()  # type: ignore[arg-type]
    return sorted(statement["Effect"] for statement in document["Statement"])


def test_a_public_api_denies_no_address_and_any_other_does() -> None:
    assert effects(public=True) == ["Allow"]
    assert effects() == effects(callers=("203.0.113.7/32",)) == ["Allow", "Deny"]
    assert settings_in({"access": "public"}).endpoint.public
    assert not settings_in({}).endpoint.public


def test_no_function_of_the_stack_serves_without_keys(dev: Template) -> None:
    functions = dev.of_type("AWS::Lambda::Function").values()
    assert not [each for each in functions if "HIBERNAUT_KEYS" in each["Properties"].get("Environment", {}).get("Variables", {})]
    assert AwsSettings.from_environment({"HIBERNAUT_ENV": "dev", "HIBERNAUT_TABLE": "t"}).keys_required
    with pytest.raises(BadSetting, match="required or optional"):
        AwsSettings.from_environment({"HIBERNAUT_ENV": "dev", "HIBERNAUT_TABLE": "t", "HIBERNAUT_KEYS": "no"})
