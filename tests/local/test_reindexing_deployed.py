"""`hibernaut reindex` of a deployed stack: the command in a process of its own, against a Lambda on loopback that runs the real
handler.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hibernaut.local.administration.reindexing_deployed import build_anew
from hibernaut.local.aws_offline.api_gateway.gateway_events import GatewayRequest
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.profiles import CannotServe
from hibernaut.local.progress import ProgressLines
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.wiring.engines.memory_index import index_of
from hibernaut.wiring.settings import AwsSettings
from tests.local.test_command import COMMAND, environment, sorry

INVOKED = "/2015-03-31/functions/"
STACK = """<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks><member>
<StackName>hibernaut-prod</StackName><StackStatus>CREATE_COMPLETE</StackStatus><CreationTime>2026-01-01T00:00:00Z</CreationTime>
<Outputs>{outputs}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>"""
OUTPUT = "<member><OutputKey>{}</OutputKey><OutputValue>{}</OutputValue></member>"
NO_STACK = """<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code>
<Message>Stack with id hibernaut-prod does not exist</Message></Error></ErrorResponse>"""


class Account(ThreadingHTTPServer):
    """Lambda's Invoke and CloudFormation's DescribeStacks. `outputs` None: there is no stack."""

    daemon_threads = True

    def __init__(self, aws: OfflineAws | None = None, outputs: dict[str, str] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Door)
        self.aws, self.outputs = aws, outputs
        self.invoked: list[Json] = []
        where = f"http://127.0.0.1:{self.server_address[1]}"
        self.variables = {"AWS_ENDPOINT_URL_LAMBDA": where, "AWS_ENDPOINT_URL_CLOUDFORMATION": where}


class _Door(BaseHTTPRequestHandler):
    server: Account

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path.startswith(INVOKED):
            self._invoke(self.path[len(INVOKED) :].removesuffix("/invocations"), json.loads(body))
        elif self.server.outputs is None:
            self._answer(400, NO_STACK.encode())
        else:
            outputs = "".join(OUTPUT.format(*each) for each in self.server.outputs.items())
            self._answer(200, STACK.format(outputs=outputs).encode())

    def _invoke(self, name: str, event: JsonObject) -> None:
        self.server.invoked.append(event)
        assert self.server.aws is not None
        reply = self.server.aws.lambdas.invoke(name, event)
        self._answer(200, json.dumps(reply.payload).encode(), {"X-Amz-Function-Error": "Unhandled"} if reply.failed else {})

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def account(aws: OfflineAws | None = None, outputs: dict[str, str] | None = None) -> Iterator[Account]:
    with Account(aws, outputs) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.005})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def reindexed(*arguments: str, without: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    words = [*COMMAND, "reindex", *arguments]
    given = {name: value for name, value in environment(**variables).items() if name not in without.split()}
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, env=given)


def known() -> set[str]:
    index = index_of(AwsSettings.from_environment())
    assert index is not None
    return {state.id for space in index.spaces() for state in index.states(space, "default")}


def keep(aws: OfflineAws, text: str) -> None:
    """A passage of a new agent."""
    headers = [("Content-Type", "application/json"), ("Host", "localhost")]
    path = "/v1/agents/"
    for body in ({"name": "keeper"}, {"text": text}):
        answer = aws.gateway.answer(GatewayRequest("POST", path, "", headers, json.dumps(body).encode()))
        assert answer.status == 200, answer.body
        if "name" in body:
            path = f"/v1/agents/{json.loads(answer.body)['id']}/archival-memory"


def test_the_stack_s_function_builds_the_index_anew_and_the_command_ends_when_it_knows_everything() -> None:
    with OfflineAws() as aws, account(aws, {"TableName": "t", "IndexFunction": aws.stack.outputs["IndexFunction"]}) as cloud:
        keep(aws, "The spare key hangs behind the clock.")
        aws.pump()
        before, index = known(), index_of(AwsSettings.from_environment())
        assert before
        assert index is not None
        for space in index.spaces():
            index.drop(space)
        aws.deliver_in_background()
        done = reindexed("--env", "prod", **cloud.variables)
        assert (done.returncode, done.stderr) == (0, "")
        assert f"Reindexing by {aws.stack.outputs['IndexFunction']}" in done.stdout
        assert done.stdout.endswith("Done: the index is complete.\n")
        assert cloud.invoked[:2] == [{"reindex": "all"}, {"reindexed": "all"}]
        assert known() == before


@pytest.mark.parametrize(
    ("outputs", "says"),
    [(None, "Stack with id hibernaut-prod does not exist"), ({"TableName": "t"}, "has no index of memory; deploy it with")],
)
def test_a_stack_without_an_index_is_one_line(outputs: dict[str, str] | None, says: str) -> None:
    with account(None, outputs) as cloud:
        done = reindexed("--env", "prod", **cloud.variables)
    assert done.returncode == 1
    assert says in sorry(done)


def test_what_aws_is_asked_without_is_one_line() -> None:
    done = reindexed("--env", "prod", without="AWS_DEFAULT_REGION")
    assert (done.returncode, "region" in sorry(done)) == (1, True)
    done = reindexed("--function", "f", without="AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY")
    assert (done.returncode, "Unable to locate credentials" in done.stderr) == (1, True)
    assert reindexed("--env", "prod", "--data-dir", "x").returncode == 2


def test_the_region_of_aws_s_other_tools_comes_first() -> None:
    with account(None, {"TableName": "t"}) as cloud:
        done = reindexed("--env", "prod", without="AWS_DEFAULT_REGION", AWS_REGION="eu-west-1", **cloud.variables)
    assert "has no index of memory" in sorry(done)
    script = "from botocore.config import Config; from hibernaut.adapters.aws_clients import aws_client; print(aws_client('sqs', Config()).meta.region_name)"
    both = environment(AWS_REGION="eu-west-1", AWS_DEFAULT_REGION="eu-central-1")
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=both).stdout
        == "eu-west-1\n"
    )


def test_without_boto3_the_command_says_what_it_needs() -> None:
    script = COMMAND[2].replace("import sys;", "import sys; sys.modules['botocore'] = sys.modules['boto3'] = None;")
    words = [sys.executable, "-c", script, "reindex", "--function", "f"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, env=environment())
    assert (done.returncode, "pip install boto3" in sorry(done)) == (1, True)


class Answers:
    """A function that answers one after the other."""

    def __init__(self, *answers: JsonObject) -> None:
        self.answers = list(answers)
        self.waited: list[float] = []

    def invoke(self, **_request: Any) -> Any:
        answer = self.answers.pop(0)
        failed = {"FunctionError": "Unhandled"} if "errorType" in answer else {}
        return {"Payload": io.BytesIO(json.dumps(answer).encode()), **failed}


def told_by(client: Any) -> list[str]:
    out = io.StringIO()
    records = build_anew("feeder", client, ProgressLines(out), wait=lambda _seconds: None)
    assert f"waits for {records:,} records" in out.getvalue()
    return out.getvalue().splitlines()


def test_it_tells_how_the_index_takes_in_what_it_waits_for() -> None:
    function = Answers(
        {"records": 1200},
        {"whole": False, "left": 20},
        {"whole": False, "left": 12},
        {"whole": False, "left": 2},
        {"whole": True, "left": 1},
    )
    assert told_by(function) == [
        "Reindexing by feeder; searches remain available.",
        "The index is empty and waits for 1,200 records.",
        "40 %",
        "90 %",
        "Done: the index is complete.",
    ]


def test_a_function_that_fails_is_one_line() -> None:
    with pytest.raises(CannotServe, match="feeder failed: IndexAsleep: no answer; run the command again"):
        told_by(Answers({"errorType": "IndexAsleep", "errorMessage": "no answer"}))


def test_a_caller_who_may_not_is_told_what_lambda_said() -> None:
    class Refusing:
        def invoke(self, **_request: Any) -> Any:
            raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "not allowed"}}, "Invoke")

    with pytest.raises(CannotServe, match="feeder cannot be invoked: AccessDeniedException: not allowed"):
        told_by(Refusing())
