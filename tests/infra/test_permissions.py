"""Roles: one per function, and no more in it than it uses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.infra.reading import Template, listed, texts

# X-Ray, log delivery and the list of schedules have no resources to name; the rest is named at run time, below a name of ours.
BY_RUN_TIME = (
    {"s3:GetObject", "s3:PutObject", "s3:DeleteObject"},
    {"states:StopExecution"},
    {"execute-api:ManageConnections"},
    {"es:ESHttpGet"},
    {"scheduler:CreateSchedule", "scheduler:UpdateSchedule", "scheduler:DeleteSchedule"},
    {"scheduler:DeleteSchedule"},
    {f"es:ESHttp{verb}" for verb in ("Get", "Post", "Put", "Delete")},
)
WITHOUT_RESOURCE = ("xray:", "logs:", "dynamodb:ListStreams", "scheduler:ListSchedules")


def test_every_function_has_a_role_of_its_own(dev: Template) -> None:
    roles = [dev.role_of(function) for function in dev.functions()]
    assert len(set(roles)) == len(roles)


def test_no_action_is_a_wildcard_but_the_one_that_denies(dev: Template) -> None:
    for role in dev.of_type("AWS::IAM::Role"):
        for statement in dev.statements(role):
            if statement["Effect"] == "Allow":
                assert [action for action in listed(statement["Action"]) if "*" in action] == []


def test_resources_are_exact(dev: Template) -> None:
    for role in dev.of_type("AWS::IAM::Role"):
        for statement in dev.statements(role):
            if statement["Effect"] == "Deny" or not any("*" in text for text in texts(statement["Resource"])):
                continue
            actions = set(listed(statement["Action"]))
            assert actions in BY_RUN_TIME or all(action.startswith(WITHOUT_RESOURCE) for action in actions)


def test_the_cage_may_do_nothing(dev: Template) -> None:
    for name in ("run_tool", "run_node"):
        assert dev.statements(dev.role_of(name)) == [{"Action": "*", "Effect": "Deny", "Resource": "*"}]


def test_only_the_cage_of_typescript_has_node(dev: Template) -> None:
    layers = {name: len(made.get("Layers", [])) for name, made in dev.functions().items() if name in ("run_tool", "run_node")}
    assert layers == {"run_tool": 1, "run_node": 2}


def test_no_role_has_a_policy_of_somebody_else_but_the_gateway_s_log_role(dev: Template) -> None:
    managed = {
        name: resource["Properties"]["ManagedPolicyArns"]
        for name, resource in dev.of_type("AWS::IAM::Role").items()
        if resource["Properties"].get("ManagedPolicyArns")
    }
    assert [name for name in managed if "CloudWatchRole" not in name] == []


def test_nobody_scans_the_table_or_touches_it_as_a_whole(dev: Template) -> None:
    actions = {
        action
        for role in dev.of_type("AWS::IAM::Role")
        for statement in dev.statements(role)
        for action in listed(statement["Action"])
        if action.startswith("dynamodb:")
    }
    items = {"GetItem", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"}
    stream = {"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}
    assert actions == {f"dynamodb:{name}" for name in (*items, "Query", *stream)}
    assert who_may(dev, "dynamodb:GetRecords") == {"index_memory", "deliver_events"}


def who_may(dev: Template, action: str) -> set[str]:
    return {
        function
        for function in dev.functions()
        for statement in dev.statements(dev.role_of(function))
        if statement["Effect"] == "Allow" and action in listed(statement["Action"])
    }


def test_an_execution_is_stopped_from_outside_only(dev: Template) -> None:
    assert who_may(dev, "states:StopExecution") == {"api", "stream", "socket", "sweep_runs"}


def test_who_answers_denies_or_withdraws_an_approval_ends_its_wait(dev: Template) -> None:
    functions = {"api", "stream", "socket", "advance_turn", "request_approval", "sweep_runs"}
    assert who_may(dev, "states:SendTaskSuccess") == functions


def test_a_run_is_started_by_whoever_may_end_the_one_before_it(dev: Template) -> None:
    others = {"run_tool", "run_node", "build_packages", "request_approval", "index_memory", "ingest_file", "deliver_events"}
    functions = set(dev.functions()) - others
    assert who_may(dev, "states:StartExecution") == functions


def test_keys_are_read_by_those_who_resolve_models_and_embedders(dev: Template) -> None:
    without = {"run_tool", "run_node", "build_packages", "request_approval", "close_run", "deliver_events"}
    assert who_may(dev, "ssm:GetParametersByPath") == set(dev.functions()) - without


def test_a_role_serves_resources_of_its_own_account_only(large: Template) -> None:
    """All but that of the gateway's log, which the CDK makes for the whole account."""
    trusting = {
        name: statement.get("Condition")
        for name, role in large.of_type("AWS::IAM::Role").items()
        for statement in role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
        if "CloudWatchRole" not in name
    }
    assert len(trusting) > len(large.functions())
    own = {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
    assert {name: condition for name, condition in trusting.items() if condition != own} == {}


def test_secrets_are_sealed_by_the_api_the_sweep_and_those_who_renew_tokens_and_opened_by_those_who_call_models_or_webhooks(
    dev: Template,
) -> None:
    assert who_may(dev, "kms:GenerateDataKey") == {"api", "stream", "socket", "advance_turn", "sweep_runs"}
    openers = {"api", "stream", "socket", "advance_turn", "summarize", "index_memory", "deliver_events", "fire_schedule"}
    openers.add("sweep_runs")
    assert who_may(dev, "kms:Decrypt") == openers, "index_memory embeds by keys of tenants' own; ingest_file embeds nothing"
    (key,) = dev.of_type("AWS::KMS::Key")
    for function in openers:
        (statement,) = (one for one in dev.statements(dev.role_of(function)) if "kms:Decrypt" in listed(one["Action"]))
        assert statement["Resource"] == {"Fn::GetAtt": [key, "Arn"]}
        assert statement["Condition"] == {"StringEquals": {"kms:EncryptionContext:hibernaut": "dev"}}
        assert dev.functions()[function]["Environment"]["Variables"]["HIBERNAUT_SECRETS_KEY"] == statement["Resource"]


@pytest.mark.parametrize("caged", ["run_tool", "run_node"])
def test_tools_are_run_by_four(dev: Template, caged: str) -> None:
    cage = next(name for name, made in dev.of_type("AWS::Lambda::Function").items() if caged in made["Properties"]["Handler"])
    callers = {
        function
        for function in dev.functions()
        for statement in dev.statements(dev.role_of(function))
        if "lambda:InvokeFunction" in listed(statement["Action"]) and [cage, "Arn"] in nested(statement["Resource"])
    }
    assert callers == {"api", "stream", "socket", "advance_turn"}


def test_connections_are_managed_by_the_function_that_has_them(dev: Template) -> None:
    assert who_may(dev, "execute-api:ManageConnections") == {"socket"}
    (api,) = dev.of_type("AWS::ApiGatewayV2::Api")
    statements = [
        one for one in dev.statements(dev.role_of("socket")) if "execute-api:ManageConnections" in listed(one["Action"])
    ]
    places = [text for statement in statements for text in texts(statement["Resource"])]
    assert {"Ref": api} in [part for statement in statements for part in parts(statement["Resource"])]
    assert sorted(text for text in places if "@connections" in text) == ["/dev/DELETE/@connections/*", "/dev/POST/@connections/*"]


def parts(resource: Any) -> list[Any]:
    """The pieces of joined ARNs."""
    return [part for one in listed(resource) for part in one["Fn::Join"][1]]


def nested(value: Any) -> list[Any]:
    """What the references inside point at."""
    return [one["Fn::GetAtt"] for one in listed(value) if isinstance(one, dict) and "Fn::GetAtt" in one]
