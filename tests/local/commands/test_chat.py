"""`hibernaut chat`: answers as they come, approvals in place, memory, and what stands in the way in one line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from letta_client import Letta

from hibernaut.local.chat.chat import WAITS
from tests.compat.conftest import Said
from tests.local.commands.conftest import Cli

RING = 'def ring(x: str) -> str:\n    """Ring a bell.\n\n    Args:\n        x (str): how\n    """\n    return "rang " + x\n'
CALL = {"tool_calls": [{"id": "call-1", "name": "ring", "arguments": '{"x": "twice"}'}]}


@pytest.fixture
def agent(client: Letta) -> Any:
    return client.agents.create(name="Ada", model="openai/test-model", memory_blocks=[{"label": "human", "value": "Ann"}])


@pytest.fixture
def careful(client: Letta) -> Any:
    """An agent whose tool needs an approval."""
    tool = client.tools.upsert(source_code=RING, default_requires_approval=True)
    return client.agents.create(
        name="Bea", model="openai/test-model", memory_blocks=[], tool_ids=[tool.id], include_base_tools=False
    )


def test_lines_are_messages_and_answers_appear(cli: Cli, agent: Any, said: Said, client: Letta) -> None:
    said.next({"content": "Hello, Ann."}, {"content": "Still here."})
    told = cli("chat", agent.id, typed="Hi.\n\nAnd now?\n")
    assert told.code == 0
    assert [line for line in told.lines if "step" not in line][1:] == ["Hello, Ann.", "Still here."]
    assert told.lines[-1].startswith("1 step · ")
    sent = [one.content for one in client.agents.messages.list(agent.id) if one.message_type == "user_message"]
    assert sent == ["Hi.", "And now?"]


def test_without_a_name_it_is_the_agent_that_has_run_last(cli: Cli, agent: Any, said: Said, client: Letta) -> None:
    said.next({"content": "Me again."})
    client.agents.messages.create(agent.id, input="Hello.")
    assert cli("chat", typed="/agent\n").lines[-1].startswith(f"Ada ({agent.id}) at ")


def test_a_name_that_no_agent_has_does_not_end_the_chat(cli: Cli, agent: Any) -> None:
    told = cli("chat", agent.id, typed="/agent Nobody\n/agent\n")
    assert (told.code, "no agent with the name 'Nobody'" in told.lines[-2]) == (0, True)
    assert told.lines[-1].startswith(f"Ada ({agent.id}) at ")


def test_memory_is_read_and_written_in_the_chat(cli: Cli, agent: Any, client: Letta) -> None:
    told = cli(
        "chat",
        agent.id,
        typed="/memory\n/memory human\n/block human Ann lives in Oslo.\n/block human\n/memory nobody\n/help\n/nonsense\n",
    )
    assert told.code == 0
    assert "human  3/" in told.out
    assert client.agents.blocks.retrieve("human", agent_id=agent.id).value == "Ann lives in Oslo."
    for part in ("What the block is to say is missing", "nobody", "/resume", "There is no command /nonsense"):
        assert part in told.out


def test_a_call_is_approved_in_place(cli: Cli, careful: Any, said: Said) -> None:
    said.next(CALL, {"content": "It rang."})
    told = cli("chat", careful.id, typed="Ring.\ny\n")
    assert (told.code, "? ring" in told.out, "← success: rang twice" in told.out, "It rang." in told.out) == (0, True, True, True)


def test_a_call_is_refused_with_a_reason(cli: Cli, careful: Any, said: Said) -> None:
    said.next(CALL, {"content": "I understand."})
    told = cli("chat", careful.id, typed="Ring.\nit is night\n")
    assert (told.code, "I understand." in told.out) == (0, True)
    assert "it is night" in str(said.server.requests[-1])


def test_a_call_that_nobody_answers_waits_and_is_asked_for_in_the_next_chat(cli: Cli, careful: Any, said: Said) -> None:
    said.next(CALL, {"content": "It rang."})
    told = cli("chat", careful.id, typed="Ring.\n")
    assert (told.code, "The calls wait." in told.out) == (WAITS, True)
    told = cli("chat", careful.id, typed="y\n")
    assert (told.code, "waits for an approval since before" in told.out, "It rang." in told.out) == (0, True, True)


def test_yes_approves_every_call(cli: Cli, careful: Any, said: Said) -> None:
    said.next(CALL, {"content": "It rang."})
    told = cli("chat", careful.id, "-m", "Ring.", "--yes")
    assert (told.code, "It rang." in told.out) == (0, True)


def test_json_prints_the_events_and_nothing_else(cli: Cli, agent: Any, said: Said) -> None:
    said.next({"content": "Hello."})
    told = cli("chat", agent.id, "-m", "Hi.", "--json")
    events = [json.loads(line) for line in told.lines]
    assert "".join(one["content"] for one in events if one["message_type"] == "assistant_message") == "Hello."
    assert {"stop_reason", "usage_statistics"} <= {one["message_type"] for one in events}


def test_a_failed_answer_is_told_and_is_the_exit_code(cli: Cli, agent: Any, said: Said) -> None:
    said.next({"status": 401})
    told = cli("chat", agent.id, "-m", "Hi.")
    assert (told.code, "error: " in told.out) == (1, True)


def test_a_text_of_the_model_cannot_control_the_terminal(cli: Cli, agent: Any, said: Said) -> None:
    said.next({"content": "red \x1b[31mtext\x1b]0;title\x07"})
    told = cli("chat", agent.id, "-m", "Hi.")
    assert "\x1b" not in told.out
    assert "\x07" not in told.out


@pytest.mark.parametrize(
    ("arguments", "told", "code"),
    [
        (("--url", "example.org"), "'example.org' is not an address: it begins with http:// or https://", 2),
        (("--nonsense",), "unknown: --nonsense (hibernaut chat --help lists the options)", 2),
        (("nobody",), "no agent with the name 'nobody'", 1),
        (("agent-00000000-0000-4000-8000-000000000000",), "has no agent agent-", 1),
        (("-m", " "), "--message has no text", 2),
        (("--data-dir", "x"), "leave one of them out", 2),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    cli: Cli, arguments: tuple[str, ...], told: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        done = cli("chat", *arguments)
        ended, out, err = done.code, done.out, done.err
    except SystemExit as ending:
        ended, (out, err) = int(str(ending.code)), capsys.readouterr()
    assert (ended, out, err.count("\n")) == (code, "", 1)
    assert told in err


def test_a_server_that_is_not_there_is_told(cli: Cli) -> None:
    done = cli("chat", "--url", "http://127.0.0.1:9", server=False)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(
        "hibernaut: http://127.0.0.1:9 cannot be reached: Connection refused. hibernaut dev starts a server"
    )


def test_two_agents_of_a_name_are_told_by_their_ids(cli: Cli, client: Letta) -> None:
    twins = [client.agents.create(name="Twin", memory_blocks=[]).id for _ in range(2)]
    done = cli("chat", "Twin")
    assert done.code == 2
    assert all(one in done.err for one in twins)
