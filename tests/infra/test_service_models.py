"""A layer carries botocore's models of the services that the functions call, and with them the same clients as the whole of
botocore.
"""

from __future__ import annotations

import ast
import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import botocore
from botocore.model import ServiceModel

from infra.artifacts import NOT_DEPLOYED, ROOT
from infra.service_models import SERVICES, keep_called_services

INSTALLED = Path(botocore.__file__).parent
SHAPES = """
import json, sys
from botocore.session import get_session
def known(model):
    for name in model.operation_names:
        operation = model.operation_model(name)
        for shape in (operation.input_shape, operation.output_shape, *operation.error_shapes):
            yield name, shape and (shape.name, sorted(shape.metadata.items(), key=str), sorted(getattr(shape, "members", ())))
for service in sys.argv[1:]:
    print(*known(get_session().get_service_model(service)), sep="\\n")
"""
ENDPOINTS = """
import sys
from botocore.session import get_session
session = get_session()
for service in sys.argv[1:]:
    for region in ("eu-central-1", "cn-north-1"):
        client = session.create_client(service, region_name=region, aws_access_key_id="a", aws_secret_access_key="b")
        print(service, region, client.meta.endpoint_url, client.meta.service_model.api_version)
print(__import__("botocore").__file__, file=sys.stderr)
"""


def called() -> set[str]:
    """The services whose clients deployed code creates."""
    found = set()
    for source in (ROOT / "shared").rglob("*.py"):
        if str(source.relative_to(ROOT / "shared")).startswith(NOT_DEPLOYED):
            continue
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "aws_client":
                assert isinstance(node.args[0], ast.Constant), f"{source}: name the service, so that its model is deployed"
                found.add(str(node.args[0].value))
    return found


def carried(folder: Path) -> Path:
    """A folder of packages with botocore as it is deployed."""

    def others(place: str, names: list[str]) -> list[str]:
        return [name for name in names if Path(place).name == "data" and "." not in name and name not in (*SERVICES, "sns")]

    shutil.copytree(INSTALLED, folder / "botocore", ignore=others)
    keep_called_services(folder)
    return folder


def endpoints(*paths: Path, script: str = ENDPOINTS) -> tuple[list[str], str]:
    environment = {"PYTHONPATH": ":".join(map(str, paths)), "AWS_CONFIG_FILE": "/none", "AWS_SHARED_CREDENTIALS_FILE": "/none"}
    done = subprocess.run([sys.executable, "-c", script, *SERVICES], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


def test_the_layer_carries_the_models_of_the_services_that_are_called() -> None:
    assert called() == set(SERVICES)


def test_a_layers_clients_are_those_of_the_whole_botocore(tmp_path: Path) -> None:
    layer = carried(tmp_path)
    assert {place.name for place in (layer / "botocore" / "data").iterdir() if place.is_dir()} == set(SERVICES)
    ours, used = endpoints(layer)
    assert str(layer) in used
    assert ours == endpoints()[0]
    assert len(ours) == 2 * len(SERVICES)


def test_a_layers_models_have_every_operation_and_shape_and_no_documentation(tmp_path: Path) -> None:
    """A parse of documentation costs 2 to 9 ms of CPU time for each client at every cold start."""
    layer = carried(tmp_path)
    ours, _ = endpoints(layer, script=SHAPES)
    assert len(ours) > 500
    assert ours == endpoints(script=SHAPES)[0]
    models = [gzip.decompress(model.read_bytes()) for model in (layer / "botocore" / "data").glob("*/*/service-2.json.gz")]
    assert len(models) >= len(SERVICES)
    assert not any(re.search(rb'"documentation":"[^"]', model) for model in models)
    assert max(map(len, models)) < 300_000


def test_what_botocore_reads_of_the_documentation_at_a_call_stays(tmp_path: Path) -> None:
    layer = carried(tmp_path)
    for place in (layer / "botocore" / "data").glob("*/*/service-2.json.gz"):
        model = ServiceModel(json.loads(gzip.decompress(place.read_bytes())))
        assert [parameter.documentation for parameter in model.client_context_parameters if parameter.documentation] == []


def test_a_layer_without_botocore_stays_as_it_is(tmp_path: Path) -> None:
    keep_called_services(tmp_path)
    assert list(tmp_path.iterdir()) == []
