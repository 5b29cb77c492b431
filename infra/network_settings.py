"""The settings of the functions' networks in the context. Plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from infra.context import parts_in
from infra.search_settings import Search, zones_of

_IDS = {"vpc": "vpc", "subnets": "subnet", "securityGroups": "sg"}
OWN_VPC = "stack"
ToolNetworkKind = Literal["closed", "open"]
"""What the code of custom tools reaches on AWS: nothing, or the internet."""


@dataclass(frozen=True, slots=True)
class Vpc:
    """The network of all functions except the sandbox. `id`: `stack` for a VPC of the stack, the id of an existing VPC, or empty:
    Lambda's own network.
    `subnets`: subnets of an existing VPC. `security_groups`: empty: the stack creates one without inbound rules.
    """

    id: str = ""
    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()

    @property
    def foreign(self) -> bool:
        """Whether the VPC belongs to somebody else."""
        return self.id not in ("", OWN_VPC)


def tool_network_in(context: Mapping[str, object]) -> ToolNetworkKind:
    """The network of custom tools; closed unless it is opened. Raises: ValueError."""
    match context.get("toolNetwork", "closed"):
        case "closed":
            return "closed"
        case "open":
            return "open"
        case other:
            raise ValueError(f"toolNetwork must be one of {', '.join(get_args(ToolNetworkKind))}, not {other!r}")


def vpc_in(context: Mapping[str, object], search: Search) -> Vpc:
    """The network that the context describes. Raises: ValueError."""
    vpc = Vpc(str(context.get("vpc", "")), parts_in(context, "subnets"), parts_in(context, "securityGroups"))
    for name, values in (
        ("vpc", (vpc.id,) if vpc.foreign else ()),
        ("subnets", vpc.subnets),
        ("securityGroups", vpc.security_groups),
    ):
        for one in values:
            if not re.fullmatch(rf"{_IDS[name]}-[0-9a-f]{{8,17}}", one):
                usual = " or stack" if name == "vpc" else ""
                raise ValueError(f"{name} must be ids like {_IDS[name]}-0123456789abcdef0{usual}, not {one!r}")
    if (vpc.subnets or vpc.security_groups) and not vpc.foreign:
        raise ValueError("subnets and securityGroups belong to vpc=vpc-…, a network that exists already")
    if vpc.foreign and not vpc.subnets:
        raise ValueError(f"vpc={vpc.id} needs subnets: the ids of private subnets of it, in two zones or more")
    if vpc.foreign and search.vpc and len(vpc.subnets) < zones_of(search.count):
        raise ValueError(f"searchCount={search.count} spreads over {zones_of(search.count)} zones; name a subnet in each of them")
    return vpc
