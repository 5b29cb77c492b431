"""Builds the packages of a tool. The function that saves the tool sends the event and waits for the answer.

A build continues after a disconnect of its caller; the repeated request finds the result.
"""

from __future__ import annotations

from functions.events import LambdaContext
from functions.log import correlated
from hibernaut.schemas.base import JsonObject
from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.tools.package_builds import PackageBuilds
from hibernaut.wiring.aws_parts import packages as aws_packages


@correlated
def handler(event: JsonObject, _context: LambdaContext, builds: PerTenant[PackageBuilds] | None = None) -> JsonObject:
    """The answer of `PackageBuilds`. Raises: OSError."""
    return (builds or aws_packages.package_builds()).of(event["tenant"]).answer(event["requirements"])
