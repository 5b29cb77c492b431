"""`hibernaut doctor` of a data folder: nothing is changed, and what is wrong is named."""

from __future__ import annotations

import json
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

from hibernaut.local.doctor import home
from hibernaut.local.doctor.findings import Finding, healthy
from hibernaut.wiring.data_folder import INDEX, TABLE, DataFolder
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.settings import EmbeddedSettings
from tests.local.test_command import administered


def found(data: Path, **settings: object) -> list[Finding]:
    return home.diagnosed(home.Home(EmbeddedSettings(data, **settings)))  # type: ignore[arg-type]


def texts(findings: list[Finding], check: str) -> str:
    return " ".join(f"{one.level}: {one.text}" for one in findings if one.check == check)


def test_a_folder_in_use_is_checked_beside_its_server(tmp_path: Path) -> None:
    with Embedded(EmbeddedSettings(tmp_path)):
        findings = found(tmp_path)
    assert healthy(findings), findings
    assert "open in a server" in texts(findings, "folder")
    assert "ok: hibernaut.db is whole, format 1" in texts(findings, "table")
    assert "unfinished runs, files, approvals and schedules: 0" in texts(findings, "waiting work")
    assert {one.check for one in findings} == {check.name for check in home.CHECKS}


def test_a_damaged_table_and_a_later_format_are_failures_and_the_other_checks_go_on(tmp_path: Path) -> None:
    with Embedded(EmbeddedSettings(tmp_path)):
        pass
    (tmp_path / TABLE).chmod(0o644)
    with closing(sqlite3.connect(tmp_path / TABLE)) as file:
        file.execute("PRAGMA user_version = 7")
    findings = found(tmp_path)
    assert "format 7, this version reads format 1" in texts(findings, "table")
    assert "open to other users" in texts(findings, "folder")
    assert "unknown" in texts(findings, "API keys")
    (tmp_path / TABLE).write_bytes(b"no database" * 1000)
    findings = found(tmp_path)
    assert "unknown: not checked: file is not a database" in texts(findings, "table")
    assert not healthy(findings)
    assert {one.check for one in findings} == {check.name for check in home.CHECKS}


def test_what_would_be_different_on_aws_and_a_port_in_use_are_notes(tmp_path: Path) -> None:
    DataFolder(tmp_path).close()
    (tmp_path / TABLE).unlink()
    (tmp_path / INDEX).unlink()
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", home.PORT))
            taken.listen()
        except OSError:
            """A server of this machine has it."""
        findings = found(tmp_path, providers={"OLLAMA_BASE_URL": "http://127.0.0.1:11434"})
    assert "OLLAMA_BASE_URL names an address that functions on AWS cannot reach" in texts(findings, "on AWS")
    assert f"port {home.PORT} is in use" in texts(findings, "port")
    assert "contains no agents yet" in texts(findings, "folder")
    assert healthy(findings)
    assert list(tmp_path.iterdir()) == [tmp_path / "lock"]


def test_the_command_prints_json_and_its_exit_code_says_whether_something_is_wrong(tmp_path: Path) -> None:
    done = administered("doctor", "--data-dir", str(tmp_path / "none"), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["healthy"] is True
    (tmp_path / TABLE).write_bytes(b"no database" * 1000)
    done = administered("doctor", "--data-dir", str(tmp_path))
    assert done.returncode == 1
    assert "could not be checked" in done.stdout
    assert administered("doctor", "--env", "prod", "--data-dir", "x").returncode == 2
