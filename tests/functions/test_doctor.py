"""`hibernaut doctor --env` over the offline stack: what is wrong is found and named, each check stands for itself, and no secret
is printed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

import hibernaut
from hibernaut.adapters.table.dynamodb import DynamoDbTable
from hibernaut.local.administration.deployment import DeployedResources
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.aws_offline.resources import client
from hibernaut.local.doctor.deployed import CHECKS, diagnosed
from hibernaut.local.doctor.findings import Finding, healthy, printed
from hibernaut.local.profiles import CannotServe
from hibernaut.ports.storage.table import Key, Put
from hibernaut.schemas.access.api_key import CreateApiKey
from hibernaut.schemas.base import JsonObject
from hibernaut.wiring.access import DeployedStack, access_to_stack
from hibernaut.wiring.memory_audits import audit_of_stack
from tests.support.stack_account import OfflineCloudFormation, asked_of_aws, deployed, permitted
from tests.workflows.deployment import Deployment

SECRET = "sk-planted-secret"


@pytest.fixture(scope="module")
def here() -> Iterator[Deployment]:
    with OfflineAws(time_scale=0.001, secrets={"OPENAI_API_KEY": SECRET}) as aws:
        yield Deployment(aws)


class Answers:
    """Services of which moto has no part: Lambda's quotas, models of Bedrock, the domain's state."""

    def __init__(self, lambda_client: Any) -> None:
        self._lambda = lambda_client
        self.unreserved = 800
        self.agreement = "AVAILABLE"
        self.asked: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lambda, name)

    def get_function_configuration(self, FunctionName: str) -> JsonObject:  # noqa: N803  AWS's name
        """The offline stack has no model of Bedrock."""
        found = self._lambda.get_function_configuration(FunctionName=FunctionName)
        listed = {"BEDROCK_MODELS": "global.anthropic.claude-haiku-5-5,amazon.*"}
        return {**found, "Environment": {"Variables": listed}}

    def get_account_settings(self) -> JsonObject:
        self.asked.add("lambda:GetAccountSettings")
        return {"AccountLimit": {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": self.unreserved}}

    def get_foundation_model_availability(self, modelId: str) -> JsonObject:  # noqa: N803  AWS's name
        self.asked.add("bedrock:GetFoundationModelAvailability")
        assert not modelId.startswith("global.")
        return {
            "agreementAvailability": {"status": self.agreement},
            "authorizationStatus": "AUTHORIZED",
            "regionAvailability": "NOT_AVAILABLE",
        }

    def describe_domain(self, DomainName: str) -> JsonObject:  # noqa: N803  AWS's name
        self.asked.add("es:DescribeDomain")
        assert DomainName
        return {"DomainStatus": {"Created": True, "Processing": False}}


@pytest.fixture
def place(here: Deployment) -> DeployedResources:
    answers = Answers(client("lambda"))
    return deployed(here.aws, **{"lambda": answers, "bedrock": answers, "opensearch": answers})


def by_check(findings: list[Finding], level: str) -> dict[str, str]:
    return {one.check: one.text for one in findings if one.level == level}


def sweeps(here: Deployment, count: int = 15) -> None:
    """Invocations a minute ago: statistics end before the second in which they are asked for."""
    minute_ago = datetime.now(UTC) - timedelta(minutes=1)
    name = here.aws.lambdas.of("sweep_runs").name
    of_sweep = [{"Name": "FunctionName", "Value": name}]
    data = {"MetricName": "Invocations", "Dimensions": of_sweep, "Value": count, "Timestamp": minute_ago}
    client("cloudwatch").put_metric_data(Namespace="AWS/Lambda", MetricData=[data])


def admin_key(here: Deployment) -> None:
    outputs = here.aws.stack.outputs
    stack = DeployedStack("dev", outputs["TableName"], outputs["BucketName"], outputs["SecretsKeyArn"])
    access_to_stack(stack).keys_of("default").create(CreateApiKey.model_validate({"scope": "admin"}))


def test_the_versions_of_a_stack_are_audited(here: Deployment) -> None:
    agent = here.agent(memory_blocks=[{"label": "human", "value": "The rent is 900."}])
    outputs = here.aws.stack.outputs
    audit = audit_of_stack(outputs["TableName"], outputs["BucketName"], "default")
    reports = {report.kind: report for report in audit.check(agent_id=agent)}
    assert {report.fault for report in reports.values()} == {None}
    table = DynamoDbTable(outputs["TableName"])
    key = Key(f"default#BLOCK#{reports['block'].subject}", "BLOCK")
    item = table.get(key)
    assert item is not None
    table.write(Put({**item, "body": str(item["body"]).replace("is 900", "is 400")}))
    found = {report.kind: report.fault for report in audit.check(agent_id=agent)}
    assert found == {"agent": None, "block": "version 1: the record is not what it left"}


def test_an_old_run_and_work_that_the_sweep_does_not_reach_are_found(here: Deployment, place: DeployedResources) -> None:
    here.starts_are_lost(in_execution=False)
    here.clock.ahead = -timedelta(hours=2)
    run = here.begin(here.agent(), "Hello")
    findings = diagnosed(place)
    assert run in by_check(findings, "warning")["open runs"]
    assert "minutes late" in by_check(findings, "failure")["overdue work"]
    assert "every request answers 401" in by_check(findings, "failure")["API keys"]
    here.clock.ahead = timedelta()
    here.outside = here.composition()
    here.serve()
    here.aws.fire_schedule()
    assert set(here.aws.wait_for_all().values()) == {"SUCCEEDED"}


def test_a_healthy_stack_and_the_permissions_that_this_takes(here: Deployment, place: DeployedResources) -> None:
    sweeps(here)
    admin_key(here)
    with asked_of_aws() as asked:
        findings = diagnosed(place)
    text = printed("The stack", findings, as_json=False)
    assert {one.check for one in findings} == {check.name for check in CHECKS}
    assert (by_check(findings, "unknown"), by_check(findings, "failure"), by_check(findings, "warning")) == ({}, {}, {}), text
    assert healthy(findings)
    assert SECRET not in text
    assert "OPENAI_API_KEY" in text
    doubles = [place.clients[name].asked for name in ("cloudformation", "bedrock")]
    collection = {"aoss:BatchGetCollection", "sns:ListSubscriptionsByTopic", "cloudwatch:DescribeAlarms"}
    assert asked.union(*doubles) | collection == permitted("hibernaut doctor --env")


def test_what_is_wrong_is_named_with_what_to_do(here: Deployment, place: DeployedResources) -> None:
    stack, outputs = place.clients["cloudformation"], here.aws.stack.outputs
    stack.status, stack.outputs["Version"] = "UPDATE_ROLLBACK_COMPLETE", "0.0.1"
    stack.date = format_datetime(datetime.now(UTC) + timedelta(minutes=3), usegmt=True)
    place.clients["bedrock"].agreement, place.clients["lambda"].unreserved = "NOT_AVAILABLE", 90
    client("dynamodb").update_continuous_backups(
        TableName=outputs["TableName"], PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False}
    )
    here.aws.lambdas.refuse("sweep_runs", "Sandbox.Timedout", 1)
    here.aws.fire_schedule()
    name = here.aws.lambdas.of("stream").name
    client("lambda").put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    alarm = next(one for one in here.aws.stack.of_type("AWS::CloudWatch::Alarm") if "DeadLetters" in one.name)
    topic = client("sns").create_topic(Name="on-call")["TopicArn"]
    client("cloudwatch").put_metric_alarm(
        AlarmName=alarm.ref,
        AlarmActions=[topic],
        AlarmDescription=alarm.properties["AlarmDescription"],
        ComparisonOperator="GreaterThanOrEqualToThreshold",
        EvaluationPeriods=1,
        MetricName="ApproximateNumberOfMessagesVisible",
        Namespace="AWS/SQS",
        Period=300,
        Statistic="Maximum",
        Threshold=1,
    )
    client("cloudwatch").set_alarm_state(AlarmName=alarm.ref, StateValue="ALARM", StateReason="a test")
    client("kms").disable_key(KeyId=outputs["SecretsKeyArn"].rsplit("/", 1)[1])
    findings = diagnosed(place)
    assert not healthy(findings)
    failures, warnings = by_check(findings, "failure"), by_check(findings, "warning")
    assert set(failures) == {"table", "alarms", "functions", "secrets", "models"}, printed("", findings, as_json=False)
    assert "point-in-time recovery is off" in failures["table"]
    assert "reserved concurrency is 0" in failures["functions"]
    assert "not agreed to" in failures["models"]
    assert set(warnings) >= {"stack", "version", "clock", "dead letters", "alarms", "functions"}
    assert "nobody has confirmed" in warnings["alarms"]
    assert all(one.advice for one in findings if one.level in ("warning", "failure"))
    told = json.loads(printed("The stack", findings, as_json=True))
    assert (told["healthy"], {"check", "level", "text", "advice"}) == (False, set(told["findings"][0]))


def test_a_check_that_is_denied_names_the_permission_and_the_others_go_on(here: Deployment, place: DeployedResources) -> None:
    class Denied:
        def __getattr__(self, name: str) -> Any:
            operation = "".join(part.title() for part in name.split("_"))
            message = f"User: arn:aws:iam::1:user/x is not authorized to perform: dynamodb:{operation} on resource: y"
            raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": message}}, operation)

    place.clients["dynamodb"] = Denied()
    findings = diagnosed(place)
    assert by_check(findings, "unknown") == {"table": "not checked: you may not dynamodb:DescribeTable"}
    assert {one.check for one in findings} == {check.name for check in CHECKS}


def test_without_a_stack_there_is_one_line(here: Deployment) -> None:
    none = DeployedResources("prod", {"cloudformation": OfflineCloudFormation(here.aws, "hibernaut-dev")})
    with pytest.raises(CannotServe, match="Stack with id hibernaut-prod does not exist"):
        diagnosed(none)


def test_the_version_is_an_output(here: Deployment) -> None:
    assert here.aws.stack.outputs["Version"] == hibernaut.__version__
