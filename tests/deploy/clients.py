"""What clients do with the deployed API: the quickstart of the README, a stream, a custom tool, an approval.

Knows the API and the stack's outputs; must not know the CDK. Each function raises Unexpected where the answer is not the expected
one.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import boto3
import httpx
from letta_client import Letta

from infra.artifacts import ROOT
from tests.deploy.emulator import Emulator
from tests.quickstart.test_readme import ADDRESS, code_block

COMMAND = [sys.executable, "-c", "import sys; from hibernaut.local.command import main; sys.exit(main())"]
"""The program `hibernaut`."""
PATIENCE = 120.0
"""Seconds for one request: a function's first one unpacks and imports everything."""
SWEEP = 180.0
"""Seconds within which the scheduler invokes the sweep, which is due every minute, and the sweep has logged."""
KNOCK = (
    'def knock(door: str) -> str:\n    """Knock.\n\n    Args:\n        door: Which.\n    """\n    return f"knocked at {door}"\n'
)


class Unexpected(Exception):
    """An answer is not the expected one; the message says which."""


def expect(so: bool, otherwise: str) -> None:
    """Raises: Unexpected."""
    if not so:
        raise Unexpected(otherwise)


class DeployedApi:
    """The API of a deployed stack, and a key for it. The emulator serves a gateway below its own address."""

    def __init__(self, running: Emulator, outputs: Mapping[str, str]) -> None:
        self._running, self._outputs = running, outputs
        api = outputs["ApiUrl"].removeprefix("https://").partition(".")[0]
        self.url = f"{running.url}/restapis/{api}/dev/_user_request_"
        self.key = ""

    def create_key(self) -> None:
        """Create the first key by the command of `docs/aws.md`; before it, a request is refused."""
        refused = httpx.get(f"{self.url}/v1/agents/", timeout=PATIENCE)
        expect(refused.status_code == 401, f"without a key the API answers {refused.status_code}: {refused.text}")
        variables = {**self._running.environment(), "PYTHONPATH": str(ROOT / "shared")}
        command = [*COMMAND, "keys", "create", "--env", "dev", "--scope", "admin"]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        expect(done.returncode == 0, f"hibernaut keys create failed: {done.stderr}")
        expect(done.stderr == "", f"hibernaut keys create warns: {done.stderr}")
        self.key = done.stdout.split()[-1]

    def quickstart(self) -> None:
        """The program of the README, with this address and this key."""
        program = code_block("python", "from letta_client import Letta").replace(
            f'base_url="{ADDRESS}"', f'base_url="{self.url}", api_key="{self.key}", timeout={PATIENCE}'
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=False)
        expect(
            "Rex" in done.stdout.splitlines()[-1:][0] if done.stdout else False,
            f"the quickstart says: {done.stdout}{done.stderr}",
        )

    def stream(self, agent: str) -> None:
        """A reply as events, to its end."""
        events = [event.message_type for event in self._client.agents.messages.stream(agent, input="Hello again.")]
        expect("assistant_message" in events, f"the stream holds {events}")
        expect(events[-1] == "usage_statistics", f"the stream ends with {events[-1]}")

    def custom_tool(self, agent: str) -> None:
        """A tool of a user's own, which the function `run_tool` runs."""
        tool = self._client.tools.upsert(source_code=KNOCK)
        self._client.agents.tools.attach(tool.id, agent_id=agent)
        said = self._say(agent, "Call the tool knock with the front door.")
        returned = [message.tool_return for message in said.messages if message.message_type == "tool_return_message"]
        expect(any("knocked at" in str(one) for one in returned), f"knock returned {returned}")

    def approval(self) -> None:
        """A call that waits for an approval, and continues after it. Its execution waits, and ends with the answer."""
        rules: Any = [{"type": "requires_approval", "tool_name": "memory_insert"}]
        agent = self.new_agent(tool_rules=rules)
        asked = self._say(agent, "Please remember that my cat is called Tom.")
        expect(asked.stop_reason.stop_reason == "requires_approval", f"the run stopped by {asked.stop_reason}")
        (request,) = [message for message in asked.messages if message.message_type == "approval_request_message"]
        waiting = self.execution(request.run_id)
        expect(waiting == "RUNNING", f"the execution that waits is {waiting}")
        answer: Any = {
            "type": "approval",
            "approvals": [{"type": "approval", "tool_call_id": request.tool_call.tool_call_id, "approve": True}],
        }
        said = self._client.agents.messages.create(agent, messages=[answer])
        expect(said.stop_reason.stop_reason == "end_turn", f"after the approval the run stopped by {said.stop_reason}")
        expect("Tom" in self.human(agent), f"after the approval the block holds {self.human(agent)!r}")
        until(lambda: self.execution(request.run_id) == "SUCCEEDED", "the execution that waited does not end", 120)

    def background(self, agent: str) -> None:
        """A run that nobody waits for."""
        run = self._client.agents.messages.create_async(agent, input="Hello from afar.")
        until(lambda: self._client.runs.retrieve(run.id).status == "completed", f"the run {run.id} does not complete", 120)

    def sweep(self) -> None:
        """The scheduler has invoked the sweep, whose log says that it ended."""
        logs, groups = self._aws("logs"), self._aws("lambda").list_functions()["Functions"]
        (group,) = [one["LoggingConfig"]["LogGroup"] for one in groups if "SweepRuns" in one["FunctionName"]]

        def ended() -> bool:
            return any("sweep ended" in event["message"] for event in logs.filter_log_events(logGroupName=group)["events"])

        until(ended, "no sweep has ended", SWEEP)

    def new_agent(self, **fields: Any) -> str:
        """An agent that remembers what it is told."""
        blocks: Any = [{"label": "human", "value": ""}]
        return str(self._client.agents.create(name="guide", memory_blocks=blocks, **fields).id)

    def remembers(self, agent: str) -> None:
        """A message after a change of the stack: the agent and its memory are still there."""
        self._say(agent, "Please remember that my dog is called Rex.")
        expect("Rex" in self.human(agent), f"the block holds {self.human(agent)!r}")

    def human(self, agent: str) -> str:
        """What the agent has noted about its user."""
        return str(self._client.agents.blocks.retrieve("human", agent_id=agent).value)

    def execution(self, run: str) -> str:
        """The status of a run's execution."""
        arn = self._outputs["StateMachineArn"].replace(":stateMachine:", ":execution:")
        return str(self._aws("stepfunctions").describe_execution(executionArn=f"{arn}:{run}")["status"])

    def _say(self, agent: str, text: str) -> Any:
        return self._client.agents.messages.create(agent, input=text)

    @property
    def _client(self) -> Letta:
        return Letta(base_url=self.url, api_key=self.key, timeout=PATIENCE, max_retries=0)

    def _aws(self, service: str) -> Any:
        return client(self._running, service)


def client(running: Emulator, service: str) -> Any:
    """A boto3 client of the emulator."""
    variables = running.environment()
    return boto3.client(
        service,
        endpoint_url=running.url,
        region_name=variables["AWS_REGION"],
        aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
    )


def until(so: Callable[[], bool], otherwise: str, seconds: float) -> None:
    """Wait until a condition holds. Raises: Unexpected after `seconds`."""
    deadline = time.monotonic() + seconds
    while not so():
        expect(time.monotonic() < deadline, otherwise)
        time.sleep(0.5)
