"""The WebSocket API in front of `socket`: every event goes to the function, which authenticates, answers and posts
(`rest/sockets/gateway.py`).

A WebSocket API has no resource policy, so the function itself admits the callers of the settings. Knows the API and what the
function may do with it.
"""

from __future__ import annotations

import json

import aws_cdk as cdk
from aws_cdk import aws_apigatewayv2 as apigatewayv2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct, IConstruct

from infra.constructs.findings import Grant, accept, arn_pattern
from infra.constructs.functions import OurFunction
from infra.constructs.logs import log_group
from infra.settings import Settings

ROUTES = {"OnConnect": "$connect", "OnDisconnect": "$disconnect", "OnMessage": "$default"}
ACCESS_LOG = {
    "requestId": "$context.requestId",
    "connectionId": "$context.connectionId",
    "ip": "$context.identity.sourceIp",
    "requestTime": "$context.requestTime",
    "eventType": "$context.eventType",
    "routeKey": "$context.routeKey",
    "status": "$context.status",
    "integrationLatency": "$context.integrationLatency",
    "integrationStatus": "$context.integrationStatus",
    "error": "$context.error.responseType",
}
"""One line for each event. No header, query or message is logged."""


class WebSocketApi(Construct):
    """The WebSocket API of one environment, with its one stage."""

    def __init__(self, scope: Construct, id: str, *, settings: Settings, socket: OurFunction, account: IConstruct) -> None:
        """`account`: what lets API Gateway write logs in this account."""
        super().__init__(scope, id)
        self.api = apigatewayv2.CfnApi(
            self,
            "Api",
            name=f"{settings.stack_name}-sockets",
            protocol_type="WEBSOCKET",
            route_selection_expression="$request.body.action",
        )
        stack = cdk.Stack.of(self)
        uri = f"arn:{stack.partition}:apigateway:{stack.region}:lambda:path/2015-03-31/functions/{socket.target.function_arn}/invocations"
        integration = apigatewayv2.CfnIntegration(
            self, "Integration", api_id=self.api.ref, integration_type="AWS_PROXY", integration_uri=uri
        )
        for name, event in ROUTES.items():
            route = apigatewayv2.CfnRoute(
                self,
                name,
                api_id=self.api.ref,
                route_key=event,
                authorization_type="NONE",
                target=f"integrations/{integration.ref}",
            )
            accept(route, "APIG4", "The function authenticates the handshake and every message by the API key.")
        self._stage(settings, account)
        self._allow(settings, socket)

    def address(self, settings: Settings, scheme: str) -> str:
        """The address of the stage."""
        stack = cdk.Stack.of(self)
        return f"{scheme}://{self.api.ref}.execute-api.{stack.region}.{stack.url_suffix}/{settings.name}"

    def _stage(self, settings: Settings, account: IConstruct) -> None:
        stage = apigatewayv2.CfnStage(
            self,
            "Stage",
            api_id=self.api.ref,
            stage_name=settings.name,
            auto_deploy=True,
            access_log_settings=apigatewayv2.CfnStage.AccessLogSettingsProperty(
                destination_arn=log_group(self, "AccessLog", settings).log_group_arn, format=json.dumps(ACCESS_LOG)
            ),
            default_route_settings=apigatewayv2.CfnStage.RouteSettingsProperty(
                data_trace_enabled=False,
                detailed_metrics_enabled=False,
                logging_level="ERROR",
                throttling_rate_limit=settings.rate,
                throttling_burst_limit=settings.burst,
            ),
        )
        stage.node.add_dependency(account)

    def _allow(self, settings: Settings, socket: OurFunction) -> None:
        """The API may call the function; the function may post to the connections of this API, close them, and start workers of
        itself.
        """
        stack = cdk.Stack.of(self)
        lambda_.CfnPermission(
            self,
            "Calls",
            action="lambda:InvokeFunction",
            function_name=socket.target.function_arn,
            principal="apigateway.amazonaws.com",
            source_arn=stack.format_arn(service="execute-api", resource=self.api.ref, resource_name="*"),
        )
        for verb in ("POST", "DELETE"):
            place = f"{settings.name}/{verb}/@connections/*"
            connections = stack.format_arn(service="execute-api", resource=self.api.ref, resource_name=place)
            socket.allow(
                Grant(
                    iam.PolicyStatement(actions=["execute-api:ManageConnections"], resources=[connections]),
                    arn_pattern(service="execute-api", resource=f"<{stack.get_logical_id(self.api)}>/{place}"),
                    "Connections are named by API Gateway; the API is ours.",
                )
            )
        # A policy of its own: the function depends on the policy of its role, which therefore cannot name the function.
        iam.Policy(
            self,
            "Workers",
            roles=[socket.role],
            statements=[iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[socket.target.function_arn])],
        )
        callers = "public" if settings.endpoint.public else ",".join(settings.endpoint.callers) or "none"
        socket.function.add_environment("HIBERNAUT_SOCKETS", self.address(settings, "https"))
        socket.function.add_environment("HIBERNAUT_CALLERS", callers)
