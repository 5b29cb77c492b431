"""`hibernaut audit`: the chains of a data folder, without a server and beside one."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

from letta_client import Letta

from tests.local.test_command import administered, ended, environment, serving, sorry

PAGE = Path(__file__).parents[2] / "docs" / "memory-history.md"


def test_an_untouched_folder_holds_and_a_touched_one_names_the_first_broken_link(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, url, _):
        with Letta(base_url=url) as client:
            block = client.blocks.create(label="notes", value="The rent is 900.")
            client.blocks.update(block.id, value="The rent is 950.")
            client.agents.create(block_ids=[block.id])
        told = administered("audit", "verify", "--data-dir", str(tmp_path))
        assert (told.returncode, told.stdout[:20]) == (0, "All 2 chains hold. S")
        ended(process)
    heads = administered("audit", "heads", "--data-dir", str(tmp_path))
    assert heads.returncode == 0
    assert {each["subject"]: each["version"] for each in json.loads(heads.stdout)}[block.id] == 2
    file = tmp_path / "heads.json"
    file.write_text(heads.stdout)
    assert administered("audit", "verify", "--data-dir", str(tmp_path), "--against", str(file)).returncode == 0
    with sqlite3.connect(tmp_path / "hibernaut.db") as table:
        table.execute(
            f"UPDATE items SET body = replace(body, '950', '450') WHERE pk = 'default#BLOCK#{block.id}' AND sk = 'BLOCK'"
        )
    table.close()
    found = administered("audit", "verify", "--data-dir", str(tmp_path))
    assert found.returncode == 1
    assert f"BROKEN block {block.id}, version 2: the record is not what it left" in found.stdout


def test_the_program_of_the_page_prints_what_the_page_says(tmp_path: Path) -> None:
    program, printed = re.findall(r"```(?:python|text)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    with serving(tmp_path) as (process, url, _):
        told = subprocess.run(
            [sys.executable, "-c", program.replace("http://127.0.0.1:8283", url)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env=environment(),
        )
        ended(process)
    assert (told.stderr, told.stdout) == ("", printed)


def test_what_cannot_be_audited_is_told_in_one_line(tmp_path: Path) -> None:
    assert "there is nothing to audit" in sorry(administered("audit", "verify", "--data-dir", str(tmp_path / "none")))
    file = tmp_path / "heads.json"
    file.write_text("[1]")
    (tmp_path / "hibernaut.db").touch()
    assert "is not what hibernaut audit heads prints" in sorry(
        administered("audit", "verify", "--data-dir", str(tmp_path), "--against", str(file))
    )
