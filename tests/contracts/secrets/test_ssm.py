"""Parameter Store as the source of secrets: how often it is asked, and what happens while it is throttled."""

from __future__ import annotations

import logging
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from hibernaut.adapters.secrets.ssm import AGAIN_S, KEEP_S, SsmSecrets
from hibernaut.schemas.errors import SecretsUnavailable
from tests.support.clocks import ManualClock


class Throttled:
    """moto's client, which refuses as SSM does beyond its rate (endpoints and quotas: 40 transactions a second)."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.refuses, self.calls = inner, False, 0

    def get_paginator(self, name: str) -> Any:
        self.calls += 1
        if self.refuses:
            raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "Rate exceeded"}}, name)
        return self.inner.get_paginator(name)


@pytest.fixture
def ssm() -> Any:
    with mock_aws():
        client = boto3.client("ssm")
        for name in ("OPENAI_API_KEY", "XAI_API_KEY"):
            client.put_parameter(Name=f"/hibernaut/dev/{name}", Value=f"value of {name}", Type="SecureString")
        client.put_parameter(Name="/hibernaut/devil/OPENAI_API_KEY", Value="another's", Type="SecureString")
        yield Throttled(client)


def over(client: Any, clock: ManualClock | None = None) -> SsmSecrets:
    return SsmSecrets("/hibernaut/dev", clock=clock or ManualClock(), client=client)


def test_all_names_are_read_by_one_call_and_nothing_before_the_first_question(ssm: Throttled) -> None:
    secrets = over(ssm)
    assert ssm.calls == 0
    found = [secrets.get(name) for name in ("OPENAI_API_KEY", "XAI_API_KEY", "GROQ_API_KEY", "GROQ_BASE_URL")]
    assert found == ["value of OPENAI_API_KEY", "value of XAI_API_KEY", None, None]
    assert ssm.calls == 1


def test_more_parameters_than_one_page_are_all_read(ssm: Throttled) -> None:
    for number in range(23):
        ssm.inner.put_parameter(Name=f"/hibernaut/dev/N{number}", Value=str(number), Type="SecureString")
    secrets = over(ssm)
    assert [secrets.get(f"N{number}") for number in range(23)] == [str(number) for number in range(23)]


def test_a_changed_key_is_seen_when_the_cached_one_expires(ssm: Throttled) -> None:
    clock = ManualClock()
    secrets = over(ssm, clock)
    secrets.get("OPENAI_API_KEY")
    ssm.inner.put_parameter(Name="/hibernaut/dev/OPENAI_API_KEY", Value="new", Type="SecureString", Overwrite=True)
    assert secrets.get("OPENAI_API_KEY") == "value of OPENAI_API_KEY"
    clock.sleep(KEEP_S)
    assert secrets.get("OPENAI_API_KEY") == "new"


def test_while_a_refresh_is_refused_the_last_values_stay(ssm: Throttled, caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    secrets = over(ssm, clock)
    secrets.get("OPENAI_API_KEY")
    clock.sleep(KEEP_S)
    ssm.refuses = True
    assert [secrets.get("OPENAI_API_KEY"), secrets.get("NONE")] == ["value of OPENAI_API_KEY", None]
    assert ssm.calls == 2
    [record] = caplog.records
    assert (record.levelno, record.__dict__["cached"]) == (logging.WARNING, True)
    assert "value of" not in caplog.text


def test_without_values_a_refusal_is_said_and_not_repeated_at_once(ssm: Throttled) -> None:
    clock = ManualClock()
    secrets = over(ssm, clock)
    ssm.refuses = True
    for _ in range(3):
        with pytest.raises(SecretsUnavailable) as failed:
            secrets.get("OPENAI_API_KEY")
        assert failed.value.retry_after == AGAIN_S
    assert ssm.calls == 1
    ssm.refuses = False
    clock.sleep(AGAIN_S)
    assert secrets.get("OPENAI_API_KEY") == "value of OPENAI_API_KEY"


def test_a_throttled_read_is_retried_with_jitter_by_botocore() -> None:
    client = over(None)._connected()
    assert client.meta.config.retries["mode"] == "standard"  # exponential backoff with jitter
    assert client.meta.config.retries["total_max_attempts"] > 1


def test_without_a_path_there_are_no_secrets_and_no_call() -> None:
    assert SsmSecrets("", clock=ManualClock()).get("OPENAI_API_KEY") is None
