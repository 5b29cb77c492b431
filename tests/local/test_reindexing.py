"""`hibernaut reindex`: what it does beside a server and without one, and how it is told."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.local.command import main
from hibernaut.local.progress import Bar, Dwindling, ProgressLines, report_to
from hibernaut.schemas.ids import DEFAULT_TENANT
from hibernaut.wiring.data_folder import TABLE, DataFolder
from hibernaut.wiring.embedded import ServedDataFolder
from hibernaut.wiring.settings import EmbeddedSettings
from tests.local.test_command import COMMAND, ended, environment, serving, sorry

WORDS = {"HIBERNAUT_DEFAULT_EMBEDDING": "none"}


def reindexed(data: Path) -> subprocess.CompletedProcess[str]:
    arguments = [*COMMAND, "reindex", "--data-dir", str(data)]
    return subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=120, env=environment(**WORDS))


def told_of_rex(url: str) -> str:
    agent = httpx.post(f"{url}/v1/agents/", json={"memory_blocks": []}, timeout=60).json()["id"]
    said = {"input": "My dog is called Rex."}
    assert httpx.post(f"{url}/v1/agents/{agent}/messages", json=said, timeout=60).status_code == 200
    return str(agent)


def found(url: str, agent: str) -> list[str]:
    asked = {"query": "Rex", "agent_id": agent, "search_mode": "fts"}
    reply = httpx.post(f"{url}/v1/messages/search", json=asked, timeout=60)
    assert reply.status_code == 200, reply.text
    return [str(hit) for hit in reply.json() if "Rex" in str(hit)]


def held(data: Path) -> list[tuple[str, int]]:
    index = SqliteMemoryIndex(data / "index.db")
    try:
        return [(one.id, one.version) for space in index.spaces() for one in index.states(space, DEFAULT_TENANT)]
    finally:
        index.close()


def test_beside_a_server_that_goes_on_answering(tmp_path: Path) -> None:
    with serving(tmp_path, **WORDS) as (process, url, _):
        agent = told_of_rex(url)
        done = reindexed(tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert "beside the server that has it open" in done.stdout
        assert done.stdout.endswith("Done: the index is complete.\n")
        assert found(url, agent)
        ended(process)
    assert held(tmp_path)


def test_without_a_server_what_the_index_had_lost_is_there_again(tmp_path: Path) -> None:
    with serving(tmp_path, **WORDS) as (process, url, _):
        agent = told_of_rex(url)
        ended(process)
    before = held_after_a_look(tmp_path)
    index = SqliteMemoryIndex(tmp_path / "index.db")
    for space in index.spaces():
        index.drop(space)
    index.close()
    done = reindexed(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "which no server has open" in done.stdout
    assert held(tmp_path) == before
    with serving(tmp_path, **WORDS) as (_, url, _):
        assert found(url, agent)


def held_after_a_look(data: Path) -> list[tuple[str, int]]:
    """What the index holds once it knows everything."""
    assert reindexed(data).returncode == 0
    known = held(data)
    assert known
    return known


def test_what_was_broken_off_is_done_at_the_next_start(tmp_path: Path) -> None:
    with serving(tmp_path, **WORDS) as (process, url, _):
        agent = told_of_rex(url)
        ended(process)
    known = held_after_a_look(tmp_path)
    beside = ServedDataFolder(EmbeddedSettings(data=tmp_path))
    with pytest.raises(KeyboardInterrupt):
        beside.reindexing.begin([DEFAULT_TENANT], interrupt)
    beside.close()
    assert held(tmp_path) == []
    with serving(tmp_path, **WORDS) as (process, url, _):
        assert found(url, agent)
        done = reindexed(tmp_path)
        assert done.returncode == 0
        ended(process)
    assert held(tmp_path) == known


def interrupt(_progress: object) -> None:
    raise KeyboardInterrupt


def test_json_is_the_number_of_records_and_the_progress_goes_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIBERNAUT_DEFAULT_EMBEDDING", "none")
    DataFolder(tmp_path).close()
    SqliteTable(tmp_path / TABLE).close()
    assert main(["reindex", "--data-dir", str(tmp_path), "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"records": 0}
    assert "Done: the index is complete." in printed.err


def test_a_folder_without_agents_is_one_line(tmp_path: Path) -> None:
    done = reindexed(tmp_path)
    assert done.returncode == 1
    assert "--data-dir" in sorry(done)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_table_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "hibernaut.db").write_bytes(b"no database" * 100)
    done = reindexed(tmp_path)
    assert done.returncode == 1
    assert "hibernaut.db" in sorry(done)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_a_bar_that_moves_below_the_lines_and_goes_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    out, clock = Terminal(), [0.0]
    bar = Bar(out, now=lambda: clock[0])
    for second in (0, 10, 20):
        clock[0] = second
        bar.share(second, 40)
    bar.line("Reading [/data].")
    before = out.getvalue()
    bar.end()
    shown = [re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", part) for part in before.split("\r")]
    assert [part.rstrip()[-16:].split(maxsplit=1)[-1] for part in shown if "%" in part][-2:] == ["50% 0:00:20", "50% 0:00:20"]
    assert "Reading [/data].\n" in "".join(shown)
    assert out.getvalue().endswith("\x1b[?25h\r\x1b[1A\x1b[2K"), "the cursor is back, and the bar's line is erased"


def test_a_file_needs_no_bar(tmp_path: Path) -> None:
    code = "import sys; from hibernaut.local.progress import report_to; report_to(sys.stdout).share(1, 2); assert 'rich' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": "shared"}, capture_output=True, timeout=60)


def test_a_file_is_told_every_tenth_once() -> None:
    out = io.StringIO()
    lines = report_to(out)
    assert isinstance(lines, ProgressLines)
    for done in (0, 5, 10, 11, 19, 35, 35, 100):
        lines.share(done, 100)
    assert out.getvalue().splitlines() == ["10 %", "30 %", "100 %"]


def test_nothing_to_do_is_no_share_of_anything() -> None:
    out = io.StringIO()
    report_to(out).share(0, 0)
    bar = Bar(Terminal(), now=lambda: 0.0)
    bar.share(0, 0)
    bar.end()
    assert out.getvalue() == ""


def test_where_nothing_moves_for_a_minute_this_is_said() -> None:
    out, clock = io.StringIO(), [0.0]
    dwindling = Dwindling(ProgressLines(out), "Still.", now=lambda: clock[0])
    for second, left in ((1, 10), (50, 5), (100, 5), (111, 5), (150, 5), (172, 5), (180, 4)):
        clock[0] = second
        dwindling.remaining(left)
    assert out.getvalue().splitlines() == ["50 %", "Still.", "Still.", "60 %"]
