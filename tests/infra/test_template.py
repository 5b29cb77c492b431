"""What is deployed: its shape, its limits, and that it agrees with the code that uses it."""

from __future__ import annotations

import importlib
import json

import pytest

from hibernaut.adapters.table.definition import TTL_ATTRIBUTE, table_definition
from infra.artifacts import ROOT
from tests.infra.reading import Template

FUNCTIONS = {"api", "advance_turn", "close_run", "run_tool", "sweep_runs"}


def test_the_table_is_the_one_that_the_adapter_speaks_to(dev: Template) -> None:
    made = dev.only("AWS::DynamoDB::Table")["Properties"]
    wanted = table_definition("any")
    assert made["KeySchema"] == wanted["KeySchema"]
    assert made["GlobalSecondaryIndexes"] == wanted["GlobalSecondaryIndexes"]
    assert made["BillingMode"] == wanted["BillingMode"]
    assert made["StreamSpecification"]["StreamViewType"] == wanted["StreamSpecification"]["StreamViewType"]
    assert sorted(made["AttributeDefinitions"], key=str) == sorted(wanted["AttributeDefinitions"], key=str)
    assert made["TimeToLiveSpecification"] == {"AttributeName": TTL_ATTRIBUTE, "Enabled": True}
    assert made["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True


def test_production_keeps_its_data(prod: Template) -> None:
    table, bucket = prod.only("AWS::DynamoDB::Table"), prod.only("AWS::S3::Bucket")
    assert table["Properties"]["DeletionProtectionEnabled"] is True
    assert table["DeletionPolicy"] == bucket["DeletionPolicy"] == "Retain"


def test_development_goes_away_whole(dev: Template) -> None:
    kept = {
        name: resource["DeletionPolicy"] for name, resource in dev.resources.items() if resource.get("DeletionPolicy") == "Retain"
    }
    # The account's log role outlives the stack: other APIs of the account may write by it.
    assert {dev.resources[name]["Type"] for name in kept} <= {"AWS::IAM::Role", "AWS::ApiGateway::Account"}


def test_each_function_has_a_handler_in_the_repository(dev: Template) -> None:
    assert set(dev.functions()) == FUNCTIONS
    for properties in dev.functions().values():
        module, name = properties["Handler"].rsplit(".", 1)
        assert callable(getattr(importlib.import_module(module), name))


def test_functions_run_on_python_for_arm(dev: Template) -> None:
    for properties in dev.functions().values():
        assert (properties["Runtime"], properties["Architectures"]) == ("python3.13", ["arm64"])


def test_every_log_ends(dev: Template) -> None:
    groups = dev.of_type("AWS::Logs::LogGroup")
    assert all(group["Properties"]["RetentionInDays"] == 7 for group in groups.values())
    named = [properties["LoggingConfig"]["LogGroup"]["Ref"] for properties in dev.functions().values()]
    assert len(set(named)) == len(FUNCTIONS)
    assert set(named) <= set(groups)


def test_no_function_is_called_again_behind_our_back(dev: Template) -> None:
    attempts = [config["Properties"]["MaximumRetryAttempts"] for config in dev.of_type("AWS::Lambda::EventInvokeConfig").values()]
    assert attempts == [0] * len(FUNCTIONS)


def test_functions_agree_on_their_environment(dev: Template) -> None:
    environments = [properties["Environment"]["Variables"] for properties in dev.functions().values()]
    together: dict[str, str] = {}
    for environment in environments:
        for name, value in environment.items():
            assert together.setdefault(name, value) == value


def test_the_cage_is_told_nothing_of_the_stack(dev: Template) -> None:
    cage = dev.functions()["run_tool"]
    assert [name for name in cage["Environment"]["Variables"] if name.startswith("HIBERNAUT_")] == []
    assert cage["TenancyConfig"] == {"TenantIsolationMode": "PER_TENANT"}


def test_a_blocking_reply_has_as_long_as_the_gateway_waits(dev: Template) -> None:
    methods = dev.of_type("AWS::ApiGateway::Method").values()
    assert {method["Properties"]["Integration"]["TimeoutInMillis"] for method in methods} == {29_000}
    assert {method["Properties"]["HttpMethod"] for method in methods} == {"ANY"}
    assert dev.functions()["api"]["Timeout"] == 29


def test_a_body_that_is_too_large_is_refused_in_the_server_s_words(dev: Template) -> None:
    refusals = {
        refusal["Properties"]["ResponseType"]: refusal["Properties"]
        for refusal in dev.of_type("AWS::ApiGateway::GatewayResponse").values()
    }
    refusal = refusals["REQUEST_TOO_LARGE"]
    assert refusal["StatusCode"] == "413"
    assert "6 MB" in json.loads(refusal["ResponseTemplates"]["application/json"])["detail"]


def test_a_fresh_deployment_is_closed_to_the_world(dev: Template) -> None:
    policy = dev.only("AWS::ApiGateway::RestApi")["Properties"]["Policy"]["Statement"]
    deny = [statement for statement in policy if statement["Effect"] == "Deny"]
    assert len(deny) == 1
    assert "Condition" not in deny[0]


def test_the_sweep_is_fired_every_minute_and_its_failures_are_kept(dev: Template) -> None:
    schedule = dev.only("AWS::Scheduler::Schedule")["Properties"]
    queue = {"Fn::GetAtt": [*dev.of_type("AWS::SQS::Queue"), "Arn"]}
    assert schedule["ScheduleExpression"] == "rate(1 minute)"
    assert schedule["Target"]["DeadLetterConfig"]["Arn"] == queue
    assert dev.functions()["sweep_runs"]["DeadLetterConfig"]["TargetArn"] == queue


@pytest.mark.parametrize("name", ["ApiUrl", "TableName", "BucketName", "StateMachineArn", "SecretsPath"])
def test_the_stack_tells_where_things_are(dev: Template, name: str) -> None:
    assert name in dev.document["Outputs"]


def test_the_sizes_of_functions_hold_what_they_call(dev: Template) -> None:
    # A step may hold a model call of 12 minutes, and the sweep must end before the next.
    functions = dev.functions()
    assert functions["advance_turn"]["Timeout"] == functions["run_tool"]["Timeout"] == 900
    assert functions["sweep_runs"]["Timeout"] < 60


def test_samples_of_events_stand_beside_each_function() -> None:
    assert {folder.name for folder in (ROOT / "events").iterdir()} == FUNCTIONS
