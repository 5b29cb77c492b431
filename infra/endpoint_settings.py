"""The settings of the API's endpoint in the context: its permitted callers, its name, and its web ACL. Plain values."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass

from infra.context import parts_in

_NAME = re.compile(r"(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}")
_CERTIFICATE = re.compile(r"arn:aws[a-z-]*:acm:([a-z0-9-]+):[0-9]{12}:certificate/[A-Za-z0-9-]+")
_ZONE = re.compile(r"Z[A-Z0-9]{1,31}")
_VPC_ENDPOINT = re.compile(r"vpce-[0-9a-f]{8,17}")
_WEB_ACL = re.compile(r"arn:aws[a-z-]*:wafv2:([a-z0-9-]+):[0-9]{12}:regional/webacl/[A-Za-z0-9_-]{1,128}/[A-Za-z0-9-]+")
OWN_WEB_ACL = "own"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`callers`: the address ranges (CIDR) that may call the API; if empty, no address may, so that a new deployment is not open
    to the world.
    `public`: every address may, which leaves the decision to the API keys. `vpc_endpoints`: the API is private and reached
    through these alone (empty: it is regional). `domain`: its own name, with the ARN of its `certificate` and, if Route 53 is to
    know the name, the id of the `zone`. `named_only`: the gateway's own name is switched off. `web_acl`: `own` for a web ACL of
    the stack, the ARN of another one, or empty.
    """

    callers: tuple[str, ...] = ()
    public: bool = False
    vpc_endpoints: tuple[str, ...] = ()
    domain: str = ""
    certificate: str = ""
    zone: str = ""
    named_only: bool = False
    web_acl: str = ""


def endpoint_in(context: Mapping[str, object]) -> Endpoint:
    """The endpoint that the context describes. Raises: ValueError."""
    endpoint = Endpoint(
        callers=ranges_in(str(context.get("callers", ""))),
        public=_choice(context, "access", "addresses", "public"),
        vpc_endpoints=_private(context),
        domain=_shaped(context, "domain", _NAME, "a name like api.example.com"),
        certificate=_shaped(
            context, "certificate", _CERTIFICATE, "a certificate's ARN like arn:aws:acm:eu-central-1:123456789012:certificate/…"
        ),
        zone=_shaped(context, "hostedZone", _ZONE, "the id of a hosted zone like Z0123456789ABC"),
        named_only=_choice(context, "defaultEndpoint", "enabled", "disabled"),
        web_acl=_web_acl(str(context.get("waf", "false"))),
    )
    _consistent(endpoint)
    return endpoint


def _consistent(endpoint: Endpoint) -> None:
    if endpoint.public and endpoint.callers:
        raise ValueError("access=public admits every address; leave out callers, or leave out access")
    if endpoint.vpc_endpoints and (endpoint.public or endpoint.callers):
        raise ValueError("endpoint=private admits its VPC endpoints alone; leave out access and callers")
    if endpoint.vpc_endpoints and endpoint.domain:
        raise ValueError("endpoint=private has no custom domain; leave out domain, and call the VPC endpoint's own names")
    if bool(endpoint.domain) != bool(endpoint.certificate):
        raise ValueError(
            "domain and certificate belong together: the name, and the ARN of a certificate for it in the stack's region"
        )
    for value, name in ((endpoint.zone, "hostedZone"), (endpoint.named_only, "defaultEndpoint=disabled")):
        if value and not endpoint.domain:
            raise ValueError(f"{name} needs domain, the custom name of the API")


def check_endpoint_region(endpoint: Endpoint, region: str | None) -> None:
    """`region` None: not known before the deployment. Raises: ValueError if certificate or web ACL belong to another region."""
    for name, arn, pattern in (("certificate", endpoint.certificate, _CERTIFICATE), ("waf", endpoint.web_acl, _WEB_ACL)):
        found = pattern.fullmatch(arn)
        if found and region and found[1] != region:
            raise ValueError(f"{name} is in {found[1]}, but a regional API needs one in the stack's region, {region}")


def ranges_in(callers: str) -> tuple[str, ...]:
    """Address ranges between commas. Raises: ValueError."""
    found = tuple(part.strip() for part in callers.split(",") if part.strip())
    for one in found:
        try:
            ipaddress.ip_network(one)
        except ValueError as error:
            raise ValueError(f"callers must be address ranges like 203.0.113.0/24, not {one!r}: {error}") from error
    return found


def _private(context: Mapping[str, object]) -> tuple[str, ...]:
    endpoints = parts_in(context, "vpcEndpoints")
    for one in endpoints:
        if not _VPC_ENDPOINT.fullmatch(one):
            raise ValueError(f"vpcEndpoints must be ids of interface endpoints like vpce-0123456789abcdef0, not {one!r}")
    if _choice(context, "endpoint", "regional", "private") != bool(endpoints):
        raise ValueError("endpoint=private and vpcEndpoints belong together: the ids of VPC endpoints for execute-api")
    return endpoints


def _web_acl(text: str) -> str:
    if text.lower() in ("true", "false"):
        return OWN_WEB_ACL if text.lower() == "true" else ""
    if not _WEB_ACL.fullmatch(text):
        raise ValueError(
            "waf must be true, false or a regional web ACL's ARN like arn:aws:wafv2:eu-central-1:123456789012:regional/webacl/name/id, "
            f"not {text!r}"
        )
    return text


def _choice(context: Mapping[str, object], name: str, usual: str, other: str) -> bool:
    """Whether the other of two values is chosen. Raises: ValueError."""
    text = str(context.get(name, usual))
    if text not in (usual, other):
        raise ValueError(f"{name} must be {usual} or {other}, not {text!r}")
    return text == other


def _shaped(context: Mapping[str, object], name: str, pattern: re.Pattern[str], form: str) -> str:
    text = str(context.get(name, ""))
    if text and not pattern.fullmatch(text):
        raise ValueError(f"{name} must be {form}, not {text!r}")
    return text
