"""A deployed stack as an operator's commands see it: its clients, its outputs and its resources.

Knows CloudFormation, and the names of the stack's outputs and functions. botocore is imported on use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hibernaut.adapters.aws_clients import aws_client
from hibernaut.local.administration.stack_outputs import outputs_of
from hibernaut.local.profiles import CannotServe
from hibernaut.schemas.immutable import immutable

PATIENCE = {"connect_timeout": 5.0, "read_timeout": 30.0}
ATTEMPTS = 3
_FUNCTION = re.compile(r"(\w+)Function[0-9A-F]{8}")
"""The logical id of a function of the product. Functions of the CDK have other ids."""


@immutable
class StackResource:
    """A resource of the stack. `physical`: its name, URL or ARN, as CloudFormation has it."""

    logical: str
    kind: str
    physical: str


@dataclass
class DeployedResources:
    """The stack of an environment, in the user's region. Clients, outputs and resources are read on use, and once.

    Properties raise CannotServe for a missing stack, and errors of botocore.
    """

    env: str
    clients: dict[str, Any] = field(default_factory=dict)

    @property
    def stack(self) -> str:
        return f"hibernaut-{self.env}"

    def client(self, service: str, *, read_timeout: float = PATIENCE["read_timeout"], attempts: int = ATTEMPTS) -> Any:
        """The client of a service; the first call decides about its limits. Thread-safe after that."""
        from botocore.config import Config

        if service not in self.clients:
            config = Config(
                connect_timeout=PATIENCE["connect_timeout"],
                read_timeout=read_timeout,
                retries={"total_max_attempts": attempts, "mode": "standard"},
            )
            self.clients[service] = aws_client(service, config)
        return self.clients[service]

    @cached_property
    def outputs(self) -> Mapping[str, str]:
        """The stack's outputs by name."""
        return outputs_of(self.stack, self.client("cloudformation"))

    def output(self, name: str) -> str:
        """An output. Raises: CannotServe if the stack does not have it."""
        if name not in self.outputs:
            raise CannotServe(f"the stack {self.stack} has no output {name}; deploy this version of Hibernaut first")
        return self.outputs[name]

    @cached_property
    def resources(self) -> list[StackResource]:
        """All resources that exist."""
        pages = self.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=self.stack)
        return [
            StackResource(one["LogicalResourceId"], one["ResourceType"], one["PhysicalResourceId"])
            for page in pages
            for one in page["StackResourceSummaries"]
            if one.get("PhysicalResourceId")
        ]

    def of_kind(self, kind: str) -> Iterator[StackResource]:
        """The resources of one type."""
        return (one for one in self.resources if one.kind == kind)

    @cached_property
    def functions(self) -> Mapping[str, str]:
        """The functions of the product: the name of each by its folder."""
        found = {}
        for one in self.of_kind("AWS::Lambda::Function"):
            if (stem := _FUNCTION.fullmatch(one.logical)) is not None:
                found[re.sub(r"(?<!^)(?=[A-Z])", "_", stem[1]).lower()] = one.physical
        return found

    def function(self, folder: str) -> str:
        """The name of a function. Raises: CannotServe."""
        if folder not in self.functions:
            raise CannotServe(f"the stack {self.stack} has no function {folder}; deploy this version of Hibernaut first")
        return self.functions[folder]
