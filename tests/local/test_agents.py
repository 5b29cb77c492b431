"""`hibernaut agents`: agents go to files and from one server to another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from letta_client import Letta, NotFoundError

from hibernaut.local.command import main
from tests.compat.conftest import serving_embedded
from tests.support.provider_servers import ScriptedOpenAI

Servers = tuple[Letta, Letta]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with ExitStack() as running:
        provider = running.enter_context(ScriptedOpenAI())
        urls = [running.enter_context(serving_embedded(tmp_path_factory.mktemp("data"), provider)).url for _ in range(2)]
        here, there = (running.enter_context(Letta(base_url=url, api_key="any", max_retries=0)) for url in urls)
        yield here, there


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[list[str], str]:
    """The lines of the output, and the error output."""
    done = main(["agents", *arguments])
    told = capsys.readouterr()
    assert done == code, told.err
    return told.out.splitlines(), told.err


def test_an_agent_goes_to_a_file_and_comes_back(servers: Servers, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here, there = servers
    made = here.agents.create(name="Ada", memory_blocks=[{"label": "human", "value": "Ann"}])
    here.agents.messages.create(made.id, input="Hello.")
    file = tmp_path / "ada.af"
    assert run(capsys, "export", made.id, str(file), "--url", str(here.base_url)) == ([str(file)], "")
    assert json.loads(file.read_text(encoding="utf-8"))["agents"][0]["name"] == "Ada"
    _, told = run(capsys, "export", made.id, str(file), "--url", str(here.base_url), code=1)
    assert "--force" in told
    (agent_id,), _ = run(capsys, "import", str(file), "--url", str(there.base_url), "--name", "Eve", "--strip-messages")
    assert there.agents.retrieve(agent_id).name == "Eve"
    (line,), told = run(capsys, "import", str(file), "--url", str(there.base_url), "--name", "Zoe", "--json")
    assert (there.agents.retrieve(json.loads(line)["agent_ids"][0]).name, told) == ("Zoe", "")


def test_a_copy_has_the_secrets_and_a_moved_agent_is_gone(
    servers: Servers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, there = servers
    made = here.agents.create(name="Ada", memory_blocks=[], secrets={"KEY": "value", "EMPTY": ""})
    here.agents.messages.create(made.id, input="Hello.")
    both = ("--url", str(here.base_url), "--to", str(there.base_url))
    (copy,), told = run(capsys, "copy", made.id, *both)
    assert "EMPTY" in told
    copied = there.agents.retrieve(copy, include=["agent.secrets"])
    assert (copied.name, {one.key: one.value for one in copied.secrets}) == ("Ada", {"KEY": "value", "EMPTY": ""})
    _, told = run(capsys, "move", made.id, *both, code=1)
    assert "the secret EMPTY without a value" in told
    values = tmp_path / "secrets.json"
    values.write_text('{"EMPTY": "now"}', encoding="utf-8")
    (moved,), _ = run(capsys, "move", made.id, *both, "--secrets", str(values))
    assert len(list(there.agents.messages.list(moved, limit=50))) >= 2
    with pytest.raises(NotFoundError):
        here.agents.retrieve(made.id)


def test_a_moved_agent_takes_passages_conversations_and_identities_along(
    servers: Servers, capsys: pytest.CaptureFixture[str]
) -> None:
    here, there = servers
    made = here.agents.create(memory_blocks=[])
    here.agents.passages.create(made.id, text="The key hangs behind the clock.", tags=["home"])
    beside = here.conversations.create(agent_id=made.id, summary="beside")
    list(here.conversations.messages.create(beside.id, messages=[{"role": "user", "content": "Hello."}]))
    named = {"identifier_key": "ann", "name": "Ann", "identity_type": "user", "agent_ids": [made.id]}
    httpx.post(f"{here.base_url}/v1/identities", json=named).raise_for_status()
    said = [one.message_type for one in here.conversations.messages.list(beside.id)]
    both = ("--url", str(here.base_url), "--to", str(there.base_url))
    (bare,), _ = run(capsys, "copy", made.id, *both, "--without", "passages", "--without", "conversations")
    assert (list(there.agents.passages.list(bare)), list(there.conversations.list(agent_id=bare))) == ([], [])
    _, told = run(capsys, "move", made.id, *both, "--without", "passages", "--without", "identities", code=1)
    assert "passages and identities, which stay behind" in told
    (moved,), _ = run(capsys, "move", made.id, *both)
    (passage,) = there.agents.passages.list(moved)
    assert (passage.text, passage.tags) == ("The key hangs behind the clock.", ["home"])
    (found,) = there.conversations.list(agent_id=moved)
    assert (found.summary, [one.message_type for one in there.conversations.messages.list(found.id)]) == ("beside", said)
    shown = there.agents.retrieve(moved, include=["agent.identities"])
    assert [one.identifier_key for one in shown.identities] == ["ann"]
    with pytest.raises(NotFoundError):
        here.agents.retrieve(made.id)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("import", "nowhere.af"), "nowhere.af cannot be read"),
        (("export", "agent-x", "x.af", "--url", "http://127.0.0.1:9"), "http://127.0.0.1:9 cannot be reached"),
        (("export", "agent-x", "x.af", "--key", "@nowhere"), "nowhere cannot be read"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    arguments: tuple[str, ...], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = main(["agents", *arguments])
    error = capsys.readouterr().err
    assert code in (1, 2)
    assert told in error
    assert error.count("\n") == 1
