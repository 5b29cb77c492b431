"""The installer of engines: what it says, when it fails, and that a folder is complete or absent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tools import engines
from tools.engines import Engine, InstallFailed, provide


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(engines, "FOLDER", tmp_path)
    return tmp_path


def engine(install: Callable[[Path, str], None], *needs: str, version: str = "1.0") -> Engine:
    return Engine(name="some-engine", version=version, needs=needs, install=install, serves="the tests of something")


def fill(folder: Path, version: str) -> None:
    (folder / "program").write_text(version)


def fail(folder: Path, version: str) -> None:
    fill(folder, version)
    raise InstallFailed("the net is down")


def test_a_missing_program_is_said_in_one_line_and_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert provide(engine(fail, "no-such-program", "nor-this"))
    assert (
        capsys.readouterr().out == "some-engine 1.0: skipped, no no-such-program and no nor-this here (the tests of something)\n"
    )


def test_an_engine_is_installed_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert provide(engine(fill))
    assert (folder / "some-engine" / "program").read_text() == "1.0"
    assert provide(engine(fail))
    assert capsys.readouterr().out.endswith("some-engine 1.0: installed\n")


def test_another_version_takes_the_place_of_the_old_one(folder: Path) -> None:
    provide(engine(fill))
    assert provide(engine(fill, version="2.0"))
    assert (folder / "some-engine" / "program").read_text() == "2.0"


def test_a_failure_is_told_and_leaves_what_was_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    provide(engine(fill))
    assert not provide(engine(fail, version="2.0"))
    assert "the net is down" in capsys.readouterr().err
    assert (folder / "some-engine" / "program").read_text() == "1.0"


def test_one_failure_is_the_whole_command_s_failure_and_the_others_are_tried(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Engine(name="other", version="1", needs=(), install=fill, serves="more tests")
    monkeypatch.setattr(engines, "ENGINES", (engine(fail), other))
    assert engines.main() == 1
    assert other.is_installed()
    monkeypatch.setattr(engines, "ENGINES", (other,))
    assert engines.main() == 0
