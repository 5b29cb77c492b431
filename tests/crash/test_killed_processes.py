"""Houses that are killed by a signal, as processes, behind every write and every call of a tool; the next process settles what is left.

At home on SQLite, and the handlers of the profile aws on AWS's own DynamoDB.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.dynamodb_local import DynamoDbLocal, dynamodb_local

__all__ = ["dynamodb_local"]

ROOT = Path(__file__).parents[2]
SECONDS = 400.0


def killed(profile: str, folder: Path, **environment: str) -> int:
    """How many processes were killed, one at each point."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "shared")])
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.processes", profile, str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout.splitlines()[-1])


def test_the_house_at_home_is_killed_at_every_point_and_the_next_one_ends_its_runs(tmp_path: Path) -> None:
    assert killed("embedded", tmp_path) >= 9


def test_the_handlers_on_aws_are_killed_at_every_point_and_the_next_ones_end_the_run(
    tmp_path: Path, dynamodb_local: DynamoDbLocal
) -> None:
    nowhere = "http://127.0.0.1:1"
    places = {"AWS_ENDPOINT_URL_DYNAMODB": dynamodb_local.endpoint, "AWS_ENDPOINT_URL_STEPFUNCTIONS": nowhere}
    assert killed("aws", tmp_path, **places) >= 9
