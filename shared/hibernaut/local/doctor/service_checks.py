"""Checks of what a deployed stack runs: schedules, dead letters, alarms, functions, executions, secrets, models and the index."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from hibernaut.local.administration.deployment import DeployedResources
from hibernaut.local.doctor.stack_checks import Result

RECENT = timedelta(hours=1)
SCHEDULE_RUNS = timedelta(minutes=15)
SPARE_CONCURRENCY = 100
"""What Lambda leaves unreserved at least (developer guide, "Configuring reserved concurrency")."""
PROFILES = ("global.", "us.", "eu.", "apac.", "au.", "jp.", "ca.", "us-gov.")
"""Prefixes of inference profiles before the id of their model."""


def schedules(place: DeployedResources) -> Iterator[Result]:
    """Whether the schedules are enabled, and whether the sweep was invoked lately."""
    for one in place.of_kind("AWS::Scheduler::Schedule"):
        found = place.client("scheduler").get_schedule(Name=one.physical)
        if found["State"] != "ENABLED":
            yield (
                "failure",
                f"the schedule {one.physical} is {found['State']}",
                "enable it in EventBridge Scheduler: lost runs stay open",
            )
    count = _sum(place, "Invocations", place.function("sweep_runs"), SCHEDULE_RUNS)
    if not count:
        yield "failure", "the sweep was not invoked for 15 minutes", "see SweepMissing in docs/operations.md"
    else:
        yield "ok", f"the sweep was invoked {count:.0f} times in 15 minutes"


def dead_letters(place: DeployedResources) -> Iterator[Result]:
    """The number of dead letters."""
    query = {"QueueUrl": place.output("DeadLettersUrl"), "AttributeNames": ["ApproximateNumberOfMessages"]}
    count = int(place.client("sqs").get_queue_attributes(**query)["Attributes"]["ApproximateNumberOfMessages"])
    if count:
        yield "warning", f"{count} dead letters wait", f"hibernaut redrive --env {place.env} --dry-run lists them"
    else:
        yield "ok", "no dead letters"


def alarms(place: DeployedResources) -> Iterator[Result]:
    """The alarms that fire, and whether they have recipients."""
    names = [one.physical for one in place.of_kind("AWS::CloudWatch::Alarm")]
    found: list[Any] = []
    for start in range(0, len(names), 100):
        found += place.client("cloudwatch").describe_alarms(AlarmNames=names[start : start + 100])["MetricAlarms"]
    for alarm in found:
        if alarm["StateValue"] == "ALARM":
            yield (
                "failure",
                f"{alarm['AlarmName']} fires since {alarm['StateUpdatedTimestamp']:%Y-%m-%d %H:%M} UTC",
                str(alarm.get("AlarmDescription", "")),
            )
    if not any(alarm["StateValue"] == "ALARM" for alarm in found):
        yield "ok", f"none of {len(found)} alarms fires"
    topics = sorted({action for alarm in found for action in alarm.get("AlarmActions", ()) if ":sns:" in action})
    if not topics:
        yield "note", "the alarms tell nobody", "deploy with -c alarms=ops@example.com"
    for topic in topics:
        listed = place.client("sns").list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
        if not any(one["SubscriptionArn"].startswith("arn:") for one in listed):
            yield (
                "warning",
                f"nobody has confirmed a subscription to {topic}",
                "confirm the e-mail of AWS, or subscribe to the topic",
            )


def functions(place: DeployedResources) -> Iterator[Result]:
    """State, reservation, errors and throttles of each function, and the account's quota."""
    reserved = 0
    for folder, name in sorted(place.functions.items()):
        state = place.client("lambda").get_function_configuration(FunctionName=name)
        if state.get("State", "Active") != "Active" or state.get("LastUpdateStatus", "Successful") == "Failed":
            yield (
                "failure",
                f"{folder} is {state.get('State')}: {state.get('StateReason') or state.get('LastUpdateStatusReason', '')}",
                "deploy the stack again",
            )
        reservation = place.client("lambda").get_function_concurrency(FunctionName=name).get("ReservedConcurrentExecutions")
        reserved += reservation or 0
        if reservation == 0:
            yield (
                "failure",
                f"{folder} may not run: its reserved concurrency is 0",
                "repeat or end the restore that paused it, or deploy the stack again",
            )
        for metric, what in (("Errors", "failed"), ("Throttles", "was refused")):
            if count := _sum(place, metric, name, RECENT):
                yield (
                    "warning",
                    f"{folder} {what} {count:.0f} times in an hour",
                    f"read its log: aws logs tail --since 1h {_log_of(state)}",
                )
    quota = place.client("lambda").get_account_settings()["AccountLimit"]
    limit, free = quota["ConcurrentExecutions"], quota["UnreservedConcurrentExecutions"]
    text = f"the account runs {limit:,} functions at once, {free:,} of them unreserved; this stack reserves {reserved:,}"
    if free < SPARE_CONCURRENCY:
        yield "warning", text, "raise the quota Concurrent executions of Lambda"
    else:
        yield "ok", text


def workflow(place: DeployedResources) -> Iterator[Result]:
    """The state machine, and executions that did not succeed lately."""
    client, arn = place.client("stepfunctions"), place.output("StateMachineArn")
    status = client.describe_state_machine(stateMachineArn=arn)["status"]
    if status != "ACTIVE":
        yield "failure", f"the state machine is {status}", "deploy the stack again"
    since, wrong = datetime.now(UTC) - RECENT, 0
    for ended in ("FAILED", "TIMED_OUT", "ABORTED"):
        page = client.list_executions(stateMachineArn=arn, statusFilter=ended, maxResults=100)["executions"]
        recent = [one for one in page if one["stopDate"] >= since]
        if recent and ended != "ABORTED":
            wrong += len(recent)
            yield (
                "warning",
                f"{len(recent)} executions {ended} in an hour, the newest {recent[0]['name']}",
                "see FailedExecutions in docs/operations.md; the sweep restarts their runs",
            )
    if not wrong:
        yield "ok", "no execution failed in an hour"


def secrets(place: DeployedResources) -> Iterator[Result]:
    """The names of the provider keys, never their values, and the key that protects stored secrets."""
    path = place.output("SecretsPath")
    pages = place.client("ssm").get_paginator("get_parameters_by_path").paginate(Path=path, WithDecryption=False)
    names = sorted(one["Name"].rsplit("/", 1)[1] for page in pages for one in page["Parameters"])
    yield "ok", f"{len(names)} parameters at {path}" + (f": {', '.join(names)}" if names else " (models of Bedrock need none)")
    key = place.client("kms").describe_key(KeyId=place.output("SecretsKeyArn"))["KeyMetadata"]
    if key["KeyState"] != "Enabled":
        yield (
            "failure",
            f"the key of stored secrets is {key['KeyState']}: no API key can be checked",
            "enable it in KMS, or cancel its deletion",
        )


def models(place: DeployedResources) -> Iterator[Result]:
    """Whether the account may use the models of Bedrock that agents may use. No model is called."""
    variables = place.client("lambda").get_function_configuration(FunctionName=place.function("advance_turn"))
    listed = variables.get("Environment", {}).get("Variables", {}).get("BEDROCK_MODELS", "")
    for handle in filter(None, listed.split(",")):
        model = next((handle.removeprefix(prefix) for prefix in PROFILES if handle.startswith(prefix)), handle)
        if "*" in model:
            yield "note", f"{handle} stands for several models, which are not looked at"
            continue
        found = place.client("bedrock").get_foundation_model_availability(modelId=model)
        lacks = [
            what
            for what, is_so in (
                ("not agreed to", found.get("agreementAvailability", {}).get("status", "AVAILABLE") == "AVAILABLE"),
                ("not authorized", found.get("authorizationStatus", "AUTHORIZED") == "AUTHORIZED"),
                ("not in this region", found.get("regionAvailability", "AVAILABLE") == "AVAILABLE" or model != handle),
            )
            if not is_so
        ]
        if lacks:
            yield "failure", f"{handle}: {', '.join(lacks)}", "see Models of Bedrock in docs/aws.md"
        else:
            yield "ok", f"the account may use {handle}"
    if not listed:
        yield "note", "no models of Bedrock; providers are those with keys"


def index(place: DeployedResources) -> Iterator[Result]:
    """The index of memory: its engine, its feed, and what waits for it."""
    if "index_memory" not in place.functions:
        yield "note", "memory is not indexed: it is searched by words, in the newest 5,000 records of a place"
        return
    name = place.functions["index_memory"]
    for one in place.client("lambda").list_event_source_mappings(FunctionName=name)["EventSourceMappings"]:
        if one["State"] != "Enabled":
            yield (
                "failure",
                f"the change stream's mapping is {one['State']}: {one.get('StateTransitionReason', '')}",
                "enable it in Lambda",
            )
    for one in place.of_kind("AWS::OpenSearchService::Domain"):
        status = place.client("opensearch").describe_domain(DomainName=one.physical)["DomainStatus"]
        if status.get("Deleted") or not status.get("Created") or status.get("Processing"):
            yield "warning", f"the domain {one.physical} is being changed or deleted", "wait; searches go by words meanwhile"
    for one in place.of_kind("AWS::OpenSearchServerless::Collection"):
        for found in place.client("opensearchserverless").batch_get_collection(ids=[one.physical])["collectionDetails"]:
            if found["status"] != "ACTIVE":
                yield "failure", f"the collection is {found['status']}", "deploy the stack again"
    reply = place.client("lambda").invoke(FunctionName=name, Payload=json.dumps({"reindexed": "all"}).encode())
    answer = json.loads(reply["Payload"].read())
    if "FunctionError" in reply:
        yield "failure", f"index_memory failed: {answer.get('errorType', 'Error')}", "read its log"
    elif not answer["whole"]:
        yield (
            "warning",
            f"the index is being rebuilt; {answer['left']:,} pointers wait",
            "wait; searches say that they may be incomplete",
        )
    else:
        yield "ok", f"the index is whole; {answer['left']:,} pointers wait"


def _sum(place: DeployedResources, metric: str, function: str, period: timedelta) -> float:
    """The sum of a metric of a function until now."""
    now, seconds = datetime.now(UTC), int(period.total_seconds())
    found = place.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/Lambda",
        MetricName=metric,
        Dimensions=[{"Name": "FunctionName", "Value": function}],
        StartTime=now - period,
        EndTime=now,
        Period=seconds,
        Statistics=["Sum"],
    )
    return float(sum(point["Sum"] for point in found["Datapoints"]))


def _log_of(configuration: Any) -> str:
    return str(configuration.get("LoggingConfig", {}).get("LogGroup") or f"/aws/lambda/{configuration['FunctionName']}")
