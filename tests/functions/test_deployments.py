"""One deployment after the other in this process: nothing of one is left in the next, and never are there two."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hibernaut.local.aws_offline.offline import INDEX, InUse, OfflineAws
from tests.functions.conftest import sample


def test_what_one_deployment_knows_is_unknown_to_the_next() -> None:
    creation = sample("api", "create_agent")
    asked = {**creation, "body": json.dumps({"model": "openai/test-model"})}
    statuses = []
    for secrets in ({}, {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}):
        with OfflineAws(secrets=secrets) as running:
            statuses.append(running.invoke("api", asked)["statusCode"])
    # A provider that is configured but cannot be reached is taken at its word.
    assert statuses == [404, 200]


def test_a_second_deployment_beside_the_first_is_refused() -> None:
    with OfflineAws(), pytest.raises(InUse, match="moto is in use"), OfflineAws():
        pass


def test_the_environment_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIBERNAUT_TABLE", "mine")
    with OfflineAws() as running:
        assert os.environ["HIBERNAUT_TABLE"] == running.stack.outputs["TableName"]
    assert os.environ["HIBERNAUT_TABLE"] == "mine"
    assert "HIBERNAUT_BUCKET" not in os.environ


def test_the_index_goes_with_the_deployment() -> None:
    with OfflineAws() as running:
        index = Path(os.environ[INDEX])
        agent = json.loads(running.invoke("api", sample("api", "create_agent"))["body"])
        assert agent["id"]
        running.pump()
        running.invoke("index_memory", sample("index_memory", "is_it_built"))
        kept = index.parent
        assert kept.exists()
    assert not kept.exists()


def test_an_index_elsewhere_may_be_named() -> None:
    with OfflineAws(variables={INDEX: "http://127.0.0.1:9"}) as running:
        assert os.environ[INDEX] == "http://127.0.0.1:9"
        # Nobody answers there: what is searched is searched in the table.
        assert running.invoke("api", sample("api", "health"))["statusCode"] == 200
