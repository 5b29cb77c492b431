"""`make deploy-check`: bootstrap, deploy, use, redeploy, update, release gradually, fail, roll back, destroy; each step with its
seconds.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from infra.artifacts import ROOT
from tests.deploy.cdk import STACK, UNCHANGED, Cdk, CommandFailed
from tests.deploy.clients import DeployedApi, Unexpected, client, expect
from tests.deploy.emulator import Emulator, NotStarted, emulator
from tests.deploy.programs import NotInstalled, install
from tests.deploy.release import GradualRelease

FIRST = {"callers": "127.0.0.1/32", "bedrockModels": "none", "traces": "redacted"}
UPDATED = {**FIRST, "search": "domain", "traces": "on", "release": "canary"}
STOPPED = {**UPDATED, "traces": "redacted"}
REFUSED = {**UPDATED, "traces": "off", "followers": "5000"}
"""More reserved streams than an account has: the update fails after the functions have got their variables."""


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print a step and its seconds."""
    began = time.monotonic()
    print(f"{name} ... ", end="", flush=True)
    yield
    print(f"{time.monotonic() - began:.0f} s", flush=True)


@contextmanager
def templates_checked() -> Iterator[None]:
    """Check the templates of all pairs of settings beside the rehearsal. Raises: CommandFailed."""
    checking = subprocess.Popen(
        [sys.executable, "-m", "tests.deploy.templates"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield
        with step("cfn-lint on the templates of all pairs of settings"):
            said, _ = checking.communicate()
        if checking.returncode != 0:
            raise CommandFailed(f"the templates have findings:\n{said}")
    finally:
        checking.kill()
        checking.wait()


class Rehearsal:
    """The steps on one emulator."""

    def __init__(self, running: Emulator, folder: Path) -> None:
        self._running = running
        self._cdk = Cdk(running, folder / "cdk.out")

    def play(self) -> None:
        """Raises: CommandFailed, Unexpected."""
        with step("bootstrap"):
            self._cdk.bootstrap()
        with step("deploy"):
            self._cdk.deploy(FIRST)
        api = DeployedApi(self._running, self.outputs())
        agent = self.use(api)
        with step("deploy without changes"):
            said = self._cdk.deploy(FIRST)
            expect(UNCHANGED in said, "a deployment without changes changes something")
        with step("update"):
            self._cdk.deploy(UPDATED)
            expect("IndexFunction" in self.outputs(), "the update did not add the index")
            expect(self.traces() == "on", f"the update left traces {self.traces()}")
            api.remembers(agent)
        with step("a gradual release that an alarm ends"):
            GradualRelease(self._running).ends_by_alarm(lambda: self._cdk.deploy(STOPPED, fails=True))
            expect(self.status() == "UPDATE_ROLLBACK_COMPLETE", f"the stack is {self.status()}")
            expect(self.traces() == "on", f"the roll-back left traces {self.traces()}")
            api.stream(agent)
        with step("an update that fails, and its roll-back"):
            released = GradualRelease(self._running)
            before = released.versions()
            self._cdk.deploy(REFUSED, fails=True)
            expect(self.status() == "UPDATE_ROLLBACK_COMPLETE", f"the stack is {self.status()}")
            expect(released.versions() == before, f"the aliases were {before} and are {released.versions()}")
            expect(self.traces() == "on", f"the roll-back left traces {self.traces()}")
            api.stream(agent)
        with step("destroy"):
            self.empty_bucket()
            self._cdk.destroy()
            self.gone()

    def use(self, api: DeployedApi) -> str:
        """What clients do; returns an agent."""
        with step("a key and the quickstart"):
            api.create_key()
            api.quickstart()
        with step("a stream, a custom tool, an approval, a background run"):
            agent = api.new_agent()
            api.stream(agent)
            api.custom_tool(agent)
            api.approval()
            api.background(agent)
        with step("the schedule"):
            api.sweep()
        return agent

    def outputs(self) -> dict[str, str]:
        """The stack's outputs by name."""
        return {one["OutputKey"]: one["OutputValue"] for one in self._stack()["Outputs"]}

    def status(self) -> str:
        """The state of the stack."""
        return str(self._stack()["StackStatus"])

    def traces(self) -> str:
        """The setting of traces, as `advance_turn` has it."""
        functions = client(self._running, "lambda").list_functions()["Functions"]
        (function,) = [one for one in functions if "AdvanceTurn" in one["FunctionName"]]
        return str(function["Environment"]["Variables"].get("HIBERNAUT_TRACES", "off"))

    def empty_bucket(self) -> None:
        """AWS deletes no bucket that contains objects (`docs/aws.md`, "Deleting a stack")."""
        s3, bucket = client(self._running, "s3"), self.outputs()["BucketName"]
        for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
            for one in (*page.get("Versions", ()), *page.get("DeleteMarkers", ())):
                s3.delete_object(Bucket=bucket, Key=one["Key"], VersionId=one["VersionId"])

    def gone(self) -> None:
        """Nothing that costs is left of the stack."""
        names = {
            "tables": client(self._running, "dynamodb").list_tables()["TableNames"],
            "functions": client(self._running, "lambda").list_functions()["Functions"],
            "machines": client(self._running, "stepfunctions").list_state_machines()["stateMachines"],
            "schedules": client(self._running, "scheduler").list_schedules()["Schedules"],
            "gateways": client(self._running, "apigateway").get_rest_apis()["items"],
            "alarms": client(self._running, "cloudwatch").describe_alarms()["MetricAlarms"],
            "buckets": [b for b in client(self._running, "s3").list_buckets()["Buckets"] if STACK in b["Name"]],
        }
        left = {kind: found for kind, found in names.items() if found}
        expect(not left, f"the deleted stack leaves {left}")

    def _stack(self) -> dict[str, Any]:
        (found,) = client(self._running, "cloudformation").describe_stacks(StackName=STACK)["Stacks"]
        return dict(found)


def main() -> int:
    """Returns the exit code."""
    began = time.monotonic()
    try:
        install()
        with (
            templates_checked(),
            tempfile.TemporaryDirectory(prefix="hibernaut-deploy-") as folder,
            emulator(Path(folder)) as running,
        ):
            try:
                Rehearsal(running, Path(folder)).play()
            except (CommandFailed, Unexpected):
                print(f"\nThe emulator's log ends with:\n{running.last_words()}", file=sys.stderr)
                raise
    except (CommandFailed, NotInstalled, NotStarted, RuntimeError, Unexpected) as failure:
        print(f"\ndeploy-check failed: {failure}", file=sys.stderr)
        return 1
    print(f"deploy-check passed in {time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
