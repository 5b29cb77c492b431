"""`hibernaut restore --env`, rehearsed on the offline stack as far as moto goes: it restores a table as it is now, not as it was.
So the table of the moment is restored at the moment, as an earlier attempt would have left it.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hibernaut.local.administration.deployment import DeployedResources
from hibernaut.local.aws_offline.lambdas import Reply
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.aws_offline.resources import client
from hibernaut.local.profiles import CannotServe
from hibernaut.local.restoring.backups import restored_name
from hibernaut.local.restoring.restore import Restore, moment_of, restore
from hibernaut.local.restoring.table_copy import STATE_KEY
from hibernaut.schemas.access.api_key import CreateApiKey
from hibernaut.schemas.base import Json
from hibernaut.wiring.access import DeployedStack, access_to_stack
from tests.support.counted_aws import THROTTLED
from tests.support.created_tables import create_table
from tests.support.stack_account import asked_of_aws, deployed, permitted
from tests.workflows.deployment import Deployment

LARGE = "The harbour. " * 8000
"""More than an item holds: its body is an object."""


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    with OfflineAws(time_scale=0.001) as aws:
        invoke = aws.lambdas.invoke

        def limited(name: str, event: Json, **more: Any) -> Reply:
            """Lambda refuses every invocation of a function whose reserved concurrency is 0."""
            own = client("lambda").get_function_concurrency(FunctionName=aws.lambdas.of(name).name)
            if own.get("ReservedConcurrentExecutions") == 0:
                return Reply({"errorType": THROTTLED, "errorMessage": "Rate Exceeded."}, failed=True)
            return invoke(name, event, **more)

        monkeypatch.setattr(aws.lambdas, "invoke", limited)
        yield Deployment(aws)


class Report:
    """What the operator reads; the line with the number `breaks` interrupts the command."""

    def __init__(self, breaks: int = 0) -> None:
        self.lines: list[str] = []
        self._breaks = breaks

    def line(self, text: str) -> None:
        self.lines.append(text)
        if len(self.lines) == self._breaks:
            raise KeyboardInterrupt

    def share(self, done: int, of: int) -> None: ...

    def end(self) -> None: ...


def wait_beyond(moment: datetime) -> None:
    """moto's clock is that of this machine, in whole seconds: what is deleted in the second of the moment counts as deleted
    before.
    """
    while datetime.now(UTC) < moment + timedelta(seconds=1):
        threading.Event().wait(0.05)


def restored(here: Deployment, place: DeployedResources, asked: Restore, breaks: int = 0) -> list[str]:
    report = Report(breaks)
    restore(place, place, asked, report, wait=lambda _seconds: here.aws.pump(), segments=2)
    return report.lines


def memory_of(here: Deployment, agent: str) -> str:
    return str(here.ask("GET", f"/v1/agents/{agent}/core-memory/blocks/notes")[1].get("value"))


def the_table_of(here: Deployment, moment: datetime) -> str:
    name = restored_name("dev", moment)
    client("dynamodb").restore_table_to_point_in_time(
        SourceTableName=here.aws.stack.outputs["TableName"], TargetTableName=name, RestoreDateTime=moment
    )
    return name


def running_functions(here: Deployment) -> dict[str, int | None]:
    names = [one.ref for one in here.aws.stack.of_type("AWS::Lambda::Function")]
    return {
        name: client("lambda").get_function_concurrency(FunctionName=name).get("ReservedConcurrentExecutions") for name in names
    }


def test_a_stack_is_brought_back_to_a_moment_however_often_that_is_interrupted(here: Deployment) -> None:
    stream = here.aws.lambdas.of("stream").name
    client("lambda").put_function_concurrency(FunctionName=stream, ReservedConcurrentExecutions=7)
    block = {"label": "notes", "value": LARGE, "limit": 200_000}
    agent = here.agent(memory_blocks=[block])
    here.send(agent, "The harbour opens at nine.")
    here.starts_are_lost(in_execution=False)
    run = here.begin(agent, "Is anybody there?")
    here.outside = here.composition()
    here.serve()
    moment = (datetime.now(UTC) + timedelta(seconds=1)).replace(microsecond=0)
    the_table_of(here, moment)
    wait_beyond(moment)
    # What happens after the moment: the agent goes with its objects, the run with it, and another agent comes.
    here.aws.fire_schedule()
    assert here.ask("DELETE", f"/v1/agents/{agent}")[0] == 200
    here.clock.ahead += timedelta(minutes=20)
    here.aws.fire_schedule()
    other = here.agent()
    here.clock.ahead = timedelta()
    bucket = here.aws.stack.outputs["BucketName"]
    markers = client("s3").list_object_versions(Bucket=bucket).get("DeleteMarkers", [])
    assert markers
    assert not [one for one in markers if one["LastModified"] <= moment]
    before = running_functions(here)

    place = deployed(here.aws)
    with pytest.raises(CannotServe, match="holds records, which a restore deletes; say so with --overwrite"):
        restored(here, place, Restore(moment))
    assert here.ask("GET", f"/v1/agents/{other}")[0] == 200
    with asked_of_aws() as asked:
        for breaks in itertools.count(1):
            try:
                said = restored(here, place, Restore(moment, overwrite=True), breaks)
            except KeyboardInterrupt:
                continue
            break
    assert breaks > 6
    assert "is there from an earlier attempt" in said[0]
    assert running_functions(here) == before
    assert here.ask("GET", f"/v1/agents/{other}")[0] == 404
    assert client("dynamodb").get_item(TableName=here.aws.stack.outputs["TableName"], Key=STATE_KEY).get("Item") is None
    # The run of the moment is open again, and the sweep continues it.
    here.clock.ahead += timedelta(minutes=20)
    here.aws.fire_schedule()
    here.aws.wait_for_all()
    assert here.run(run)["status"] == "completed"
    found = here.ask("POST", "/v1/messages/search", {"query": "harbour opens", "search_mode": "fts"})[1]
    assert "The harbour opens at nine." in json.dumps(found)
    calls = {"dynamodb:RestoreTableToPointInTime", "dynamodb:DescribeContinuousBackups", "states:StopExecution"}
    calls |= {
        "cloudformation:DescribeStacks",
        "cloudformation:ListStackResources",
        "s3:DeleteObjectVersion",
        "s3:GetObjectVersion",
    }
    asked = {one for one in asked if not one.startswith("dynamodb-streams:")}  # the emulator's own feed
    assert asked | calls | {"s3:PutObject", "s3:ListBucket"} == permitted("hibernaut restore")


def test_deleted_bodies_come_back_and_younger_ones_stay(here: Deployment) -> None:
    agent = here.agent(memory_blocks=[{"label": "notes", "value": LARGE, "limit": 200_000}])
    here.aws.fire_schedule()
    own, bucket = here.aws.stack.outputs["TableName"], here.aws.stack.outputs["BucketName"]
    name = the_table_of(here, datetime.now(UTC))
    keys = [one["Key"] for one in client("s3").list_objects_v2(Bucket=bucket)["Contents"]]
    assert keys
    bodies = _Aged(client("s3"), client("s3").list_object_versions(Bucket=bucket)["Versions"])
    block = here.ask("GET", f"/v1/agents/{agent}/core-memory/blocks/notes")[1]["id"]
    assert here.ask("DELETE", f"/v1/agents/{agent}")[0] == here.ask("DELETE", f"/v1/blocks/{block}")[0] == 200
    here.clock.ahead += timedelta(minutes=20)
    here.aws.fire_schedule()
    younger = [one["Key"] for one in client("s3").list_objects_v2(Bucket=bucket)["Contents"]]
    assert younger, "the deleted block has a version with its value"
    assert set(younger).isdisjoint(keys)
    place = deployed(here.aws, s3=bodies)
    said = restored(here, place, Restore(datetime.now(UTC) - timedelta(hours=1), table=name, overwrite=True))
    assert f"{len(keys)} deleted objects of {bucket} are back." in said
    assert [one["Key"] for one in client("s3").list_objects_v2(Bucket=bucket)["Contents"]] == sorted(keys + younger)
    here.clock.ahead = timedelta()
    assert memory_of(here, agent) == LARGE
    with pytest.raises(CannotServe, match="is the table of hibernaut-dev itself"):
        restored(here, place, Restore(datetime.now(UTC), table=own, overwrite=True))


class _Aged:
    """S3 whose versions of the moment are two hours old: moto stamps them with this machine's time."""

    def __init__(self, s3: Any, versions: list[Any]) -> None:
        self._s3, self._old = s3, {one["VersionId"] for one in versions}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._s3, name)

    def get_paginator(self, operation: str) -> Any:
        pages, old = self._s3.get_paginator(operation), self._old

        class Pages:
            def paginate(self, **asked: Any) -> Iterator[Any]:
                for page in pages.paginate(**asked):
                    for one in page.get("Versions", ()):
                        if one["VersionId"] in old:
                            one["LastModified"] -= timedelta(hours=2)
                    yield page

        return Pages()


def test_a_moment_of_one_stack_goes_into_another_empty_one_without_its_keys(here: Deployment) -> None:
    agent = here.agent(memory_blocks=[{"label": "notes", "value": LARGE, "limit": 200_000}])
    outputs = here.aws.stack.outputs
    stack = DeployedStack("dev", outputs["TableName"], outputs["BucketName"], outputs["SecretsKeyArn"])
    access_to_stack(stack).keys_of("default").create(CreateApiKey.model_validate({"scope": "admin"}))
    create_table(client("dynamodb"), "staging")
    client("s3").create_bucket(Bucket="staging-bodies")
    source, target = deployed(here.aws), deployed(here.aws, "staging")
    cloud = target.clients["cloudformation"]
    cloud.outputs |= {"TableName": "staging", "BucketName": "staging-bodies"}
    report = Report()
    moment = datetime.now(UTC) + timedelta(hours=1)
    found = restore(source, target, Restore(moment, keys=False), report, wait=lambda _seconds: here.aws.pump(), segments=2)
    assert "DynamoDB restores" in report.lines[0]
    rows = client("dynamodb").scan(TableName="staging")["Items"]
    assert {"pk": {"S": f"default#AGENT#{agent}"}, "sk": {"S": "AGENT"}}.items() <= next(
        one for one in rows if one["sk"]["S"] == "AGENT"
    ).items()
    assert not [one for one in rows if "APIKEY" in one["pk"]["S"] or one["pk"]["S"] == "RESTORE"]
    assert (found.table, found.items) == (restored_name("dev", moment), len(rows))
    assert f"digest {found.digest}." in "".join(report.lines)
    copied = {one["Key"] for one in client("s3").list_objects_v2(Bucket="staging-bodies")["Contents"]}
    assert copied == {one["Key"] for one in client("s3").list_objects_v2(Bucket=outputs["BucketName"])["Contents"]}


def test_another_restore_under_way_is_not_mixed_with_this_one(here: Deployment) -> None:
    client("dynamodb").put_item(
        TableName=here.aws.stack.outputs["TableName"],
        Item={**STATE_KEY, "source": {"S": "elsewhere"}, "stage": {"S": "copy"}, "reserved": {"S": "{}"}},
    )
    with pytest.raises(CannotServe, match="a restore from elsewhere is under way"):
        restored(here, deployed(here.aws), Restore(datetime.now(UTC), overwrite=True))


@pytest.mark.parametrize(
    ("text", "moment"), [("2026-11-23T03:05:00Z", 3), ("2026-11-23T03:05:00", 3), ("2026-11-23T05:05:00+02:00", 3)]
)
def test_a_time_without_a_zone_is_utc(text: str, moment: int) -> None:
    assert moment_of(text) == datetime(2026, 11, 23, moment, 5, tzinfo=UTC)
