"""One deployment after the other in this process: nothing of one is left in the next, and never are there two."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest

from hibernaut.local.aws_offline.offline import INDEX, InUse, OfflineAws
from hibernaut.local.aws_offline.search_domain import PREFIX
from hibernaut.local.server import address, listening
from hibernaut.ports.memory.memory_index import IndexAsleep
from hibernaut.wiring.engines.memory_index import index_of
from hibernaut.wiring.settings import AwsSettings
from tests.functions.conftest import NAMED, sample
from tests.support.opensearch import OpenSearchNode, opensearch_node

__all__ = ["opensearch_node"]


def test_what_one_deployment_knows_is_unknown_to_the_next() -> None:
    creation = sample("api", "create_agent")
    asked = {**creation, "body": json.dumps({"model": "openai/test-model"})}
    statuses = []
    for secrets in ({}, {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}):
        with OfflineAws(secrets=secrets, variables=NAMED) as running:
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


def kept_by(running: OfflineAws) -> str:
    """A passage of a new agent, put away and indexed."""
    creation = sample("api", "create_agent")
    agent = json.loads(running.invoke("api", creation)["body"])
    path = f"/v1/agents/{agent['id']}/archival-memory"
    asked = {**creation, "path": path, "body": json.dumps({"text": "The key hangs behind the clock."})}
    passage = json.loads(running.invoke("api", asked)["body"])[0]["id"]
    assert running.pump() > 0
    return str(passage)


def known() -> set[str]:
    index = index_of(AwsSettings.from_environment())
    assert index is not None
    return {state.id.rpartition("/")[2] for space in index.spaces() for state in index.states(space, "default")}


def test_the_index_goes_with_the_deployment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with OfflineAws(variables=NAMED) as running:
        assert kept_by(running) in known()
        assert len(list(tmp_path.glob(f"{PREFIX}*/index.db"))) == 1
        left = index_of(AwsSettings.from_environment())
        assert left is not None
        assert left.spaces()
    assert list(tmp_path.glob(f"{PREFIX}*")) == []
    with pytest.raises(IndexAsleep):
        left.spaces()
    with OfflineAws():
        assert known() == set()


def test_a_node_may_stand_for_the_domain(opensearch_node: OpenSearchNode) -> None:
    with OfflineAws(variables={**NAMED, INDEX: opensearch_node.address}) as running:
        assert kept_by(running) in known()


def test_a_node_that_does_not_answer_keeps_nobody_from_writing_and_searching() -> None:
    with listening("127.0.0.1", 0) as free:
        nowhere = address(free)
    with OfflineAws(variables={**NAMED, INDEX: nowhere}) as running:
        agent = json.loads(running.invoke("api", sample("api", "create_agent"))["body"])
        assert agent["id"]
        assert running.invoke("index_memory", sample("index_memory", "two_pointers")) == {"batchItemFailures": []}
