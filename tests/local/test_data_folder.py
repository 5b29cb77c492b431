"""The data folder: where it is, who may read it, and what of a folder from elsewhere runs by itself."""

from __future__ import annotations

import hmac
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.store.agents.agent_marks import MarkBuild
from hibernaut.wiring.data_folder import DataFolder, DataFolderUnusable
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.settings import EmbeddedSettings
from tests.local.test_command import COMMAND, ended, environment, run, serving, sorry
from tests.support.provider_servers import ScriptedOpenAI


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes(folder: Path) -> set[tuple[bool, int]]:
    return {(place.is_dir(), mode(place)) for place in (folder, *folder.rglob("*"))}


@pytest.fixture
def loose() -> Iterator[None]:
    """A mask that takes nothing away: what is private is private by its own mode."""
    before = os.umask(0)
    yield
    os.umask(before)


# where it is


def test_without_a_word_agents_are_kept_in_the_users_own_folder_not_in_the_working_folder(tmp_path: Path) -> None:
    variables = {"HOME": str(tmp_path / "home"), "XDG_DATA_HOME": str(tmp_path / "data")}
    settings = subprocess.run(
        [*COMMAND[:2], "from hibernaut.wiring.settings import EmbeddedSettings as E; print(E.from_environment().data)"],
        cwd=tmp_path,
        env=environment(**variables),
        capture_output=True,
        text=True,
        check=True,
    )
    data = Path(settings.stdout.strip())
    assert data.is_relative_to(tmp_path / "home") or data.is_relative_to(tmp_path / "data")
    assert data.name == "hibernaut"


def test_the_folder_of_an_earlier_version_is_noticed(tmp_path: Path) -> None:
    earlier = tmp_path / ".hibernaut"
    earlier.mkdir()
    (earlier / "hibernaut.db").touch()
    with serving(None, cwd=tmp_path, XDG_DATA_HOME=str(tmp_path / "new"), HOME=str(tmp_path)) as (_, _, printed):
        assert "--data-dir .hibernaut" in printed
    with serving(earlier, cwd=tmp_path) as (_, _, printed):
        assert "earlier version" not in printed


# who may read it


@pytest.mark.usefixtures("loose")
def test_whatever_lies_in_a_new_folder_is_its_owners_alone(tmp_path: Path) -> None:
    with Embedded(EmbeddedSettings(tmp_path / "new", user_key=tmp_path / "key")):
        assert modes(tmp_path / "new") == {(True, 0o700), (False, 0o600)}
    assert mode(tmp_path / "key") == 0o600


@pytest.mark.usefixtures("loose")
def test_modes_that_were_left_open_are_mended_at_the_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "blobs" / "ab").mkdir(parents=True)
    for name in ("hibernaut.db", "index.db", "hibernaut.db-wal", "lock", "owner"):
        (data / name).touch()
    assert modes(data) == {(True, 0o777), (False, 0o666)}
    DataFolder(data, tmp_path / "key").close()
    assert modes(data) == {(True, 0o700), (False, 0o600)}


@pytest.mark.parametrize("name", ["lock", "owner", "hibernaut.db", "hibernaut.db-wal", "index.db", "blobs", "blobs/ab"])
def test_a_link_in_place_of_a_file_is_neither_opened_nor_emptied(tmp_path: Path, name: str) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    target = precious if not name.startswith("blobs") else tmp_path / "home"
    data = tmp_path / "data"
    (data / name).parent.mkdir(parents=True)
    (data / name).symlink_to(target)
    done = run("dev", "--port", "0", "--data-dir", str(data))
    assert done.returncode == 1
    assert f"{name} is a symbolic link" in sorry(done)
    assert precious.read_text() == "mine"


def test_a_link_to_the_folder_itself_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    DataFolder(tmp_path / "link").close()
    assert (tmp_path / "real" / "lock").is_file()


def test_a_blob_is_not_read_through_a_link(tmp_path: Path) -> None:
    blobs = DiskBlobs(tmp_path / "blobs")
    blobs.put("key", b"body")
    (blob,) = (path for path in (tmp_path / "blobs").rglob("*") if path.is_file())
    (tmp_path / "private").write_text("of the user")
    blob.unlink()
    blob.symlink_to(tmp_path / "private")
    with pytest.raises(OSError, match="symbolic links"):
        blobs.get("key")
    assert blobs.list(limit=10) == [], "a link is no blob, and stops nobody who lists them"


# whose it is


def test_a_folder_that_was_claimed_is_its_users_until_it_is_moved_or_copied(tmp_path: Path) -> None:
    key, data = tmp_path / "key", tmp_path / "data"
    with closing(DataFolder(data, key)) as folder:
        assert not folder.own
        folder.claim()
    with closing(DataFolder(data, key)) as folder:
        assert folder.own
    shutil.copytree(data, tmp_path / "copy")
    data.rename(tmp_path / "moved")
    for elsewhere in ("copy", "moved"):
        with closing(DataFolder(tmp_path / elsewhere, key)) as folder:
            assert not folder.own
    with closing(DataFolder(tmp_path / "moved", tmp_path / "key of somebody else")) as folder:
        assert not folder.own


@pytest.mark.parametrize("put_back", ["in a new folder", "over its files", "by a rename"])
def test_a_copy_that_is_put_in_the_place_of_a_claimed_folder_is_from_elsewhere(tmp_path: Path, put_back: str) -> None:
    key, data, copy = tmp_path / "key", tmp_path / "data", tmp_path / "copy"
    with closing(DataFolder(data, key)) as folder:
        folder.claim()
    later_than(data / "lock", tmp_path / "probe")
    shutil.copytree(data, copy)
    match put_back:
        case "in a new folder":
            data.rename(tmp_path / "aside")
            shutil.copytree(copy, data)
        case "over its files":
            shutil.copytree(copy, data, dirs_exist_ok=True)
        case _:
            data.rename(tmp_path / "aside")
            copy.rename(data)
    with closing(DataFolder(data, key)) as folder:
        assert not folder.own
        folder.claim()
    with closing(DataFolder(data, key)) as folder:
        assert folder.own


def later_than(place: Path, probe: Path) -> None:
    """Wait until the clock of the file system shows another time than that of the file: it may stand for some milliseconds."""
    while probe.touch() or probe.stat().st_ctime_ns == place.stat().st_ctime_ns:
        pass


def test_a_folder_that_was_moved_away_and_back_is_its_users(tmp_path: Path) -> None:
    key, data = tmp_path / "key", tmp_path / "data"
    with closing(DataFolder(data, key)) as folder:
        folder.claim()
    data.rename(tmp_path / "away").rename(data)
    with closing(DataFolder(data, key)) as folder:
        assert folder.own


def test_a_folder_that_an_older_release_marked_by_its_path_is_its_users_and_is_marked_anew(tmp_path: Path) -> None:
    key, data = tmp_path / "key", tmp_path / "data"
    DataFolder(data, key).close()
    older = hmac.new(key.read_bytes(), os.fsencode(data.resolve()), "sha256").hexdigest()
    (data / "owner").write_text(older)
    with closing(DataFolder(data, key)) as folder:
        assert folder.own
        folder.claim()
    assert (data / "owner").read_text() != older
    with closing(DataFolder(data, key)) as folder:
        assert folder.own


def test_a_user_whose_key_cannot_be_kept_is_served_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with closing(DataFolder(tmp_path / "data", tmp_path / "file" / "key")) as folder:
        folder.claim()
    assert not (tmp_path / "data" / "owner").exists()


def test_two_first_starts_at_once_agree_on_the_users_key(tmp_path: Path) -> None:
    together, key = threading.Barrier(4), tmp_path / "key"

    def claimed(name: str) -> None:
        together.wait()
        with closing(DataFolder(tmp_path / name, key)) as folder:
            folder.claim()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(claimed, "abcd"))
    for name in "abcd":
        with closing(DataFolder(tmp_path / name, key)) as folder:
            assert folder.own


def test_a_copied_folder_runs_nothing_by_itself_until_it_is_told_to(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    with ScriptedOpenAI() as provider:
        asked = threading.Event()

        def hangs(_messages: object, _tools: object) -> dict[str, object]:
            asked.set()
            return {"hang": True}

        provider.script = hangs  # type: ignore[assignment]
        keys = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": provider.url, "HIBERNAUT_DEFAULT_EMBEDDING": "none"}
        with serving(data, **keys) as (process, url, _):
            agent = httpx.post(f"{url}/v1/agents/", json={"model": "openai/test-model"}, timeout=60).json()["id"]
            sent = httpx.post(f"{url}/v1/agents/{agent}/messages/async", json={"input": "Hello"}, timeout=60).json()["id"]
            assert asked.wait(30)
            process.kill()
            process.wait()
        shutil.copytree(data, copy)

        key = Path(os.environ["HOME"]) / ".local" / "state" / "hibernaut" / "user-key"
        with closing(Embedded(EmbeddedSettings(copy, user_key=key))) as house:
            assert house.start().unfinished == 1
            state = house.stores.of("default").runs.get(sent)
            assert state is not None
            assert (state.sweeps, state.run.status) == (0, "running")
        with serving(copy, **keys) as (process, url, printed):
            assert "approvals and schedules: 1. This folder" in printed
            assert "--resume" in printed
            ended(process)

        for folder, more in ((data, []), (copy, ["--resume"]), (copy, [])):
            asked.clear()
            with serving(folder, more=more, **keys) as (process, _, printed):
                assert "held" not in printed
                assert asked.wait(30)
                process.kill()
                process.wait()


def test_a_copied_folder_without_work_goes_on_by_itself_although_its_lists_are_built(tmp_path: Path) -> None:
    data, copy, key = tmp_path / "data", tmp_path / "copy", tmp_path / "key"
    with closing(Embedded(EmbeddedSettings(data, user_key=key))) as house:
        own = house.start().stores.of("default")
        own.writer.write(own.agent_marks.built(MarkBuild(complete=True), due_ms=1))
        assert len(house.stores.due.all()) == 1
    shutil.copytree(data, copy)
    with closing(Embedded(EmbeddedSettings(copy, user_key=key))) as house:
        assert house.start().unfinished == 0


# what cannot be read


def write_newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA user_version = 9999")


def write_noise(path: Path) -> None:
    """The head of the file stays, so that SQLite takes it for a database."""
    data = bytearray(path.read_bytes())
    data[100:] = b"\xff" * (len(data) - 100)
    path.write_bytes(data)


def write_no_database(path: Path) -> None:
    path.write_bytes(b"no database" * 100)


@pytest.mark.parametrize(
    ("damage", "says"),
    [(write_newer, "has format 9999"), (write_noise, "malformed"), (write_no_database, "not a database")],
)
def test_a_table_that_cannot_be_read_is_one_line(tmp_path: Path, damage: object, says: str) -> None:
    Embedded(EmbeddedSettings(tmp_path)).close()
    damage(tmp_path / "hibernaut.db")  # type: ignore[operator]
    done = run("dev", "--port", "0", "--data-dir", str(tmp_path))
    assert done.returncode == 1
    line = sorry(done)
    assert says in line
    assert "hibernaut.db" in line
    assert "--data-dir" in line
    assert "Start the version" in line if damage is write_newer else "backup" in line


@pytest.mark.parametrize("name", ["hibernaut.db", "index.db", "hibernaut.db-shm", "owner", "lock", "secrets.key"])
def test_a_folder_in_place_of_a_file_is_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(DataFolderUnusable, match=f"{name} is a folder and is not opened"):
        Embedded(EmbeddedSettings(tmp_path, user_key=tmp_path.parent / "user-key"))


def test_a_folder_that_could_not_be_opened_is_given_back(tmp_path: Path) -> None:
    write_no_database(tmp_path / "hibernaut.db")
    with pytest.raises(DataFolderUnusable):
        Embedded(EmbeddedSettings(tmp_path))
    (tmp_path / "hibernaut.db").unlink()
    Embedded(EmbeddedSettings(tmp_path)).close()


def test_a_system_that_cannot_lock_a_folder_is_named_with_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)  # as on Windows
    with pytest.raises(DataFolderUnusable, match=r"Linux and macOS.*WSL"):
        DataFolder(tmp_path / "data")
    assert not (tmp_path / "data").exists()
