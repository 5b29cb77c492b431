"""The processes of a proof: they play everything that they are given, and one that fails fails the proof."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.proof.engines import AT_HOME
from tests.proof.play import Play, ProcessFailed, played
from tests.proof.stories import STORIES

PLAYS = [Play("no start", "plain", 1), Play("restarted", "approval: cancel", 9), Play("no start", "approval: cancel", 1)]


def test_processes_find_together_what_one_process_finds() -> None:
    by_name = {story.name: story for story in STORIES}
    assert {one.play: one.tally for one in played(PLAYS, 2)} == {
        play: AT_HOME[play.engine](by_name[play.story], 1, play.every) for play in PLAYS
    }


def test_the_page_names_every_scenario() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert [story.name for story in STORIES if f'"{story.name}"' not in page] == []


def test_a_proof_that_is_terminated_leaves_no_process() -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tests.proof", "home", "--only", "plain"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as proof:
        assert proof.stderr is not None
        assert "0 findings" in proof.stderr.readline()
        proof.terminate()
        proof.communicate(timeout=60)  # ends when no process holds the pipe any more
    assert proof.returncode == 128 + signal.SIGTERM


def test_a_process_that_fails_fails_the_proof() -> None:
    with pytest.raises(ProcessFailed, match="no start: a story that nobody wrote"):
        list(played([Play("no start", "a story that nobody wrote", 1), *PLAYS], 1))
