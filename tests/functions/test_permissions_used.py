"""Nobody enforces roles in this process, so it is watched which calls the handlers make: each must be allowed by its function's
role.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import pytest
from botocore.client import BaseClient
from websockets.exceptions import ConnectionClosed

from hibernaut.adapters.blobs.s3 import S3Blobs
from hibernaut.local.aws_offline.api_gateway.gateway_events import GatewayRequest
from hibernaut.local.aws_offline.lambdas import current_function
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.aws_offline.place import ACCOUNT, REGION
from hibernaut.local.aws_offline.resources import client
from hibernaut.schemas.base import JsonObject
from hibernaut.services.steps.step_lease import AdvanceResult
from tests.infra.reading import listed
from tests.support.clocks import ManualClock
from tests.support.package_index import PackageIndexServer, serving_index
from tests.support.provider_servers import ScriptedOpenAI
from tests.support.scripted_model import ScriptedModels, in_turn, says
from tests.support.web_sockets import LONGEST, conversing
from tests.support.world import Data, World

SOURCE = 'def knock(door: str) -> str:\n    """Knock.\n\n    Args:\n        door: Which.\n    """\n    return door\n'
WRITES = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}


LONG = f"{'l' * 119} " * 850
"""100 KB, too long for an item. The embedder reads each word as one that it does not know, which costs a hundredth of short
words.
"""
MACHINE = "the machine whose task the token names"
SOCKETS = "the stage of the WebSocket API"


RETENTION = {"HIBERNAUT_REST_DAYS": "1", "HIBERNAUT_RETENTION_DAYS": "1", "HIBERNAUT_RETENTION": "delete"}
"""The sweep's settings, by which it packs and deletes."""


class Call(NamedTuple):
    """What a handler asked of AWS, as roles name it."""

    function: str
    action: str
    resource: str


@dataclass
class Watch:
    calls: set[Call] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, service: str, operation: str, asked: JsonObject) -> None:
        function = current_function()
        if function is not None:
            with self.lock:
                self.calls |= {Call(function, action, resource) for action, resource in named(service, operation, asked)}

    def by(self, function: str) -> set[str]:
        return {call.action for call in self.calls if call.function == function}


def named(service: str, operation: str, asked: JsonObject) -> Iterator[tuple[str, str]]:
    """The actions and resources that AWS checks for a call (service authorization reference)."""
    match service, operation:
        case "dynamodb", "TransactWriteItems":
            for item in asked["TransactItems"]:
                ((verb, change),) = item.items()
                yield f"dynamodb:{WRITES[verb]}", table(change["TableName"])
        case "dynamodb", "BatchGetItem":
            for name in asked["RequestItems"]:
                yield "dynamodb:BatchGetItem", table(name)
        case "dynamodb", _:
            index = f"/index/{asked['IndexName']}" if "IndexName" in asked else ""
            yield f"dynamodb:{operation}", table(asked["TableName"]) + index
        case "s3", _:
            yield of_bucket(operation, asked)
        case "sfn", _:
            resource = {"StartExecution": "stateMachineArn", "StopExecution": "executionArn"}.get(operation)
            yield f"states:{operation}", asked[resource] if resource else MACHINE
        case "lambda", "Invoke":
            name = asked["FunctionName"]
            yield "lambda:InvokeFunction", name if ":" in name else f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"
        case "apigatewaymanagementapi", _:
            verb = {"PostToConnection": "POST", "DeleteConnection": "DELETE"}[operation]
            yield "execute-api:ManageConnections", f"{SOCKETS}/{verb}/@connections/{asked['ConnectionId']}"
        case "scheduler" | "ssm", _:
            yield from named_by_path(service, operation, asked)
        case "kms", _:
            assert asked["EncryptionContext"]["hibernaut"] == "dev"  # the condition of the roles
            yield f"kms:{operation}", asked["KeyId"]
        case _:
            raise NotImplementedError(f"{service} {operation}: say here what a role must allow for it")


def of_bucket(operation: str, asked: JsonObject) -> tuple[str, str]:
    bucket = f"arn:aws:s3:::{asked['Bucket']}"
    return ("s3:ListBucket", bucket) if operation == "ListObjectsV2" else (f"s3:{operation}", f"{bucket}/{asked['Key']}")


def named_by_path(service: str, operation: str, asked: JsonObject) -> Iterator[tuple[str, str]]:
    place = f"arn:aws:{service}:{REGION}:{ACCOUNT}"
    if service == "ssm":
        yield f"ssm:{operation}", f"{place}:parameter{asked['Path']}"
        return
    yield (
        f"scheduler:{operation}",
        "*" if operation == "ListSchedules" else f"{place}:schedule/{asked['GroupName']}/{asked['Name']}",
    )
    if "Target" in asked:
        yield "iam:PassRole", asked["Target"]["RoleArn"]


def table(name: str) -> str:
    return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}"


def allowed(aws: OfflineAws, call: Call) -> bool:
    """Whether the role of the function allows it, by the statements of the loaded template."""
    address = aws.lambdas.of(call.function).arn
    (function,) = (one for one in aws.stack.of_type("AWS::Lambda::Function") if one.attributes["Arn"] == address)
    wanted = aws.state_machine if call.resource == MACHINE else call.resource.replace(SOCKETS, stage_of_sockets(aws))
    role = function.properties["Role"].rsplit("/", 1)[1]
    statements = [
        statement
        for policy in aws.stack.of_type("AWS::IAM::Policy")
        if role in policy.properties["Roles"]
        for statement in policy.properties["PolicyDocument"]["Statement"]
    ]
    return any(
        statement["Effect"] == "Allow"
        and call.action in listed(statement["Action"])
        and any(fnmatchcase(wanted, resource) for resource in listed(statement["Resource"]))
        for statement in statements
    )


def stage_of_sockets(aws: OfflineAws) -> str:
    (api,) = aws.stack.of_type("AWS::ApiGatewayV2::Api")
    (stage,) = aws.stack.of_type("AWS::ApiGatewayV2::Stage")
    return f"arn:aws:execute-api:{REGION}:{ACCOUNT}:{api.ref}/{stage.ref}"


@pytest.fixture(scope="module")
def provider() -> Iterator[ScriptedOpenAI]:
    with ScriptedOpenAI() as server:
        yield server


@pytest.fixture(scope="module")
def watched(provider: ScriptedOpenAI) -> Iterator[tuple[OfflineAws, Watch]]:
    """A deployment after a life in small: agents, custom tools, large bodies, a cancelled run, a sweep, deletion."""
    watch = Watch()
    original = BaseClient._make_api_call

    def noted(client: Any, operation: str, asked: JsonObject) -> Any:
        watch.note(client.meta.service_model.service_id.hyphenize(), operation, asked)
        return original(client, operation, asked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseClient, "_make_api_call", noted)
        secrets = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": provider.url}
        with serving_index() as index:
            variables = {**RETENTION, "HIBERNAUT_PACKAGE_INDEX": index.url}
            with OfflineAws(time_scale=0.001, secrets=secrets, variables=variables) as aws:
                live(aws, provider, index)
                yield aws, watch


class NeverDone:
    """A step that another attempt holds for ever."""

    def __init__(self) -> None:
        self.turns = self

    def of(self, _tenant: str) -> NeverDone:
        return self

    def advance(self, *_: object, **__: object) -> AdvanceResult:
        return AdvanceResult("busy", 0)


class Life:
    """What a deployment is asked, in the words of its clients."""

    def __init__(self, aws: OfflineAws, provider: ScriptedOpenAI) -> None:
        self.aws, self.provider = aws, provider
        provider.script = self._say

    def ask(self, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
        headers = [("Content-Type", "application/json"), ("Host", "localhost")]
        path, _, query = path.partition("?")
        answer = self.aws.gateway.answer(GatewayRequest(method, path, query, headers, json.dumps(body).encode() if body else b""))
        assert answer.status == status, answer.body
        return json.loads(answer.body)

    def _say(self, messages: list[JsonObject], tools: list[JsonObject]) -> JsonObject:
        sent = len(json.dumps(messages)) // 5  # most of what is sent are words of five characters
        usage = {"prompt_tokens": sent, "completion_tokens": 5, "total_tokens": sent + 5}
        if tools and messages[-1]["role"] == "user":
            return {"tool_calls": [{"id": "call_1", "name": "knock", "arguments": {"door": "front"}}], "usage": usage}
        return {"content": "Knocked.", "usage": usage}

    def agent(self, **fields: Any) -> str:
        tool = self.ask("PUT", "/v1/tools/", {"source_code": SOURCE})
        made = self.ask("POST", "/v1/agents/", {"model": "openai/test-model", "tool_ids": [tool["id"]], "name": "a", **fields})
        return str(made["id"])

    def send(self, agent: str, *messages: JsonObject, way: str = "messages", **fields: Any) -> Any:
        return self.ask("POST", f"/v1/agents/{agent}/{way}", {"messages": list(messages), **fields})


def require(life: Life, index: PackageIndexServer) -> None:
    """A tool with packages is saved and run."""
    index.add("some-package", "1.0")
    wanted = [{"name": "some-package"}]
    source = 'def ring() -> str:\n    """Ring."""\n    import some_package\n\n    return some_package.version\n'
    tool = life.ask("PUT", "/v1/tools/", {"source_code": source, "pip_requirements": wanted})
    agent = life.ask("POST", "/v1/agents/", {"model": "openai/test-model", "tool_ids": [tool["id"]], "name": "r"})["id"]
    assert life.ask("POST", f"/v1/agents/{agent}/tools/ring/run", {"args": {}})["func_return"] == "1.0"


def live(aws: OfflineAws, provider: ScriptedOpenAI, index: PackageIndexServer) -> None:
    life = Life(aws, provider)
    require(life, index)
    agent = life.agent()
    life.send(life.agent(), {"role": "user", "content": LONG}, way="messages/async")
    aws.wait_for_all()
    reply = life.send(agent, {"role": "user", "content": LONG})
    assert [one["message_type"] for one in reply["messages"]][1:] == ["tool_return_message", "assistant_message"]
    life.ask("GET", f"/v1/agents/{agent}/messages")
    life.ask("PATCH", f"/v1/agents/{agent}", {"name": "b"})
    aws.lambdas.deps["advance_turn"] = NeverDone()
    life.send(agent, {"role": "user", "content": "Stay."}, way="messages/async")
    life.ask("POST", f"/v1/agents/{agent}/messages/cancel")
    del aws.lambdas.deps["advance_turn"]
    aws.wait_for_all()
    approve(life)
    compact(life, agent)
    remember(life, agent)
    bring_a_key(life)
    converse(life)
    forgotten(aws)
    erase(life)
    assert not aws.fire_schedule().failed
    aws.invoke("close_run", {"tenant": "default", "run_id": "run-00000000-0000-4000-8000-000000000001", "error": "X"})
    life.ask("DELETE", f"/v1/agents/{agent}")


def forgotten(aws: OfflineAws) -> None:
    """An agent that was spoken to in the days of the manual clock, which the sweep puts to rest, and whose run it deletes."""
    bucket = aws.stack.outputs["BucketName"]
    world = World(Data(aws.table, ManualClock(), ScriptedModels(in_turn(says("long ago " * 50))), blobs=S3Blobs(bucket)))  # type: ignore[arg-type]
    world.send(world.make_agent(), "hello")


def erase(life: Life) -> None:
    """A person is erased, by the API and by the sweep: agents, memory, what was said to others."""
    person = life.ask("PUT", "/v1/identities", {"identifier_key": "ann", "name": "Ann", "identity_type": "user"})["id"]
    own, other = life.agent(identity_ids=[person], memory_blocks=[{"label": "human", "value": "Ann"}]), life.agent()
    life.send(own, {"role": "user", "content": LONG})
    life.ask("POST", f"/v1/agents/{own}/archival-memory", {"text": "Ann likes tea."})
    life.send(other, {"role": "user", "content": "I am Ann.", "sender_id": person})
    begun = life.ask("POST", f"/v1/identities/{person}/erase", status=202)
    life.aws.wait_for_all()
    for _ in range(2):
        assert not life.aws.fire_schedule().failed
    life.ask("GET", f"/v1/erasures/{begun['id']}")


def approve(life: Life) -> None:
    """An approval of a background run that is given, one that nobody answers, and one that a waiting caller's run asks for."""
    rules = [{"type": "requires_approval", "tool_name": "knock"}]
    guarded = life.agent(tool_rules=rules)
    call = {"type": "approval", "tool_call_id": "call_1", "approve": True}
    for deadline in ({}, {"approval_deadline": 1}):
        life.send(guarded, {"role": "user", "content": "Anybody?"}, way="messages/async", **deadline)
        life.aws.wait_for_all()
        if not deadline:
            life.send(guarded, {"type": "approval", "approvals": [call]})
        life.aws.wait_for_all()
    guarded = life.agent(tool_rules=rules)
    asked = life.send(guarded, {"role": "user", "content": "Anybody?"})
    assert asked["stop_reason"]["stop_reason"] == "requires_approval"
    life.send(guarded, {"type": "approval", "approvals": [call]})


def compact(life: Life, agent: str) -> None:
    """The window is made shorter, between two steps and by request."""
    narrow = life.agent(context_window_limit=6000)
    for _ in range(5):
        life.send(narrow, {"role": "user", "content": "long " * 1000})
    life.ask("POST", f"/v1/agents/{agent}/summarize")


def bring_a_key(life: Life) -> None:
    """A provider of the user's own answers, by the API's functions and by those of a run, and embeds by the one that feeds the
    index.
    """
    fields = {"name": "mine", "provider_type": "openai", "api_key": "sk-own", "base_url": life.provider.url}
    provider = life.ask("POST", "/v1/providers/", fields)["id"]
    life.ask("POST", f"/v1/providers/{provider}/check")
    own = life.agent(model="mine/test-model", context_window_limit=6000)
    life.send(own, {"role": "user", "content": "Hello?"}, way="messages/async")
    life.aws.wait_for_all()
    for _ in range(5):
        life.send(own, {"role": "user", "content": "long " * 1000})
    config = {"handle": "mine/e", "embedding_model": "e", "embedding_endpoint_type": "openai", "embedding_dim": 8}
    archive = life.ask("POST", "/v1/archives/", {"name": "own", "embedding_config": config})["id"]
    life.ask("POST", f"/v1/archives/{archive}/passages", {"text": "The key hangs behind the clock."})
    life.aws.pump()
    assert [asked.headers["authorization"] for asked in life.provider.embedded] == ["Bearer sk-own"]
    life.ask("DELETE", f"/v1/providers/{provider}")


def remember(life: Life, agent: str) -> None:
    """Memory is indexed, taken again, built anew; a file is announced, put into the bucket and read."""
    aws = life.aws
    life.ask("POST", f"/v1/agents/{agent}/archival-memory", {"text": "The key hangs behind the clock."})
    aws.pump()
    life.ask("GET", f"/v1/agents/{agent}/archival-memory/search?query=key")
    folder = life.ask("POST", "/v1/folders/", {"name": "papers"})["id"]
    file = life.ask("POST", f"/v1/folders/{folder}/upload-url", {"file_name": "a.txt", "file_size": 5})["file"]
    client("s3").put_object(Bucket=aws.stack.outputs["BucketName"], Key=f"uploads/default/{file['id']}", Body=b"Hello")
    aws.rules.wait()
    assert not aws.fire_schedule("index_memory").failed
    aws.invoke("index_memory", {"reindex": "all"})
    aws.pump()
    assert aws.invoke("index_memory", {"reindexed": "all"}) == {"whole": True, "left": 0}
    life.ask("DELETE", f"/v1/folders/{folder}")
    aws.pump()


def converse(life: Life) -> None:
    """A conversation over a WebSocket: a message, an approval, a cancel, and a message after the connection's end was
    reported.
    """
    guarded = life.agent(tool_rules=[{"type": "requires_approval", "tool_name": "knock"}])
    with conversing(life.aws.url) as socket:
        assert socket.whole("send", agent_id=guarded, body={"input": "Anybody?", "stream_tokens": True})[-1]["type"] == "done"
        call = {"type": "approval", "tool_call_id": "call_1", "approve": True}
        assert socket.whole("approve", agent_id=guarded, approvals=[call])[-1]["type"] == "done"
        assert socket.ask("cancel", agent_id=guarded)["code"] == "conflict"
        (held,) = life.aws.sockets.connections()
        about = {"connectionId": held, "eventType": "DISCONNECT"}
        life.aws.invoke("socket", {"requestContext": about})
        socket.send("ping")
        with pytest.raises(ConnectionClosed):
            socket.connection.recv(LONGEST)


def test_every_call_that_a_handler_makes_is_allowed_to_it(watched: tuple[OfflineAws, Watch]) -> None:
    aws, watch = watched
    assert sorted(call for call in watch.calls if not allowed(aws, call)) == []


def test_the_life_that_was_watched_used_what_roles_are_for(watched: tuple[OfflineAws, Watch]) -> None:
    _, watch = watched
    assert {"dynamodb:PutItem", "dynamodb:Query", "states:StopExecution"} <= watch.by("api")
    assert {"dynamodb:PutItem", "states:StartExecution", "states:SendTaskSuccess", "s3:PutObject"} <= watch.by("stream")
    assert {"lambda:InvokeFunction", "ssm:GetParametersByPath", "kms:Decrypt"} <= watch.by("stream")
    assert {"dynamodb:UpdateItem", "lambda:InvokeFunction", "ssm:GetParametersByPath", "s3:GetObject"} <= watch.by("advance_turn")
    assert "dynamodb:UpdateItem" in watch.by("request_approval")
    assert {"dynamodb:UpdateItem", "dynamodb:PutItem"} <= watch.by("summarize")
    assert {"execute-api:ManageConnections", "lambda:InvokeFunction", "dynamodb:PutItem"} <= watch.by("socket")
    assert {"kms:GenerateDataKey", "kms:Decrypt"} <= watch.by("api")
    assert "kms:Decrypt" in watch.by("advance_turn")
    assert {"dynamodb:Query", "s3:PutObject", "dynamodb:UpdateItem", "dynamodb:DeleteItem"} <= watch.by("sweep_runs")
    assert {"dynamodb:BatchGetItem", "dynamodb:DeleteItem", "kms:Decrypt"} <= watch.by("index_memory")
    assert {"s3:GetObject", "s3:PutObject", "dynamodb:UpdateItem"} <= watch.by("ingest_file")
    assert watch.by("build_packages") == {"s3:GetObject", "s3:PutObject"}


def test_the_cage_asks_nothing_of_aws(watched: tuple[OfflineAws, Watch]) -> None:
    assert watched[1].by("run_tool") | watched[1].by("run_node") == set()
