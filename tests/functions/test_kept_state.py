"""A deployment on this machine that keeps its state: what was answered is there after a restart, as on AWS."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hibernaut.local.administration import keys
from hibernaut.local.administration.keys import KeyPlace
from hibernaut.local.aws_offline.api_gateway.gateway_events import GatewayRequest
from hibernaut.local.aws_offline.emulator_state import EmulatorState, FolderInUse
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.aws_offline.resources import client
from hibernaut.wiring import aws as wiring
from hibernaut.wiring.aws_parts.app import app_of
from hibernaut.wiring.settings import AwsSettings
from tests.support.clocks import LaterClock
from tests.support.scripted_model import ScriptedModels, ScriptedRunner, in_turn, says

LARGE = "I moved to Oslo. " + "x" * 70_000


def ask(aws: OfflineAws, method: str, route: str, body: Any = None, key: str = "") -> Any:
    headers = [("Content-Type", "application/json"), ("Host", "localhost"), ("Authorization", f"Bearer {key}")]
    answer = aws.gateway.answer(GatewayRequest(method, f"/v1/{route}", "", headers, json.dumps(body).encode()))
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def scripted(aws: OfflineAws, clock: LaterClock) -> None:
    """The functions over a scripted model."""
    overrides = wiring.AwsOverrides(
        clock=clock, models=ScriptedModels(in_turn(*[says("How is it there?")] * 9)), runner=ScriptedRunner()
    )
    outside = wiring.compose(AwsSettings.from_environment(), overrides)
    inside = wiring.compose(AwsSettings.from_environment(), overrides, in_execution=True).engines
    aws.lambdas.deps |= {"api": app_of(outside), "sweep_runs": inside.sweep, "advance_turn": inside}


def test_what_was_answered_is_there_after_a_restart_and_an_open_run_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = LaterClock()
    with OfflineAws(time_scale=0.001, data=tmp_path) as aws:
        scripted(aws, clock)
        agent = ask(aws, "POST", "agents/", {"memory_blocks": [{"label": "human", "value": "Ann."}]})["id"]
        aws.lambdas.refuse("advance_turn", "AccessDeniedException", 100)
        run = ask(aws, "POST", f"agents/{agent}/messages/async", {"messages": [{"role": "user", "content": LARGE}]})["id"]
        bucket, names = aws.stack.outputs["BucketName"], objects(aws)
        aws.wait_for_all()
    keys.create(KeyPlace("default", data=str(tmp_path)), {"scope": "admin"}, as_json=False)
    key = capsys.readouterr().out.splitlines()[-1]
    with OfflineAws(time_scale=0.001, data=tmp_path) as aws:
        scripted(aws, clock)
        assert (aws.stack.outputs["BucketName"], objects(aws)) == (bucket, names)
        assert ask(aws, "GET", f"agents/{agent}/core-memory/blocks/human", key=key)["value"] == "Ann."
        assert ask(aws, "GET", f"runs/{run}", key=key)["status"] == "running"
        clock.ahead += timedelta(minutes=30)
        assert not aws.fire_schedule().failed
        aws.wait_for_all()
        assert ask(aws, "GET", f"runs/{run}", key=key)["status"] == "completed"
        log = ask(aws, "GET", f"agents/{agent}/messages", key=key)
        assert [row["content"] for row in log if row["message_type"] == "user_message"] == [LARGE]


def objects(aws: OfflineAws) -> list[str]:
    listed = client("s3").list_objects_v2(Bucket=aws.stack.outputs["BucketName"])
    return [one["Key"] for one in listed.get("Contents", ())]


def test_a_folder_belongs_to_one_process(tmp_path: Path) -> None:
    kept = EmulatorState(tmp_path)
    other = f"from pathlib import Path; from hibernaut.local.aws_offline.emulator_state import EmulatorState; EmulatorState(Path({str(tmp_path)!r}))"
    second = subprocess.run([sys.executable, "-c", other], capture_output=True, text=True, check=False)
    assert second.returncode == 1
    assert FolderInUse.__name__ in second.stderr
    kept.close()


KILLED = """
import os, signal
from pathlib import Path
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.aws_offline.resources import client
from hibernaut.ports.storage.table import ABSENT, ConditionFailed, Delete, Key, Put

with OfflineAws(data=Path({folder!r})) as aws:
    aws.table.write(Put({{"pk": "T#a", "sk": "1", "n": 1}}), Put({{"pk": "T#a", "sk": "2"}}))
    try:
        aws.table.write(Put({{"pk": "T#a", "sk": "3"}}), Put({{"pk": "T#a", "sk": "1"}}, ABSENT))
    except ConditionFailed:
        aws.table.write(Delete(Key("T#a", "2")))
    client("s3").put_object(Bucket=aws.stack.outputs["BucketName"], Key="k", Body=b"text")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_loses_no_write_and_keeps_none_that_was_undone(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED.format(folder=str(tmp_path))], check=False)
    assert ended.returncode == -signal.SIGKILL
    with OfflineAws(data=tmp_path) as aws:
        assert aws.table.query("T#a") == [{"pk": "T#a", "sk": "1", "n": 1}]
        assert client("s3").get_object(Bucket=aws.stack.outputs["BucketName"], Key="k")["Body"].read() == b"text"
