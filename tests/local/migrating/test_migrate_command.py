"""`hibernaut migrate` between two servers of this project, by the commands of docs/migration.md."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from httpx2 import Client
from letta_client import Letta

from hibernaut.local.command import main
from tests.compat.conftest import serving_embedded
from tests.support.provider_servers import ScriptedOpenAI

PAGE = (Path(__file__).parents[3] / "docs" / "migration.md").read_text(encoding="utf-8")
HOME = "http://127.0.0.1:8283"


@pytest.fixture(scope="module")
def old_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Letta]:
    with ExitStack() as running:
        provider = running.enter_context(ScriptedOpenAI())
        served = running.enter_context(serving_embedded(tmp_path_factory.mktemp("old"), provider, embedding="none"))
        yield running.enter_context(Letta(base_url=served.url, api_key="any", max_retries=0))


def block_of(language: str) -> str:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[0]


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    done = main(["migrate", *arguments])
    told = capsys.readouterr()
    assert done == code, told.out + told.err
    return told.out + told.err


def test_the_page_moves_a_server_to_another(
    old_server: Letta, new_server: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    here, there = str(old_server.base_url), str(new_server.base_url)
    ada = old_server.agents.create(
        name="Ada",
        memory_blocks=[{"label": "human", "value": "Ann"}],
        secrets={"KEY": "value"},
        tags=["one"],
        model="openai/test-model",
    )
    for text in ("Hello.", "And again."):
        old_server.agents.messages.create(ada.id, input=text)
    old_server.agents.passages.create(ada.id, text="The key hangs behind the clock.", tags=["home"])
    commands = [line.partition("#")[0].split()[2:] for line in block_of("sh").splitlines()]
    dry, move = ([here if word == "http://old-server:8283" else word for word in words] for words in commands)
    told = run(capsys, *dry, "--to", there)
    assert "agents: 1 at the source, 0 on the target" in told
    assert list(Path().iterdir()) == []
    told = run(capsys, *move, "--to", there, "--report", "report.json")
    assert "agents: 1 at the source, 1 on the target" in told
    assert json.loads(Path("report.json").read_text())["counts"]["passages"] == {"source": 1, "target": 1}
    assert main(["migrate", *dry, "--to", there, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)["counts"]
    assert {kind: one["source"] for kind, one in again.items()} == {kind: one["target"] for kind, one in again.items()}
    assert again["messages"]["source"] > 0
    found = new_server.get(f"/v1/agents/{ada.id}", params={"include": ["agent.secrets", "agent.blocks", "agent.tags"]}).json()
    assert [one["value"] for one in (*found["secrets"], *found["blocks"])] == ["value", "Ann"]
    with Letta(base_url=there, api_key="any") as moved_to:
        before, after = (list(one.agents.messages.list(ada.id)) for one in (old_server, moved_to))
    assert [(one.message_type, one.date) for one in after] == [(one.message_type, one.date) for one in before]
    output = StringIO()
    with redirect_stdout(output):
        exec(compile(block_of("python").replace(HOME, there), "migration.md", "exec"), {})
    assert f"{ada.id} Ada {len(after)} messages" in output.getvalue()
    old_server.agents.messages.create(ada.id, input="You do not know this there.")
    told = run(capsys, *move, "--to", there)
    assert "The agent has changed at the source since it was moved" in told
    assert "agents: 0 moved" in told


@pytest.mark.parametrize(
    ("arguments", "told", "code"),
    [
        (("--from", "ftp://old"), "--from is http://…, https://… or postgresql://…", 2),
        (("--from", "postgresql://nobody"), "postgresql://USER:PASSWORD@HOST:PORT/DATABASE", 2),
        (("--from", "http://127.0.0.1:9", "--dry-run"), "cannot be reached", 1),
        (("--from", "http://old", "--from-token", "@nowhere"), "nowhere cannot be read", 2),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    arguments: tuple[str, ...],
    told: str,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hibernaut.local.migrating.api.PAUSES", ())
    said = run(capsys, *arguments, "--to", "http://127.0.0.1:9", code=code)
    assert told in said
    assert said.count("\n") == 1


def test_a_missing_driver_is_named(
    new_server: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pg8000.exceptions", None)
    told = run(capsys, "--from", "postgresql://letta:x@127.0.0.1/letta", "--to", str(new_server.base_url), code=1)
    assert "the driver of Postgres is missing: pip install 'hibernaut[migrate]'" in told


def test_the_state_of_another_migration_is_refused(
    old_server: Letta, new_server: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state"
    state.write_text('{"about": {"from": "http://other", "to": "http://other"}}\n')
    said = run(capsys, "--from", str(old_server.base_url), "--to", str(new_server.base_url), "--state", str(state), code=2)
    assert "is of another migration" in said
