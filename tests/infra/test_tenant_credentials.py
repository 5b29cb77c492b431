"""With `tenantCredentials=narrowed`: every call for a tenant is signed for that tenant, and the role's statements admit it and
nothing of another.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import pytest
from botocore.client import BaseClient

from hibernaut.adapters.tenant_sessions import _TENANT
from hibernaut.local.aws_offline.api_gateway.gateway_events import GatewayRequest
from hibernaut.local.aws_offline.lambdas import current_function
from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.schemas.access.api_key import CreateApiKey
from hibernaut.schemas.access.scope import Scope
from hibernaut.wiring.access import DeployedStack, access_to_stack
from infra.constructs.tenant_role import NARROWED
from tests.infra.reading import Template, listed

ROLE = "arn:aws:iam::123456789012:role/tenants"
TENANTS = ("acme", "other")


class Call(NamedTuple):
    """`tenant` None: it was signed with the function's own credentials. `places`: partitions, or the name of an object."""

    function: str
    action: str
    tenant: str | None
    places: frozenset[str]


def places(operation: str, asked: dict[str, Any]) -> set[str]:
    """The partitions that DynamoDB finds in a request: the values of `dynamodb:LeadingKeys`."""
    match operation:
        case "TransactWriteItems":
            changes = [(verb, change) for item in asked["TransactItems"] for verb, change in item.items()]
            return {change["Item" if verb == "Put" else "Key"]["pk"]["S"] for verb, change in changes}
        case "BatchGetItem":
            return {key["pk"]["S"] for request in asked["RequestItems"].values() for key in request["Keys"]}
        case "Query":
            # The partition is the first value of the condition, of the table and of an index alike.
            name = asked["KeyConditionExpression"].split("=")[1].split()[0].strip("() ")
            return {asked["ExpressionAttributeValues"][name]["S"]}
        case "PutItem":
            return {asked["Item"]["pk"]["S"]}
        case _:
            return {asked["Key"]["pk"]["S"]}


class Watch:
    def __init__(self) -> None:
        self.calls: set[Call] = set()
        self.sessions: list[str] = []
        self.lock = threading.Lock()

    def note(self, client: Any, operation: str, asked: dict[str, Any]) -> None:
        service, function = client.meta.service_model.service_id.lower(), current_function()
        with self.lock:
            if operation == "AssumeRole":
                assert asked["RoleArn"] == ROLE
                self.sessions.append(asked["Tags"][0]["Value"])
            elif function is not None and service in ("dynamodb", "s3"):
                signed = type(client._request_signer._credentials).__name__ == "PerCallCredentials"
                found = places(operation, asked) if service == "dynamodb" else {asked.get("Key", asked.get("Prefix", ""))}
                tenant = _TENANT.get() if signed else None
                self.calls.add(Call(function, f"{service}:{operation}", tenant, frozenset(found)))


@pytest.fixture(scope="module")
def watched() -> Iterator[Watch]:
    """Two tenants live side by side, each with long messages, memory and deletions."""
    watch, original = Watch(), BaseClient._make_api_call

    def noted(client: Any, operation: str, asked: dict[str, Any]) -> Any:
        watch.note(client, operation, asked)
        return original(client, operation, asked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseClient, "_make_api_call", noted)
        variables = {"HIBERNAUT_TENANT_ROLE": ROLE, "HIBERNAUT_DEFAULT_MODEL": "hibernaut/demo"}
        with OfflineAws(time_scale=0.001, variables=variables) as aws:
            outputs = aws.stack.outputs
            access = access_to_stack(
                DeployedStack("dev", *(outputs[name] for name in ("TableName", "BucketName", "SecretsKeyArn")))
            )
            for tenant in TENANTS:
                live(aws, access.keys_of(tenant).create(CreateApiKey(scope=Scope.ADMIN)).key)
            yield watch


def live(aws: OfflineAws, key: str) -> None:
    def ask(method: str, path: str, body: Any = None) -> Any:
        headers = [("Content-Type", "application/json"), ("Host", "localhost"), ("Authorization", f"Bearer {key}")]
        path, _, query = path.partition("?")
        sent = json.dumps(body).encode() if body else b""
        answer = aws.gateway.answer(GatewayRequest(method, path, query, headers, sent))
        assert answer.status == 200, answer.body
        return json.loads(answer.body)

    agent = ask("POST", "/v1/agents/", {"model": "hibernaut/demo", "name": "a"})["id"]
    long = {"messages": [{"role": "user", "content": "long " * 20_000}]}
    ask("POST", f"/v1/agents/{agent}/messages", long)
    ask("POST", f"/v1/agents/{agent}/messages/async", long)
    aws.wait_for_all()
    ask("GET", f"/v1/agents/{agent}/messages")
    ask("POST", f"/v1/agents/{agent}/archival-memory", {"text": "The key hangs behind the clock."})
    ask("GET", "/v1/agents/?name=a")
    ask("POST", "/v1/api-keys", {"scope": "read"})
    ask("DELETE", f"/v1/agents/{agent}")


def patterns(template: Template, role: str, action: str) -> list[str]:
    """What the statements of a role admit for an action: patterns of partitions, or of names of objects."""
    found = []
    for statement in template.statements(role):
        if action not in listed(statement["Action"]):
            continue
        if action.startswith("s3:"):
            joined = [one["Fn::Join"][1] for one in listed(statement["Resource"]) if "Fn::Join" in one]
            found += ["".join(part for part in parts if isinstance(part, str)).lstrip("/") for parts in joined]
        else:
            found += listed(statement.get("Condition", {}).get("ForAllValues:StringLike", {}).get("dynamodb:LeadingKeys", ["*"]))
    return found


def admitted(template: Template, call: Call, tenant: str | None) -> bool:
    """Whether a call would be allowed to the function (`tenant` None), or to the session of a tenant."""
    (role,) = (name for name in template.of_type("AWS::IAM::Role") if name.startswith("TenantRole"))
    verb = call.action.rpartition(":")[2]
    actions = (
        [f"dynamodb:{verb}"] if verb != "TransactWriteItems" else [f"dynamodb:{one}Item" for one in ("Put", "Update", "Delete")]
    )
    actions = [call.action] if call.action.startswith("s3:") else actions
    for action in actions:
        mine = patterns(template, role if tenant else template.role_of(call.function), action)
        allowed = [one.replace("${aws:PrincipalTag/tenant}", tenant or "") for one in mine]
        if not all(any(fnmatchcase(place, one) for one in allowed) for place in call.places):
            return False
    return True


def test_every_call_is_admitted_as_it_is_signed(watched: Watch, walled: Template) -> None:
    calls = [call for call in watched.calls if call.function in NARROWED]
    assert {call.tenant for call in calls} == {*TENANTS, None}
    assert {"dynamodb:TransactWriteItems", "dynamodb:Query", "dynamodb:BatchGetItem"} <= {call.action for call in calls}
    assert {"s3:PutObject", "s3:GetObject"} <= {call.action for call in calls if call.tenant}
    assert [call for call in calls if not admitted(walled, call, call.tenant)] == []


def test_no_call_for_a_tenant_would_be_admitted_to_another_or_to_the_function_itself(watched: Watch, walled: Template) -> None:
    calls = [call for call in watched.calls if call.function in NARROWED and call.tenant]
    foreign = dict(zip(TENANTS, reversed(TENANTS), strict=True))
    assert [call for call in calls if admitted(walled, call, foreign[str(call.tenant)])] == []
    listing = {"acme#APIKEYS", "other#APIKEYS"}  # a tenant's keys are listed by the function, as all keys are found by it
    assert [call for call in calls if admitted(walled, call, None) and not call.places <= listing] == []


def test_a_process_assumes_the_role_once_for_each_tenant(watched: Watch) -> None:
    # The functions of this process are compositions of their own, each with its sessions.
    assert set(watched.sessions) == set(TENANTS)
    assert len(watched.sessions) <= len(TENANTS) * len(NARROWED)


def test_only_the_functions_of_one_tenant_assume_the_role_and_only_with_a_tag(walled: Template) -> None:
    (name,) = (name for name in walled.of_type("AWS::IAM::Role") if name.startswith("TenantRole"))
    trust = walled.resources[name]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    trusted = {one["Principal"]["AWS"]["Fn::GetAtt"][0] for one in trust}
    assert trusted == {walled.role_of(function) for function in NARROWED}
    for one in trust:
        assert set(listed(one["Action"])) == {"sts:AssumeRole", "sts:TagSession"}
        assert one["Condition"]["StringLike"] == {"aws:RequestTag/tenant": "?*"}
        assert one["Condition"]["ForAllValues:StringEquals"] == {"aws:TagKeys": ["tenant"]}


def test_no_other_function_is_told_of_the_role(walled: Template) -> None:
    told = {name for name, made in walled.functions().items() if "HIBERNAUT_TENANT_ROLE" in made["Environment"]["Variables"]}
    assert told == set(NARROWED)
