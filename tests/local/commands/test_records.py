"""`hibernaut agents list|show|create|delete`, `logs`, `open` and `completion`."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from letta_client import Letta

from hibernaut.local.administration.message_log import MessageLog
from hibernaut.local.command import main
from hibernaut.local.remote.agent_server import AgentServer
from tests.compat.conftest import Said
from tests.local.commands.conftest import Cli

# agents


def test_an_agent_is_created_listed_shown_and_deleted(cli: Cli, client: Letta, tmp_path: Path) -> None:
    persona = tmp_path / "persona.txt"
    persona.write_text("I am curious.\nVery.", encoding="utf-8")
    blocks = ("--block", "human=Ann", "--block", f"persona=@{persona}")
    (agent_id,) = cli(
        "agents", "create", "Cleo", "--model", "openai/test-model", *blocks, "--tag", "cats", "--system", "Purr."
    ).lines
    agent = client.agents.retrieve(agent_id, include=["agent.blocks", "agent.tags"])
    assert (agent.name, agent.system, agent.tags) == ("Cleo", "Purr.", ["cats"])
    assert {block.label: block.value for block in agent.blocks} == {"human": "Ann", "persona": "I am curious.\nVery."}
    head, line = cli("agents", "list", "--tag", "cats").lines
    assert (head.split()[0], line.split()) == ("id", [agent_id, "Cleo", "openai/test-model"])
    shown = cli("agents", "show", "Cleo").out
    for part in (agent_id, "openai/test-model", "cats", "memory_insert", "human (3/", "I am curious. Very."):
        assert part in shown
    assert json.loads(cli("agents", "show", "Cleo", "--json").out)["id"] == agent_id
    assert [one["id"] for one in json.loads(cli("agents", "list", "--name", "Cleo", "--json").out)] == [agent_id]
    refused = cli("agents", "delete", "Cleo")
    assert (refused.code, "--yes does it" in refused.err) == (2, True)
    assert cli("agents", "delete", "Cleo", "--yes").out == f"Deleted {agent_id}.\n"
    assert cli("agents", "list", "--name", "Cleo").err == "There are no agents.\n"


def test_nothing_is_deleted_if_one_of_the_agents_does_not_exist(cli: Cli, client: Letta) -> None:
    kept = client.agents.create(name="Kept", memory_blocks=[])
    told = cli("agents", "delete", kept.id, "nobody", "--yes")
    assert (told.code, "nobody" in told.err) == (1, True)
    assert client.agents.retrieve(kept.id).id == kept.id


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("create", "X", "--block", "human"), "--block is LABEL=TEXT or LABEL=@FILE, not 'human'"),
        (("create", "X", "--system", "@nowhere"), "nowhere cannot be read"),
        (("list", "--limit", "none"), "'none' is not a number above 0"),
    ],
)
def test_nonsense_is_wrong_usage(arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str], cli: Cli) -> None:
    try:
        done = cli("agents", *arguments)
        code, error = done.code, done.err
    except SystemExit as ended:
        code, error = int(str(ended.code)), capsys.readouterr().err
    assert (code, error.count("\n"), told in error) == (2, 1, True)


def test_what_the_server_refuses_is_told(cli: Cli) -> None:
    done = cli("agents", "create", "X", "--model", "openai/none-such")
    assert (done.code, done.out, "none-such" in done.err) == (1, "", True)


# logs


def test_the_log_shows_the_newest_messages_a_line_each(cli: Cli, client: Letta, said: Said) -> None:
    agent = client.agents.create(name="Lois", model="openai/test-model", memory_blocks=[])
    said.next({"content": "One\nline."})
    client.agents.messages.create(agent.id, input="Say something.")
    lines = cli("logs", "Lois", "-n", "2").lines
    assert [line.split(maxsplit=2)[1:] for line in lines] == [["user", "Say something."], ["assistant", "One line."]]
    assert [json.loads(line)["message_type"] for line in cli("logs", "Lois", "--json", "-n", "1").lines] == ["assistant_message"]
    assert [line.split(maxsplit=3)[1:] for line in cli("logs", "-n", "2").lines] == [
        ["Lois", "user", "Say something."],
        ["Lois", "assistant", "One line."],
    ]


def test_the_log_shows_what_a_person_answered(client: Letta, cli: Cli, said: Said) -> None:
    agent = client.agents.create(name="Ann", model="openai/test-model", memory_blocks=[], tools=["memory_insert"])
    client.agents.tools.update_approval("memory_insert", agent_id=agent.id, body_requires_approval=True)
    call = {"id": "call-1", "name": "memory_insert", "arguments": '{"label": "human", "new_string": "x"}'}
    for answer in ({"approve": False, "reason": "not that"}, {"approve": True}):
        said.next({"tool_calls": [call]}, {"content": "Done."})
        client.agents.messages.create(agent.id, input="Note x.")
        approval: Any = {"type": "approval", "approvals": [{"type": "approval", "tool_call_id": "call-1", **answer}]}
        client.agents.messages.create(agent.id, messages=[approval])
    told = [line.split(maxsplit=2)[2] for line in cli("logs", "Ann").lines if " approval_response " in line]
    assert told == ["denied: not that", "approved"]


def test_the_log_is_followed_until_an_interrupt(client: Letta, said: Said, capsys: pytest.CaptureFixture[str]) -> None:
    agent = client.agents.create(name="Fay", model="openai/test-model", memory_blocks=[])
    said.next({"content": "first"}, {"content": "second"})
    client.agents.messages.create(agent.id, input="one")
    looks = iter((lambda: client.agents.messages.create(agent.id, input="two"), None))

    def pause(_seconds: float) -> None:
        act = next(looks)
        if act is None:
            raise KeyboardInterrupt
        act()

    assert MessageLog(AgentServer(str(client.base_url)), "Fay", as_json=True, pause=pause).show(1, follow=True) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["content"] for one in told] == ["first", "two", "second"]


# the console and completion


def test_the_console_is_opened_or_its_address_printed(cli: Cli, client: Letta, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    monkeypatch.setattr("hibernaut.local.remote.console.has_window", lambda: True)
    address = f"{str(client.base_url).rstrip('/')}/console/"
    assert (cli("open").out, opened) == (f"{address}\n", [address])
    assert json.loads(cli("open", "--json", "--print").out) == {"url": address, "opened": False}
    monkeypatch.setattr("hibernaut.local.remote.console.has_window", lambda: False)
    assert (cli("open").out, opened) == (f"{address}\n", [address])


def completed(script: str, *words: str) -> list[str]:
    """What bash would offer for the last word."""
    typed = " ".join(f"'{word}'" for word in words)
    ask = f'source "$1"; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _hibernaut; echo "${{COMPREPLY[*]}}"'
    return subprocess.run(["bash", "-c", ask, "bash", script], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_commands_options_and_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "completion"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    assert completed(str(script), "hibernaut", "ag") == ["agents"]
    assert {"list", "show", "create", "delete", "export", "move"} <= set(completed(str(script), "hibernaut", "agents", ""))
    assert completed(str(script), "hibernaut", "chat", "--url", "--json", "--da") == ["--data-dir"], "a value is no option"
    assert completed(str(script), "hibernaut", "chat", "--url", "") == []
    assert set(completed(str(script), "hibernaut", "completion", "")) >= {"bash", "zsh", "fish"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_each_shell_has_a_script_with_every_command_and_option(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    for part in ("hibernaut", "budgets", "erase", "full-history"):
        assert part in text
    if shutil.which(shell):
        script = tmp_path / "script"
        script.write_text(text, encoding="utf-8")
        subprocess.run([shell, "-n" if shell == "zsh" else "--no-execute", str(script)], check=True)
