"""Gradual releases by setting: what shifts the traffic, which alarms end a release, and that everybody calls the aliases."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from infra.constructs.releases import LIVE, SHIFTED, STOPPING
from infra.settings import settings_in
from tests.infra.reading import Template, listed
from tests.infra.test_snapshots import names
from tests.support.alarms import Metrics, fires
from tests.support.native_metrics import undocumented

GROUP = "AWS::CodeDeploy::DeploymentGroup"


def machine_alias(template: Template) -> Any:
    return template.only("AWS::StepFunctions::StateMachineAlias")["Properties"]["DeploymentPreference"]


def test_by_default_new_code_replaces_the_old_at_once(dev: Template) -> None:
    assert settings_in({}).release == "all-at-once"
    kinds = {resource["Type"] for resource in dev.resources.values()}
    assert not {kind for kind in kinds if "CodeDeploy" in kind or kind.endswith(("StateMachineAlias", "Lambda::Alias"))}
    assert [alarm for alarm in dev.of_type("AWS::CloudWatch::Alarm").values() if "AlarmName" in alarm["Properties"]] == []


def test_the_alias_of_each_function_that_a_caller_waits_for_is_shifted(large: Template) -> None:
    aliases = names(large, "AWS::Lambda::Alias")
    groups = large.of_type(GROUP)
    shifted = {name: large.resources[alias]["UpdatePolicy"] for name, alias in aliases.items()}
    assert set(shifted) == set(SHIFTED)
    used = [policy["CodeDeployLambdaAliasUpdate"] for policy in shifted.values()]
    assert {one["DeploymentGroupName"]["Ref"] for one in used} == set(groups)
    (application,) = large.of_type("AWS::CodeDeploy::Application")
    assert {one["ApplicationName"]["Ref"] for one in used} == {application}
    assert {group["Properties"]["DeploymentConfigName"] for group in groups.values()} == {
        "CodeDeployDefault.LambdaCanary10Percent10Minutes"
    }
    assert (machine_alias(large)["Type"], machine_alias(large)["Percentage"], machine_alias(large)["Interval"]) == (
        "CANARY",
        10,
        10,
    )


def test_a_release_ends_by_alarms_that_exist(large: Template) -> None:
    """CloudWatch takes an alarm that does not exist for one that is silent (CloudFormation, DeploymentPreference)."""
    there = {alarm["Properties"].get("AlarmName") for alarm in large.of_type("AWS::CloudWatch::Alarm").values()} - {None}
    assert there == {f"hibernaut-staging-{name}" for name in STOPPING}
    assert set(machine_alias(large)["Alarms"]) == there
    for group in large.of_type(GROUP).values():
        properties = group["Properties"]
        assert {one["Name"] for one in properties["AlarmConfiguration"]["Alarms"]} == there
        assert properties["AlarmConfiguration"]["Enabled"] is properties["AutoRollbackConfiguration"]["Enabled"] is True
        assert set(properties["AutoRollbackConfiguration"]["Events"]) >= {"DEPLOYMENT_FAILURE", "DEPLOYMENT_STOP_ON_ALARM"}


def test_the_alarm_of_a_release_counts_the_failures_of_the_aliases(large: Template) -> None:
    alarms = large.of_type("AWS::CloudWatch::Alarm").values()
    (alarm,) = [one["Properties"] for one in alarms if str(one["Properties"].get("AlarmName")).endswith("ReleaseErrors")]
    metrics = [one["MetricStat"]["Metric"] for one in alarm["Metrics"] if "MetricStat" in one]
    assert {metric["MetricName"] for metric in metrics} == {"Errors"}
    resources = [one["Value"] for metric in metrics for one in metric["Dimensions"] if one["Name"] == "Resource"]
    assert len(resources) == len(SHIFTED)
    assert all(json.dumps(resource).count(f":{LIVE}") == 1 for resource in resources)


def test_the_alarm_of_a_release_fires_by_five_failures_of_any_alias(large: Template) -> None:
    alarms = large.of_type("AWS::CloudWatch::Alarm").values()
    (made,) = [one["Properties"] for one in alarms if str(one["Properties"].get("AlarmName")).endswith("ReleaseErrors")]
    alarm = deepcopy(made)
    places = [one["MetricStat"]["Metric"] for one in alarm["Metrics"] if "MetricStat" in one]
    for metric in places:  # what a reference names is known at the deployment only
        metric["Dimensions"] = [{"Name": one["Name"], "Value": json.dumps(one["Value"])} for one in metric["Dimensions"]]
    assert not fires(alarm, Metrics())
    for metric in places:
        names_of = frozenset(one["Name"] for one in metric["Dimensions"])
        assert undocumented(metric["Namespace"], metric["MetricName"], names_of, "Sum") == ""
        for failures in (4, 5):
            metrics = Metrics()
            metrics.put("AWS/Lambda", "Errors", {one["Name"]: one["Value"] for one in metric["Dimensions"]}, *[1.0] * failures)
            assert fires(alarm, metrics) is (failures == 5)


def test_functions_start_the_alias_of_the_state_machine_and_stop_executions_of_the_machine(large: Template) -> None:
    started = large.functions()["api"]["Environment"]["Variables"]["HIBERNAUT_STATE_MACHINE"]
    assert json.dumps(started["Fn::Join"][1][-1]).endswith(f':stateMachine:hibernaut-staging-heartbeat:{LIVE}"')
    by_action = {
        action: statement["Resource"]
        for statement in large.statements(large.role_of("api"))
        for action in listed(statement.get("Action", []))
        if action.startswith("states:")
    }
    assert by_action["states:StartExecution"] == started
    assert by_action["states:StopExecution"]["Fn::Join"][1][-1].endswith(":execution:hibernaut-staging-heartbeat:*")


def test_code_deploy_works_for_this_account_alone(large: Template) -> None:
    (role,) = {json.dumps(group["Properties"]["ServiceRoleArn"]) for group in large.of_type(GROUP).values()}
    trust = large.resources[json.loads(role)["Fn::GetAtt"][0]]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    (allowed,) = trust
    assert allowed["Principal"] == {"Service": "codedeploy.amazonaws.com"}
    assert allowed["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


def test_a_release_of_another_kind_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="release must be one of all-at-once, canary, linear, not 'slow'"):
        settings_in({"release": "slow"})
