"""The port `Secrets`, on a mapping and on SSM (moto)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.adapters.secrets.overlay import OverlaySecrets
from hibernaut.adapters.secrets.ssm import SsmSecrets
from hibernaut.ports.storage.secrets import Secrets
from tests.support.clocks import ManualClock


@pytest.fixture(params=["environment", "overlay", "ssm"])
def secrets(request: pytest.FixtureRequest) -> Iterator[Secrets]:
    if request.param == "environment":
        yield EnvironmentSecrets({"OPENAI_API_KEY": "sk-planted", "ANTHROPIC_API_KEY": ""})
        return
    if request.param == "overlay":
        yield OverlaySecrets(
            EnvironmentSecrets({"OPENAI_API_KEY": "sk-planted", "ANTHROPIC_API_KEY": "x"}), {"ANTHROPIC_API_KEY": None}
        )
        return
    import boto3
    from moto import mock_aws

    with mock_aws():
        client = boto3.client("ssm")
        client.put_parameter(Name="/hibernaut/OPENAI_API_KEY", Value="sk-planted", Type="SecureString")
        yield SsmSecrets("/hibernaut", clock=ManualClock(), client=client)


def test_a_secret_is_found_by_its_name(secrets: Secrets) -> None:
    assert secrets.get("OPENAI_API_KEY") == "sk-planted"


def test_what_is_not_set_is_none(secrets: Secrets) -> None:
    assert secrets.get("ANTHROPIC_API_KEY") is None
    assert secrets.get("XAI_API_KEY") is None


def test_a_secret_does_not_show_when_its_source_is_printed(secrets: Secrets) -> None:
    secrets.get("OPENAI_API_KEY")
    assert "planted" not in repr(secrets)


def test_what_the_settings_answer_is_not_asked_of_the_source() -> None:
    class Unreachable:
        def get(self, name: str) -> str | None:
            raise OSError(name)

    secrets = OverlaySecrets(Unreachable(), {"BEDROCK_REGION": "eu-central-1", "BEDROCK_BASE_URL": ""})
    assert (secrets.get("BEDROCK_REGION"), secrets.get("BEDROCK_BASE_URL")) == ("eu-central-1", None)
