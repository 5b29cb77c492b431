"""Credentials of one tenant: who is asked for them, how often, and what signs a call."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import cast

import pytest
from botocore.config import Config
from moto import mock_aws

from hibernaut.adapters.aws_clients import aws_client
from hibernaut.adapters.tenant_sessions import EARLY, MOST_SESSIONS, SECONDS, TenantSessions
from tests.support.clocks import ManualClock

ROLE = "arn:aws:iam::123456789012:role/tenants"


class Sts:
    """The sessions that were asked for, and the clock by which they end."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.asked: list[str] = []

    def assume_role(self, **asked: object) -> dict[str, dict[str, object]]:
        assert (asked["RoleArn"], asked["DurationSeconds"]) == (ROLE, SECONDS)
        (tag,) = cast("list[dict[str, str]]", asked["Tags"])
        tenant = tag["Value"]
        self.asked.append(tenant)
        made = f"{tenant}-{len(self.asked)}"
        ends: datetime = self.clock.now() + timedelta(seconds=SECONDS)
        return {"Credentials": {"AccessKeyId": made, "SecretAccessKey": "s", "SessionToken": "t", "Expiration": ends}}


@pytest.fixture
def sts() -> Sts:
    return Sts()


@pytest.fixture
def sessions(sts: Sts) -> TenantSessions:
    made = TenantSessions(ROLE, sts.clock)
    made._sts = sts
    return made


def key_of(sessions: TenantSessions, tenant: str) -> str:
    with sessions.entered(tenant):
        return sessions.current().access_key


def test_a_session_serves_its_tenant_until_shortly_before_its_end(sessions: TenantSessions, sts: Sts) -> None:
    assert [key_of(sessions, tenant) for tenant in ("acme", "acme", "other", "acme")] == ["acme-1", "acme-1", "other-2", "acme-1"]
    sts.clock.sleep(SECONDS - EARLY.total_seconds() - 1)
    assert key_of(sessions, "acme") == "acme-1"
    sts.clock.sleep(1)
    assert key_of(sessions, "acme") == "acme-3"


def test_no_call_is_signed_outside_of_a_tenant(sessions: TenantSessions, sts: Sts) -> None:
    assert key_of(sessions, "acme") == "acme-1"
    with pytest.raises(LookupError):
        sessions.current()
    with sessions.entered("acme"):
        assert key_of(sessions, "other") == "other-2"
        assert sessions.current().access_key == "acme-1"


def test_a_process_remembers_a_bounded_number_of_tenants(sessions: TenantSessions, sts: Sts) -> None:
    for number in range(MOST_SESSIONS + 1):
        key_of(sessions, f"t{number}")
    assert len(sessions._sessions) == MOST_SESSIONS
    assert key_of(sessions, "t0") == f"t0-{MOST_SESSIONS + 2}"


def test_one_client_signs_each_call_for_its_tenant(sessions: TenantSessions, sts: Sts) -> None:
    keys: list[str] = []
    with mock_aws():
        client = aws_client("s3", Config(), region="eu-central-1", credentials=sessions)
        client.meta.events.register("before-send.s3", lambda request, **_: keys.append(str(request.headers["Authorization"])))
        for tenant in ("acme", "other", "acme"):
            with sessions.entered(tenant):
                client.list_buckets()
    assert [text.partition("Credential=")[2].partition("/")[0].lstrip("b'") for text in keys] == ["acme-1", "other-2", "acme-1"]
    assert sts.asked == ["acme", "other"]
