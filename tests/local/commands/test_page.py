"""docs/cli.md names every command, and its examples are valid command lines."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from hibernaut.local.chat.chat_commands import COMMANDS
from hibernaut.local.command import command_line

PAGE = (Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8")


def test_every_example_is_a_valid_command_line() -> None:
    lines = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
    asked = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("hibernaut")]
    assert len(asked) > 15
    for words in asked:
        cut = words[: words.index(">")] if ">" in words else words
        assert command_line().parse_args(cut).command == cut[0]


def test_every_command_has_its_place() -> None:
    table = PAGE.partition("## All commands")[2]
    named = {name for row in re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    (commands,) = (action.choices for action in command_line()._actions if action.dest == "command")
    assert named == {*(commands or ())}
    assert {f"/{name}" for name in COMMANDS} - {"/help"} <= set(re.findall(r"`(/\w+)", PAGE))
