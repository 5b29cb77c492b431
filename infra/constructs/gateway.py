"""The REST API in front of `api` and `stream`: it passes on every request, and its own error responses have the server's format.

Knows: allowed callers, rate limits, the routes that may take as long as a model call, and the responses if a function fails. The
app handles everything else about routes, including CORS: both functions serve the same app.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct, IConstruct

from infra.constructs.domain import ApiDomain
from infra.constructs.findings import accept
from infra.constructs.functions import OurFunction
from infra.constructs.logs import log_group
from infra.constructs.web_acl import WebAcl
from infra.endpoint_settings import Endpoint
from infra.settings import GATEWAY_SECONDS, STREAM_SECONDS, Settings

ACCESS_LOG = {
    "requestId": "$context.requestId",
    "traceId": "$context.xrayTraceId",
    "ip": "$context.identity.sourceIp",
    "requestTime": "$context.requestTime",
    "httpMethod": "$context.httpMethod",
    "resourcePath": "$context.resourcePath",
    "protocol": "$context.protocol",
    "status": "$context.status",
    "responseLength": "$context.responseLength",
    "latency": "$context.responseLatency",
    "integrationLatency": "$context.integrationLatency",
    "integrationStatus": "$context.integration.status",
    "error": "$context.error.responseType",
}
"""One line for each request; latencies in milliseconds. `requestId` is `gateway_request_id` in the functions' log. Paths stand
without their values, and no header or body is logged.
"""
BODY_LIMIT = "6 MB (6291456 bytes)"
"""Lambda's payload limit, which applies to the whole event."""

# The app gets bodies of these types as bytes. Not `*/*`: base64 would take a third of the payload of every JSON body.
BINARY = ["multipart/form-data", "application/octet-stream"]

VERSIONS = ("v1", "latest")
STREAMED = (
    "agents/{agent_id}/messages",
    "agents/{agent_id}/messages/stream",
    "agents/{agent_id}/summarize",
    "agents/{agent_id}/generate",
    "chat/completions",
    "groups/{group_id}/messages",
    "groups/{group_id}/messages/stream",
    "conversations/{conversation_id}/messages",
    "conversations/{conversation_id}/stream",
    "conversations/{conversation_id}/compact",
    "runs/{run_id}/stream",
    "tools/mcp/servers/connect",
    "tools/generate-tool",
)
"""The POST routes that may wait for a model or for a user: replies, whole or as events, and summaries."""
FOLLOWED = tuple(f"/{version}/mcp-servers/connect/{{mcp_server_id}}" for version in VERSIONS)
"""The GET routes with events that wait for a user."""
WAITING = (*(f"/{version}/{route}" for version in VERSIONS for route in STREAMED), "/mcp")
"""Their paths, and the path of the MCP endpoint, because its calls wait for runs."""

REFUSALS = (
    (apigateway.ResponseType.REQUEST_TOO_LARGE, "413", f"The request body is over the limit of {BODY_LIMIT}."),
    (
        apigateway.ResponseType.INTEGRATION_TIMEOUT,
        "504",
        "No reply in time; the request continues in the background.",
    ),
    (apigateway.ResponseType.DEFAULT_5_XX, None, "An internal server error occurred"),
    (apigateway.ResponseType.THROTTLED, "429", "Too many requests."),
    (apigateway.ResponseType.MISSING_AUTHENTICATION_TOKEN, "404", "Not Found"),
    (apigateway.ResponseType.WAF_FILTERED, "403", "The web ACL of this deployment refuses the request."),
    (apigateway.ResponseType.ACCESS_DENIED, "403", "This address may not call the API."),
)


class Gateway(Construct):
    """The REST API."""

    def __init__(self, scope: Construct, id: str, *, settings: Settings, api: OurFunction, stream: OurFunction) -> None:
        super().__init__(scope, id)
        endpoint = settings.endpoint
        access_log = log_group(self, "AccessLog", settings)
        self.rest = apigateway.RestApi(
            self,
            "Rest",
            rest_api_name=settings.stack_name,
            endpoint_configuration=_endpoint(self, endpoint),
            disable_execute_api_endpoint=True if endpoint.named_only else None,
            binary_media_types=BINARY,
            policy=_callers(endpoint),
            cloud_watch_role=True,
            cloud_watch_role_removal_policy=cdk.RemovalPolicy.RETAIN,
            deploy_options=apigateway.StageOptions(
                stage_name=settings.name,
                throttling_rate_limit=settings.rate,
                throttling_burst_limit=settings.burst,
                tracing_enabled=True,
                # Metrics of the whole stage are free; metrics of each method are charged for every hour with calls.
                metrics_enabled=False,
                logging_level=apigateway.MethodLoggingLevel.ERROR,
                data_trace_enabled=False,
                access_log_destination=apigateway.LogGroupLogDestination(access_log),
                access_log_format=apigateway.AccessLogFormat.custom(json.dumps(ACCESS_LOG)),
            ),
        )
        self._routes(_integration(api, GATEWAY_SECONDS), _integration(stream, STREAM_SECONDS, streams=True))
        for kind, status, detail in REFUSALS:
            self.rest.add_gateway_response(
                f"Refusal{kind.response_type}",
                type=kind,
                status_code=status,
                response_headers=_readable_by(settings.origins),
                templates={"application/json": json.dumps({"detail": detail})},
            )
        for function in (api, stream):
            self.name(function, settings)
        self.url = self.rest.url
        if endpoint.domain:
            self.url = ApiDomain(self, "Domain", endpoint=endpoint, rest=self.rest).url
        if endpoint.web_acl:
            WebAcl(self, "WebAcl", settings=settings, rest=self.rest)
        self._accepted(settings)

    @property
    def account(self) -> IConstruct:
        """What lets API Gateway write logs in this account."""
        return self.rest.node.find_child("Account")

    def name(self, function: OurFunction, settings: Settings) -> None:
        """Set the API's host names, allowed origins and identity provider in the app's environment
        (`rest/access/origin_policy.py`).
        """
        stack, endpoint = cdk.Stack.of(self), settings.endpoint
        below = f"execute-api.{stack.region}.{stack.url_suffix}"
        # A private API is called by its own name where the VPC endpoint has private DNS, else by that of the endpoint.
        ours = [self.rest.rest_api_id, *(f"{self.rest.rest_api_id}-{one}" for one in endpoint.vpc_endpoints)]
        hosts = [f"{name}.{below}" for name in ours] + ([endpoint.domain] if endpoint.domain else [])
        function.function.add_environment("HIBERNAUT_ALLOWED_HOSTS", ",".join((*hosts, *settings.hosts)))
        if settings.origins:
            function.function.add_environment("HIBERNAUT_CORS_ORIGINS", ",".join(settings.origins))
        for name, value in settings.identity:
            function.function.add_environment(name, value)

    def tell_tools(self, functions: Sequence[OurFunction], settings: Settings) -> None:
        """Give the functions that run tools the address of the API for the `client` of a tool, if the sandbox reaches it."""
        endpoint, stack = settings.endpoint, cdk.Stack.of(self)
        if not settings.tools_call_the_api:
            return
        # Named by its parts: the stage refers to the functions.
        own = f"https://{self.rest.rest_api_id}.execute-api.{stack.region}.{stack.url_suffix}/{settings.name}"
        for function in functions:
            function.function.add_environment("HIBERNAUT_API_URL", f"https://{endpoint.domain}" if endpoint.domain else own)

    def _routes(self, whole: apigateway.Integration, streamed: apigateway.Integration) -> None:
        """Add the resources. Resources on the way to a streamed route get a buffered method and a greedy child, because the
        gateway does not backtrack to a parent's greedy route.
        """
        resources: dict[str, apigateway.IResource] = {"": self.rest.root}
        for path in sorted({one[:place] for one in (*WAITING, *FOLLOWED) for place in _ends(one)}):
            parent, _, part = path.rpartition("/")
            resources[path] = resources[parent].add_resource(part)
        for path, resource in resources.items():
            resource.add_method("ANY", whole)
            if path in WAITING:
                resource.add_method("POST", streamed)
            if path in FOLLOWED:
                resource.add_method("GET", streamed)
            below = [other[len(path) + 1 :] for other in resources if other.startswith(f"{path}/")]
            # A resource may have only one path variable as a child.
            if not any(part.startswith("{") for part in below):
                resource.add_resource("{proxy+}").add_method("ANY", whole)

    def _accepted(self, settings: Settings) -> None:
        accept(self.rest, "APIG2", "The app validates requests by its schemas and answers as the Letta API does.")
        if not settings.endpoint.web_acl:
            accept(self.rest, "APIG3", "The stage limits the rate, and callers by address; a web ACL costs while nobody calls.")
        for rule in ("APIG4", "COG4"):
            accept(
                self.rest,
                rule,
                "The app authenticates every request by its API key or token, as Letta clients send it, or answers 401.",
            )
        policy = "Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs"
        accept(self.rest, f"IAM4[{policy}]", "API Gateway writes its logs by this AWS-managed policy, account-wide.")


def _readable_by(origins: tuple[str, ...]) -> dict[str, str]:
    """The CORS headers of a gateway response, which are constants: they name one origin, or no page may read the response."""
    if len(origins) != 1:
        return {}
    return {"Access-Control-Allow-Origin": f"'{origins[0]}'", "Access-Control-Allow-Credentials": "'true'"}


def _ends(path: str) -> list[int]:
    """The end positions of the parts of a path."""
    return [place for place in range(1, len(path) + 1) if place == len(path) or path[place] == "/"]


def _integration(function: OurFunction, seconds: int, *, streams: bool = False) -> apigateway.Integration:
    """An integration with one permission for the whole API, because one for each method would exceed the size of the function's
    policy.
    """
    mode = apigateway.ResponseTransferMode.STREAM if streams else None
    return apigateway.LambdaIntegration(
        function.target,
        proxy=True,
        scope_permission_to_method=False,
        timeout=cdk.Duration.seconds(seconds),
        response_transfer_mode=mode,
    )


def _endpoint(scope: Construct, endpoint: Endpoint) -> apigateway.EndpointConfiguration:
    if not endpoint.vpc_endpoints:
        return apigateway.EndpointConfiguration(types=[apigateway.EndpointType.REGIONAL])
    through = [
        ec2.InterfaceVpcEndpoint.from_interface_vpc_endpoint_attributes(scope, one, vpc_endpoint_id=one, port=443)
        for one in endpoint.vpc_endpoints
    ]
    return apigateway.EndpointConfiguration(types=[apigateway.EndpointType.PRIVATE], vpc_endpoints=through)


def _callers(endpoint: Endpoint) -> iam.PolicyDocument:
    """A resource policy that allows only the addresses of the settings, or the VPC endpoints of a private API; without any, it
    denies all. A public API admits every address.
    """
    document = iam.PolicyDocument()
    outside = {"NotIpAddress": {"aws:SourceIp": list(endpoint.callers)}} if endpoint.callers else {}
    if endpoint.vpc_endpoints:
        outside = {"StringNotEquals": {"aws:SourceVpce": list(endpoint.vpc_endpoints)}}
    statements: list[tuple[iam.Effect, dict[str, dict[str, list[str]]]]] = [(iam.Effect.ALLOW, {})]
    if not endpoint.public:
        statements.append((iam.Effect.DENY, outside))
    for effect, conditions in statements:
        document.add_statements(
            iam.PolicyStatement(
                effect=effect,
                principals=[iam.AnyPrincipal()],
                actions=["execute-api:Invoke"],
                resources=["execute-api:/*"],
                conditions=conditions,
            )
        )
    return document
