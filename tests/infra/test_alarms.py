"""Whom the alarms tell: nobody, an address, or a topic of the account."""

from __future__ import annotations

import json

import pytest

from infra.settings import settings_in
from tests.infra.reading import Template

KIND = "AWS::CloudWatch::Alarm"
OWN = "arn:aws:sns:eu-central-1:123456789012:on-call"


def actions(template: Template) -> list[object]:
    """What each alarm does when it fires, without repetitions."""
    found: list[object] = []
    for alarm in template.of_type(KIND).values():
        properties = alarm["Properties"]
        assert properties.get("AlarmActions") == properties.get("OKActions")
        found += [one for one in properties.get("AlarmActions", []) if one not in found]
    return found


def test_by_default_alarms_tell_nobody(prod: Template) -> None:
    assert settings_in({}).alarms == ""
    assert (actions(prod), prod.of_type("AWS::SNS::Topic")) == ([], {})


def test_a_topic_of_the_account_is_told(large: Template) -> None:
    assert actions(large) == [OWN]
    assert not large.of_type("AWS::SNS::Topic")


def test_an_address_gets_a_topic_to_which_only_the_alarms_of_the_account_publish(walled: Template) -> None:
    ((topic, _),) = walled.of_type("AWS::SNS::Topic").items()
    assert actions(walled) == [{"Ref": topic}]
    mail = walled.only("AWS::SNS::Subscription")["Properties"]
    assert (mail["Protocol"], mail["Endpoint"], mail["TopicArn"]) == ("email", "ops@example.com", {"Ref": topic})
    statements = walled.only("AWS::SNS::TopicPolicy")["Properties"]["PolicyDocument"]["Statement"]
    (allow,) = [one for one in statements if one["Effect"] == "Allow"]
    assert (allow["Principal"], allow["Action"]) == ({"Service": "cloudwatch.amazonaws.com"}, "sns:Publish")
    assert allow["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


@pytest.mark.parametrize(
    "told", ["ops", "ops@example", "a@example.com, b@example.com", "arn:aws:sqs:eu-central-1:123456789012:x", f"{OWN}.fifo"]
)
def test_what_is_neither_is_refused_by_name(told: str) -> None:
    with pytest.raises(ValueError, match="alarms must be an e-mail address"):
        settings_in({"alarms": told})


def test_the_access_log_has_latencies_and_the_trace_and_no_body(prod: Template) -> None:
    stage = prod.only("AWS::ApiGateway::Stage")["Properties"]
    line = json.loads(stage["AccessLogSetting"]["Format"])
    assert {"requestId", "traceId", "latency", "integrationLatency", "status"} <= set(line)
    assert not any(
        word in value for value in line.values() for word in ("authorizer", "header", "body", "requestOverride", "path")
    )
