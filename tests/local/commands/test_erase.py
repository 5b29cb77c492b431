"""`hibernaut erase`: a person is erased with a receipt, followed, and looked for again."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from letta_client import Letta

from hibernaut.local.administration.erasing import Erasing
from hibernaut.local.remote.agent_server import AgentServer
from tests.local.commands.conftest import Cli


@pytest.fixture
def person(client: Letta) -> Any:
    with httpx.Client(base_url=str(client.base_url)) as http:
        fields = {"identifier_key": "user-4711", "name": "Ann", "identity_type": "user"}
        return http.put("/v1/identities/", json=fields).json()


def test_a_person_is_erased_with_a_receipt_and_checked_again(cli: Cli, client: Letta, person: Any) -> None:
    agent = client.agents.create(identity_ids=[person["id"]], memory_blocks=[{"label": "human", "value": "Ann is 41."}])
    refused = cli("erase", "user-4711")
    assert (refused.code, "--yes does it" in refused.err) == (2, True)
    told = cli("erase", "user-4711", "--yes")
    assert told.code == 0
    assert any(line.split()[:3] == ["agent", agent.id, "whole"] for line in told.lines)
    assert told.lines[-1] == "Nothing is left."
    again = json.loads(cli("erase", person["id"], "--show", "--json").out)
    assert (again["state"], again["check"]["found"]) == ("completed", [])
    checked = json.loads(cli("erase", again["id"], "--check", "--json").out)
    assert checked["check"]["requested_at"] > again["check"]["requested_at"]
    assert cli("erase", "--list").out.startswith(again["id"])


def test_an_erasure_is_followed_and_carried_on_by_asking(client: Letta, person: Any, capsys: pytest.CaptureFixture[str]) -> None:
    phases = iter(("agents", "others", "over"))

    class Slow(AgentServer):
        def post(self, path: str, body: Any = None) -> Any:
            found = dict(super().post(path, body))
            phase = next(phases)
            return {**found, "phase": phase, "state": "completed" if phase == "over" else "running"}

    paused: list[float] = []
    done = Erasing(Slow(str(client.base_url)), as_json=False, pause=paused.append).erase(person["id"], lambda _: True, wait=True)
    told = capsys.readouterr()
    assert (done, len(paused), told.err) == (0, 2, "agents …\nothers …\n")


@pytest.mark.parametrize(
    ("arguments", "told", "code"),
    [
        ((), "name a person", 2),
        (("user-4711", "--list"), "name a person", 2),
        (("nobody",), "no identity with the key 'nobody'", 1),
        (("erasure-00000000-0000-4000-8000-000000000000", "--show"), "no erasure erasure-", 1),
        (("identity-00000000-0000-4000-8000-000000000000", "--yes"), "404", 1),
    ],
)
def test_what_cannot_be_erased_is_told(cli: Cli, arguments: tuple[str, ...], told: str, code: int) -> None:
    done = cli("erase", *arguments)
    assert (done.code, done.out, told in done.err) == (code, "", True)
