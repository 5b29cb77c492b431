"""Reduces botocore's service models in a layer to the services that the functions call.

botocore has a folder for each of AWS's 440 services. For each client it lists all folders, and reads the endpoints of all
services: 3,600 file system calls and a parse of 1.2 MB of JSON at every cold start. Three quarters of a service's model are
documentation, which only Python's `help` uses.
"""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

from hibernaut.schemas.base import Json

SERVICES = (
    "apigatewaymanagementapi",
    "bedrock-runtime",
    "dynamodb",
    "events",
    "kms",
    "lambda",
    "s3",
    "scheduler",
    "ssm",
    "stepfunctions",
    "sts",
)
"""The services for which the functions create clients, by botocore's names."""


def keep_called_services(packages: Path) -> None:
    """Remove the models and the endpoints of all other services from the botocore in this folder, if there is one, and the
    documentation of the remaining services.

    Raises: FileNotFoundError if botocore no longer has a service of `SERVICES`.
    """
    data = packages / "botocore" / "data"
    if not data.is_dir():
        return
    prefixes = {_endpoint_prefix(data / name) for name in SERVICES}
    for folder in data.iterdir():
        if folder.is_dir() and folder.name not in SERVICES:
            shutil.rmtree(folder)
    for model in data.glob("*/*/*.json.gz"):
        model.write_bytes(_without_documentation(model.read_bytes()))
    endpoints = data / "endpoints.json"
    catalogue = json.loads(endpoints.read_text(encoding="utf-8"))
    for partition in catalogue["partitions"]:
        partition["services"] = {name: found for name, found in partition["services"].items() if name in prefixes}
    endpoints.write_text(json.dumps(catalogue, separators=(",", ":")), encoding="utf-8")


def _without_documentation(model: bytes) -> bytes:
    """The same model without texts for readers. The bytes depend on the model alone, so that an unchanged layer stays the
    same.
    """
    found = _undocumented(json.loads(gzip.decompress(model)))
    for parameter in found.get("clientContextParams", {}).values():
        parameter["documentation"] = (
            ""  # botocore reads this one at the first call of a client (`ServiceModel.client_context_parameters`).
        )
    return gzip.compress(json.dumps(found, separators=(",", ":")).encode(), mtime=0)


def _undocumented(value: Json) -> Json:
    """Without members `documentation` that are texts: a shape may have a member of this name, which is an object."""
    match value:
        case dict():
            texts = {name for name, each in value.items() if name == "documentation" and isinstance(each, str)}
            return {name: _undocumented(each) for name, each in value.items() if name not in texts}
        case list():
            return [_undocumented(each) for each in value]
        case _:
            return value


def _endpoint_prefix(service: Path) -> str:
    """The name of a service in the list of endpoints, by the newest version of its model."""
    versions = sorted(folder for folder in service.iterdir() if folder.is_dir())
    model = json.loads(gzip.decompress((versions[-1] / "service-2.json.gz").read_bytes()))
    return str(model["metadata"]["endpointPrefix"])
