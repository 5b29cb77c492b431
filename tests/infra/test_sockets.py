"""The WebSocket API by setting: off unless one asks for it, and closed to addresses that nobody named."""

from __future__ import annotations

from infra.settings import settings_in
from tests.infra.reading import Template, texts


def test_there_is_none_unless_one_asks_for_it(prod: Template) -> None:
    assert settings_in({}).websockets is False
    assert [resource for resource in prod.resources.values() if "ApiGatewayV2" in resource["Type"]] == []
    assert "socket" not in prod.functions()
    assert "SocketUrl" not in prod.document["Outputs"]


def test_every_event_goes_to_the_function(dev: Template) -> None:
    routes = [route["Properties"] for route in dev.of_type("AWS::ApiGatewayV2::Route").values()]
    assert sorted(route["RouteKey"] for route in routes) == ["$connect", "$default", "$disconnect"]
    assert len({str(route["Target"]) for route in routes}) == 1
    integration = dev.only("AWS::ApiGatewayV2::Integration")["Properties"]
    assert integration["IntegrationType"] == "AWS_PROXY"


def test_the_function_admits_the_callers_of_the_settings(dev: Template, large: Template) -> None:
    for template in (dev, large):
        assert template.functions()["socket"]["Environment"]["Variables"]["HIBERNAUT_CALLERS"] == "none"


def test_the_stage_is_limited_and_logs_no_message(large: Template) -> None:
    stage = large.only("AWS::ApiGatewayV2::Stage")["Properties"]
    assert stage["DefaultRouteSettings"]["ThrottlingRateLimit"] == settings_in({"env": "staging"}).rate
    assert stage["DefaultRouteSettings"]["DataTraceEnabled"] is False
    assert not any(word in stage["AccessLogSettings"]["Format"] for word in ("header", "body", "querystring", "authorizer"))


def test_the_function_may_start_workers_of_itself_alone(large: Template) -> None:
    (name,) = (key for key, made in large.of_type("AWS::Lambda::Function").items() if ".socket." in made["Properties"]["Handler"])
    (policy,) = (
        made["Properties"] for key, made in large.of_type("AWS::IAM::Policy").items() if key.startswith("SocketsWorkers")
    )
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert (statement["Action"], statement["Resource"]) == ("lambda:InvokeFunction", {"Fn::GetAtt": [name, "Arn"]})
    assert name not in list(texts(large.of_type("AWS::ApiGatewayV2::Api")))


def test_a_failed_worker_is_not_repeated(large: Template) -> None:
    """Its client follows again; the run is continued by the sweep."""
    retries = {
        str(made["Properties"]["FunctionName"]): made["Properties"]["MaximumRetryAttempts"]
        for made in large.of_type("AWS::Lambda::EventInvokeConfig").values()
    }
    (name,) = (key for key, made in large.of_type("AWS::Lambda::Function").items() if ".socket." in made["Properties"]["Handler"])
    assert retries[str({"Ref": name})] == 0
