"""Events in the template: who is told what by the stream, who may send, and that nothing of it costs while nobody talks."""

from __future__ import annotations

import json

import pytest

from hibernaut.local.aws_offline.rules import fits
from infra.settings import settings_in
from tests.infra.reading import Template, listed
from tests.infra.test_permissions import who_may


def told(template: Template, name: str, image: dict[str, object]) -> bool:
    (pattern,) = template.feed_of("deliver_events")["FilterCriteria"]["Filters"]
    return fits(json.loads(pattern["Pattern"]), {"eventName": name, "dynamodb": {"NewImage": image}})


def test_the_stream_tells_of_what_is_to_be_passed_on_at_once_and_of_nothing_else(dev: Template) -> None:
    item = {"pk": {"S": "t#OUTBOX#evt-1"}, "sk": {"S": "OUTBOX"}}
    at_once = {**item, "prompt": {"BOOL": True}}
    assert told(dev, "INSERT", at_once)
    assert told(dev, "MODIFY", at_once)
    assert not told(dev, "MODIFY", item)
    assert not told(dev, "REMOVE", at_once)


def test_what_the_stream_gives_up_is_a_dead_letter_and_the_sweep_invokes_the_function(dev: Template) -> None:
    feed = dev.feed_of("deliver_events")
    (queue,) = dev.of_type("AWS::SQS::Queue")
    assert feed["DestinationConfig"]["OnFailure"]["Destination"] == {"Fn::GetAtt": [queue, "Arn"]}
    assert dev.functions()["deliver_events"]["DeadLetterConfig"]["TargetArn"] == {"Fn::GetAtt": [queue, "Arn"]}
    variable = dev.functions()["sweep_runs"]["Environment"]["Variables"]["HIBERNAUT_DELIVER_EVENTS"]
    invoked = [
        reference["Fn::GetAtt"][0]
        for statement in dev.statements(dev.role_of("sweep_runs"))
        if "lambda:InvokeFunction" in listed(statement["Action"])
        for reference in listed(statement["Resource"])
    ]
    assert variable["Ref"] in invoked


def test_who_calls_webhooks_reads_neither_blobs_nor_provider_keys(dev: Template) -> None:
    for action in ("s3:GetObject", "ssm:GetParametersByPath", "states:StartExecution", "events:PutEvents"):
        assert "deliver_events" not in who_may(dev, action)


def test_there_is_a_bus_if_it_is_asked_for_and_one_function_sends(dev: Template, large: Template) -> None:
    assert not dev.of_type("AWS::Events::EventBus")
    ((bus, made),) = large.of_type("AWS::Events::EventBus").items()
    assert made["Properties"] == {"Name": "hibernaut-staging"} | {
        name: value for name, value in made["Properties"].items() if name == "Tags"
    }
    assert who_may(large, "events:PutEvents") == {"deliver_events"}
    (statement,) = (
        one for one in large.statements(large.role_of("deliver_events")) if "events:PutEvents" in listed(one["Action"])
    )
    assert statement["Resource"] == {"Fn::GetAtt": [bus, "Arn"]}
    knowing = {name for name, made in large.functions().items() if "HIBERNAUT_EVENT_BUS" in made["Environment"]["Variables"]}
    assert knowing == set(large.functions()) - {"run_tool", "run_node", "build_packages"}
    assert "EventBusName" in large.document["Outputs"]


def test_an_unknown_kind_of_events_is_refused() -> None:
    assert settings_in({}).events == "none"
    with pytest.raises(ValueError, match="events must be one of none, bus, not 'kafka'"):
        settings_in({"events": "kafka"})
