"""What is deployed: its shape, its limits, and that it agrees with the code that uses it."""

from __future__ import annotations

import importlib
import json
import os
import re
from pathlib import Path

import pytest

from hibernaut.adapters.table.definition import TTL_ATTRIBUTE, table_definition
from hibernaut.local.aws_offline.api_gateway.routes import Routes
from hibernaut.rest.app import ROUTERS
from hibernaut.rest.http.async_bridge import USUAL_WAITS
from hibernaut.schemas.base import JsonObject
from hibernaut.store.table.blob_keys import EPHEMERAL, EPHEMERAL_DAYS
from hibernaut.wiring.settings import LONGEST_FOLLOW, BadSetting
from infra.artifacts import ROOT, stage
from infra.constructs.gateway import FOLLOWED, REFUSALS, WAITING
from infra.settings import FOLLOWERS, STREAM_SECONDS, WEB_ADAPTER, settings_in
from tests.infra.conftest import OWN_KEY, synthesized
from tests.infra.reading import Template, texts

SERVING = {"api", "stream", "socket"}
STEPPING = {"advance_turn", "summarize", "request_approval", "close_run", "run_tool", "run_node"}
BEHIND = {"sweep_runs", "index_memory", "ingest_file", "deliver_events", "fire_schedule", "build_packages"}
FUNCTIONS = SERVING | STEPPING | BEHIND


def test_the_table_is_the_one_that_the_adapter_speaks_to(dev: Template) -> None:
    made = dev.only("AWS::DynamoDB::Table")["Properties"]
    wanted = table_definition("any")
    assert made["KeySchema"] == wanted["KeySchema"]
    assert made["GlobalSecondaryIndexes"] == wanted["GlobalSecondaryIndexes"]
    assert made["BillingMode"] == wanted["BillingMode"]
    assert made["StreamSpecification"]["StreamViewType"] == wanted["StreamSpecification"]["StreamViewType"]
    assert sorted(made["AttributeDefinitions"], key=str) == sorted(wanted["AttributeDefinitions"], key=str)
    assert made["TimeToLiveSpecification"] == {"AttributeName": TTL_ATTRIBUTE, "Enabled": True}
    assert made["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True


def test_the_bucket_empties_what_expires_by_itself_and_nothing_else(prod: Template) -> None:
    rules = prod.only("AWS::S3::Bucket")["Properties"]["LifecycleConfiguration"]["Rules"]
    expiring = [(rule["Prefix"], rule["ExpirationInDays"]) for rule in rules if "ExpirationInDays" in rule]
    assert expiring == [(EPHEMERAL, EPHEMERAL_DAYS)]
    assert prod.only("AWS::S3::Bucket")["Properties"]["VersioningConfiguration"] == {"Status": "Enabled"}
    kept = {rule.get("Prefix", ""): rule["NoncurrentVersionExpiration"]["NoncurrentDays"] for rule in rules}
    assert kept == {"": 35, EPHEMERAL: 1}


def test_production_keeps_its_data(prod: Template) -> None:
    table, bucket = prod.only("AWS::DynamoDB::Table"), prod.only("AWS::S3::Bucket")
    assert table["Properties"]["DeletionProtectionEnabled"] is True
    assert table["DeletionPolicy"] == bucket["DeletionPolicy"] == "Retain"
    assert prod.only("AWS::KMS::Key")["DeletionPolicy"] == "Retain"


def test_the_key_of_secrets_rotates_and_can_be_one_of_ones_own(dev: Template, large: Template) -> None:
    assert dev.only("AWS::KMS::Key")["Properties"]["EnableKeyRotation"] is True
    assert dev.only("AWS::KMS::Alias")["Properties"]["AliasName"] == "alias/hibernaut-dev"
    assert large.of_type("AWS::KMS::Key") == {}
    assert large.functions()["stream"]["Environment"]["Variables"]["HIBERNAUT_SECRETS_KEY"] == OWN_KEY
    with pytest.raises(ValueError, match="secretsKey must be a key's ARN"):
        settings_in({"secretsKey": "alias/mine"})


def test_development_goes_away_whole(dev: Template) -> None:
    kept = {
        name: resource["DeletionPolicy"] for name, resource in dev.resources.items() if resource.get("DeletionPolicy") == "Retain"
    }
    # The account's log role outlives the stack: other APIs of the account may write by it.
    assert {dev.resources[name]["Type"] for name in kept} <= {"AWS::IAM::Role", "AWS::ApiGateway::Account"}


def test_each_function_has_a_handler_in_the_repository(dev: Template) -> None:
    assert set(dev.functions()) == FUNCTIONS
    for folder, properties in dev.functions().items():
        if folder != "stream":
            module, name = properties["Handler"].rsplit(".", 1)
            assert callable(getattr(importlib.import_module(module), name))


def test_what_starts_the_streaming_server_can_be_executed_and_serves_our_app(dev: Template, tmp_path: Path) -> None:
    start = stage(tmp_path, bundle=False).code / dev.functions()["stream"]["Handler"]
    assert os.access(start, os.X_OK)
    served = re.search(r"--factory (\S+):(\S+)", start.read_text())
    assert served is not None
    assert callable(getattr(importlib.import_module(served[1]), served[2]))


def test_the_streaming_server_runs_behind_the_web_adapter(dev: Template) -> None:
    stream = dev.functions()["stream"]
    variables = stream["Environment"]["Variables"]
    assert variables["AWS_LAMBDA_EXEC_WRAPPER"] == "/opt/bootstrap"
    assert variables["AWS_LWA_INVOKE_MODE"] == "response_stream"
    account, layer = WEB_ADAPTER
    assert any(f":{account}:layer:{layer}" in text for text in texts(stream["Layers"]))
    assert [
        name for name, made in dev.functions().items() if name not in ("stream", "run_node") and len(made.get("Layers", [])) > 1
    ] == []


def test_followers_in_production_have_room_of_their_own(dev: Template, prod: Template) -> None:
    reserved = {name: made.get("ReservedConcurrentExecutions") for name, made in prod.functions().items()}
    assert reserved == {**dict.fromkeys(FUNCTIONS - {"index_memory", "socket"}), "stream": FOLLOWERS}
    # An account may have room for ten in all: a trial must not ask for more.
    assert dev.functions()["stream"].get("ReservedConcurrentExecutions") is None


def test_functions_run_on_python_for_arm(dev: Template) -> None:
    for properties in dev.functions().values():
        assert (properties["Runtime"], properties["Architectures"]) == ("python3.13", ["arm64"])


def test_what_the_scheduler_calls_every_minute_begins_no_trace(dev: Template) -> None:
    modes = {name: properties.get("TracingConfig", {}).get("Mode") for name, properties in dev.functions().items()}
    assert modes == dict.fromkeys(FUNCTIONS, "Active") | {"sweep_runs": None, "run_tool": None, "run_node": None}


def test_every_log_ends(dev: Template) -> None:
    groups = dev.of_type("AWS::Logs::LogGroup")
    assert all(group["Properties"]["RetentionInDays"] == 7 for group in groups.values())
    named = [properties["LoggingConfig"]["LogGroup"]["Ref"] for properties in dev.functions().values()]
    assert len(set(named)) == len(FUNCTIONS)
    assert set(named) <= set(groups)


def test_no_function_is_called_again_behind_our_back(dev: Template) -> None:
    attempts = [config["Properties"]["MaximumRetryAttempts"] for config in dev.of_type("AWS::Lambda::EventInvokeConfig").values()]
    # But for the reading of a file, which nobody waits for, and which does no harm when it is done twice.
    assert sorted(attempts) == [0] * (len(FUNCTIONS) - 1) + [2]


def test_functions_agree_on_their_environment(dev: Template) -> None:
    environments = [properties["Environment"]["Variables"] for properties in dev.functions().values()]
    together: dict[str, str] = {}
    for environment in environments:
        for name, value in environment.items():
            assert together.setdefault(name, value) == value


def test_the_cage_is_told_nothing_of_the_stack(dev: Template) -> None:
    for cage in (dev.functions()[name] for name in ("run_tool", "run_node")):
        assert [name for name in cage["Environment"]["Variables"] if name.startswith("HIBERNAUT_")] == []
        assert cage["TenancyConfig"] == {"TenantIsolationMode": "PER_TENANT"}


def test_what_may_wait_for_a_model_is_streamed_and_all_else_is_whole(dev: Template) -> None:
    methods = [method["Properties"] for method in dev.of_type("AWS::ApiGateway::Method").values()]
    streamed = [method for method in methods if method["Integration"].get("ResponseTransferMode") == "STREAM"]
    assert {path_of(dev, method) for method in streamed} == {*WAITING, *FOLLOWED}
    for method in methods:
        streams = method in streamed
        streamed_as = "GET" if path_of(dev, method) in FOLLOWED else "POST"
        assert method["HttpMethod"] == (streamed_as if streams else "ANY")
        assert method["Integration"]["TimeoutInMillis"] == (900_000 if streams else 29_000)
        (uri,) = (text for text in texts(method["Integration"]["Uri"]) if text.endswith("invocations"))
        assert uri.endswith("/response-streaming-invocations" if streams else "/invocations")
    assert (dev.functions()["api"]["Timeout"], dev.functions()["stream"]["Timeout"]) == (29, 900)


def test_streams_end_by_themselves_before_the_gateway_ends_them() -> None:
    assert LONGEST_FOLLOW < STREAM_SECONDS - 30
    assert USUAL_WAITS.silence < 30


def test_every_resource_of_the_gateway_answers_every_method(dev: Template) -> None:
    answered = {path_of(dev, one["Properties"]) for one in dev.of_type("AWS::ApiGateway::Method").values() if whole(one)}
    assert answered == {"/"} | {path_of(dev, {"ResourceId": {"Ref": name}}) for name in dev.of_type("AWS::ApiGateway::Resource")}


def test_every_route_of_the_app_has_a_place_at_the_gateway(dev: Template) -> None:
    tree = Routes({"/"} | {path_of(dev, {"ResourceId": {"Ref": name}}) for name in dev.of_type("AWS::ApiGateway::Resource")})
    routes = {path for module in ROUTERS for route in module.router.routes if (path := getattr(route, "path", None))}
    assert len(routes) > 50
    assert [path for path in routes if tree.of(re.sub(r"{\w+}", "x", path)) is None] == []


def test_the_functions_policies_have_room_for_their_permissions(dev: Template) -> None:
    # Lambda takes 20 KB of them for a function: one for each method would not fit.
    permissions = [one["Properties"]["FunctionName"]["Fn::GetAtt"][0] for one in dev.of_type("AWS::Lambda::Permission").values()]
    assert max(map(permissions.count, permissions)) == 1


def path_of(dev: Template, method: JsonObject) -> str:
    """The path of the resource that a method is of."""
    reference = method["ResourceId"].get("Ref")
    if reference is None:
        return "/"
    resource = dev.resources[reference]["Properties"]
    parent = path_of(dev, {"ResourceId": resource["ParentId"]})
    return f"{parent.rstrip('/')}/{resource['PathPart']}"


def whole(method: JsonObject) -> bool:
    return bool(method["Properties"]["HttpMethod"] == "ANY")


def test_a_body_that_is_too_large_is_refused_in_the_server_s_words(dev: Template) -> None:
    refusals = {
        refusal["Properties"]["ResponseType"]: refusal["Properties"]
        for refusal in dev.of_type("AWS::ApiGateway::GatewayResponse").values()
    }
    refusal = refusals["REQUEST_TOO_LARGE"]
    assert refusal["StatusCode"] == "413"
    assert "6 MB" in json.loads(refusal["ResponseTemplates"]["application/json"])["detail"]


def test_a_fresh_deployment_is_closed_to_the_world(dev: Template) -> None:
    policy = dev.only("AWS::ApiGateway::RestApi")["Properties"]["Policy"]["Statement"]
    deny = [statement for statement in policy if statement["Effect"] == "Deny"]
    assert len(deny) == 1
    assert "Condition" not in deny[0]


def clock_of(dev: Template, function: str) -> JsonObject:
    """The schedule that calls a function."""
    found = [one["Properties"] for one in dev.of_type("AWS::Scheduler::Schedule").values()]
    (clock,) = (one for one in found if function in dev.resources[one["Target"]["Arn"]["Fn::GetAtt"][0]]["Properties"]["Handler"])
    return clock


def test_the_sweep_is_fired_every_minute_and_its_failures_are_kept(dev: Template) -> None:
    schedule = clock_of(dev, "sweep_runs")
    queue = {"Fn::GetAtt": [*dev.of_type("AWS::SQS::Queue"), "Arn"]}
    assert schedule["ScheduleExpression"] == "rate(1 minute)"
    assert schedule["Target"]["DeadLetterConfig"]["Arn"] == queue
    assert dev.functions()["sweep_runs"]["DeadLetterConfig"]["TargetArn"] == queue


def test_the_sweep_is_told_of_executions_that_did_not_succeed(dev: Template) -> None:
    (rule,) = (one["Properties"] for one in dev.of_type("AWS::Events::Rule").values() if "aws.states" in texts(one))
    pattern, (target,) = rule["EventPattern"], rule["Targets"]
    assert pattern["source"] == ["aws.states"]
    assert pattern["detail"]["status"] == ["FAILED", "TIMED_OUT", "ABORTED"]
    assert pattern["detail"]["stateMachineArn"] == [{"Ref": next(iter(dev.of_type("AWS::StepFunctions::StateMachine")))}]
    sweep = next(name for name, made in dev.of_type("AWS::Lambda::Function").items() if "sweep" in made["Properties"]["Handler"])
    assert target["Arn"] == {"Fn::GetAtt": [sweep, "Arn"]}
    assert target["DeadLetterConfig"]["Arn"] == {"Fn::GetAtt": [*dev.of_type("AWS::SQS::Queue"), "Arn"]}
    assert 0 < target["RetryPolicy"]["MaximumRetryAttempts"] < 10


@pytest.mark.parametrize("name", ["ApiUrl", "TableName", "BucketName", "StateMachineArn", "SecretsPath", "DeadLettersUrl"])
def test_the_stack_tells_where_things_are(dev: Template, name: str) -> None:
    assert name in dev.document["Outputs"]


def test_the_sizes_of_functions_hold_what_they_call(dev: Template) -> None:
    # A step may hold a model call of 12 minutes, and the sweep must end before the next.
    functions = dev.functions()
    assert functions["advance_turn"]["Timeout"] == functions["run_tool"]["Timeout"] == functions["run_node"]["Timeout"] == 900
    assert functions["sweep_runs"]["Timeout"] < 60


def test_samples_of_events_stand_beside_each_function() -> None:
    assert {folder.name for folder in (ROOT / "events").iterdir()} == FUNCTIONS


def test_the_app_answers_to_the_name_of_its_own_gateway(dev: Template) -> None:
    rest = next(name for name, resource in dev.resources.items() if resource["Type"] == "AWS::ApiGateway::RestApi")
    for name in ("api", "stream"):
        variables = dev.functions()[name]["Environment"]["Variables"]
        (_, parts) = variables["HIBERNAUT_ALLOWED_HOSTS"]["Fn::Join"]
        assert parts[:2] == [{"Ref": rest}, ".execute-api."]
        assert "HIBERNAUT_CORS_ORIGINS" not in variables


def test_custom_domains_and_origins_are_wishes() -> None:
    wished = settings_in({"env": "dev", "hosts": "api.example.com", "origins": "https://app.example.com"})
    assert (wished.hosts, wished.origins) == (("api.example.com",), ("https://app.example.com",))
    with pytest.raises(BadSetting, match="HIBERNAUT_CORS_ORIGINS"):
        settings_in({"origins": "*"})


def cors_headers(template: Template) -> list[dict[str, str]]:
    """The CORS headers of each gateway response."""
    return [
        {name: value for name, value in made["Properties"].get("ResponseParameters", {}).items() if "Access-Control" in name}
        for made in template.of_type("AWS::ApiGateway::GatewayResponse").values()
    ]


def test_no_web_page_may_read_the_gateway_s_own_responses_unless_an_origin_is_named(dev: Template) -> None:
    assert cors_headers(dev) == [{}] * len(REFUSALS)


@pytest.mark.parametrize(
    ("origins", "named"),
    [
        (
            "https://app.example.com",
            {
                "gatewayresponse.header.Access-Control-Allow-Origin": "'https://app.example.com'",
                "gatewayresponse.header.Access-Control-Allow-Credentials": "'true'",
            },
        ),
        ("https://app.example.com,http://localhost:3000", {}),
    ],
)
def test_the_gateway_s_own_responses_name_the_one_origin_that_may_read_them(
    tmp_path: Path, origins: str, named: dict[str, str]
) -> None:
    done = synthesized(tmp_path, f"origins={origins}", "check=false")
    assert done.returncode == 0, done.stderr
    template = Template(json.loads((tmp_path / "Hibernaut-dev.template.json").read_text(encoding="utf-8")))
    assert cors_headers(template) == [named] * len(REFUSALS)


def test_no_resource_waits_for_itself(dev: Template) -> None:
    """CloudFormation refuses a template whose resources refer to each other in a circle."""
    left = {name: references(resource) & set(dev.resources) for name, resource in dev.resources.items()}
    while ready := {name for name, needs in left.items() if not needs & left.keys()}:
        left = {name: needs for name, needs in left.items() if name not in ready}
    assert not left


def references(part: object) -> set[str]:
    """The resources that a part of the template names."""
    match part:
        case {"Ref": str(name)}:
            return {name}
        case {"Fn::GetAtt": [str(name), *_]}:
            return {name}
        case {"DependsOn": str(name), **rest}:
            return {name} | references(rest)
        case {"DependsOn": [*names], **rest}:
            return set(names) | references(rest)
        case dict():
            return set().union(*map(references, part.values()))
        case list():
            return set().union(*map(references, part))
        case _:
            return set()


def test_prompts_are_kept_for_an_hour_where_the_deployment_wishes_it(dev: Template, large: Template) -> None:
    def life(template: Template) -> object:
        return template.functions()["advance_turn"]["Environment"]["Variables"].get("HIBERNAUT_PROMPT_CACHE")

    assert (life(dev), life(large)) == (None, "1h")


def test_the_system_message_is_recompiled_at_each_run_where_the_deployment_wishes_it(dev: Template, large: Template) -> None:
    def mode(template: Template) -> object:
        return template.functions()["advance_turn"]["Environment"]["Variables"].get("HIBERNAUT_SYSTEM_PROMPT")

    assert (mode(dev), mode(large)) == (None, "recompiled")


def test_versions_of_memory_are_kept_as_long_as_the_deployment_wishes(dev: Template, large: Template) -> None:
    def days(template: Template) -> set[object]:
        functions = template.functions()
        return {functions[name]["Environment"]["Variables"].get("HIBERNAUT_HISTORY_DAYS") for name in ("api", "advance_turn")}

    assert (days(dev), days(large)) == ({None}, {"30"})


def test_the_sweep_puts_agents_to_rest_and_deletes_old_messages_where_the_deployment_wishes_it(
    dev: Template, large: Template
) -> None:
    def told(template: Template) -> list[object]:
        variables = template.functions()["sweep_runs"]["Environment"]["Variables"]
        return [variables.get(f"HIBERNAUT_{name}") for name in ("REST_DAYS", "RETENTION_DAYS", "RETENTION")]

    assert (told(dev), told(large)) == ([None] * 3, ["90", "365", "delete"])


def test_the_functions_that_check_requests_know_the_identity_provider(dev: Template, large: Template) -> None:
    def issuers(template: Template) -> dict[str, object]:
        made = {name: properties["Environment"]["Variables"] for name, properties in template.functions().items()}
        return {
            name: variables.get("HIBERNAUT_JWT_ISSUER") for name, variables in made.items() if "HIBERNAUT_JWT_ISSUER" in variables
        }

    assert issuers(dev) == {}
    assert issuers(large) == dict.fromkeys(("api", "stream", "socket"), "https://id.example.com/pool")
    with pytest.raises(BadSetting, match="HIBERNAUT_JWT_AUDIENCE must name the audience"):
        settings_in({"jwtIssuer": "https://id.example.com"})


def test_tenants_have_the_budget_that_the_deployment_sets(dev: Template, large: Template) -> None:
    def budget(template: Template, function: str) -> object:
        return template.functions()[function]["Environment"]["Variables"].get("HIBERNAUT_TENANT_BUDGET")

    for function in ("api", "stream", "advance_turn"):
        assert (budget(dev, function), budget(large, function)) == (None, "tokens_per_day=1000000,cost_per_month=50")
