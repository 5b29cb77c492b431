"""`hibernaut backup` and `restore` of a data folder: what comes back is what was there at one moment, also beside a busy
server.
"""

from __future__ import annotations

import io
import json
import sqlite3
import stat
import tarfile
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.cipher.key_file import KeyFileCipher
from hibernaut.adapters.table import sqlite_check
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.local.administration import folder_backups
from hibernaut.local.administration.folder_backups import backup, restore
from hibernaut.local.profiles import CannotServe
from hibernaut.ports.storage.table import Key, Put, Update
from hibernaut.wiring.data_folder import BLOBS, INDEX, SECRETS, TABLE, DataFolder
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.settings import EmbeddedSettings
from tests.local.test_command import administered, sorry


class Filled:
    """A folder with an item, an item whose body is a blob, and a sealed secret."""

    def __init__(self, data: Path) -> None:
        DataFolder(data).close()
        self.data, self.blobs, self.table = data, DiskBlobs(data / BLOBS), SqliteTable(data / TABLE)
        self.count = 0
        self.table.write(Put({"pk": "t#A", "sk": "small", "body": "x"}))
        self.replace_large()
        self.sealed = KeyFileCipher(data / SECRETS).seal(b"secret", {"for": "test"})

    def replace_large(self) -> None:
        """As the product does it: the new body, then the item that names it, then the old body goes."""
        old, self.count = self.count, self.count + 1
        self.blobs.put(f"records/t/A/{self.count}", b"%d" % self.count)
        self.table.write(Put({"pk": "t#A", "sk": "large", "body": "", "blob": f"records/t/A/{self.count}"}))
        self.blobs.delete(f"records/t/A/{old}")


def large_of(data: Path) -> bytes:
    with closing(sqlite3.connect(data / TABLE)) as table:
        ((key,),) = table.execute("SELECT json_extract(attributes, '$.blob') FROM items WHERE sk = 'large'").fetchall()
    return DiskBlobs(data / BLOBS).get(key)


def test_table_bodies_and_secrets_come_back_and_the_index_is_built_anew(tmp_path: Path) -> None:
    filled = Filled(tmp_path / "agents")
    backup(filled.data, tmp_path / "b.tar.gz")
    assert stat.S_IMODE((tmp_path / "b.tar.gz").stat().st_mode) == 0o600
    filled.replace_large()
    assert restore(tmp_path / "b.tar.gz", tmp_path / "new", overwrite=False) is None
    assert large_of(tmp_path / "new") == b"1"
    assert KeyFileCipher(tmp_path / "new" / SECRETS).unseal(filled.sealed, {"for": "test"}) == b"secret"
    assert not (tmp_path / "new" / INDEX).exists()
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").rglob("*") if path.is_file()} == {0o600}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agents", "b.tar.gz", "new"]


def test_a_server_has_the_folder_open_and_its_agents_come_back(tmp_path: Path) -> None:
    with Embedded(EmbeddedSettings(tmp_path / "agents")) as server:
        server.stores.of("default").writer.write(Update(server_key(), set={"body": "kept"}))
        backup(tmp_path / "agents", tmp_path / "b.tar.gz")
        with pytest.raises(CannotServe, match="open in a server; stop it first"):
            restore(tmp_path / "b.tar.gz", tmp_path / "agents", overwrite=True)
    with pytest.raises(CannotServe, match="--overwrite replaces them"):
        restore(tmp_path / "b.tar.gz", tmp_path / "agents", overwrite=False)
    former = restore(tmp_path / "b.tar.gz", tmp_path / "agents", overwrite=True)
    assert former is not None
    assert (former / TABLE).is_file()
    with Embedded(EmbeddedSettings(tmp_path / "agents")) as again:
        found = again.table.get(server_key())
        assert found is not None
        assert found["body"] == "kept"


def server_key() -> Key:
    return Key("default#AGENT#agent-1", "AGENT")


def test_a_writer_between_any_two_steps_leaves_the_backup_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The body that the copied table names was deleted before it was copied: the backup takes a later moment."""
    filled = Filled(tmp_path / "agents")
    copied = sqlite_check.copy_online
    races = iter(range(3))

    def raced(path: Path, to: Path) -> None:
        filled.replace_large()  # after the first pass over the bodies
        copied(path, to)
        if next(races, None) is not None:
            filled.replace_large()  # before the second pass

    monkeypatch.setattr(folder_backups, "copy_online", raced)
    backup(filled.data, tmp_path / "b.tar.gz")
    restore(tmp_path / "b.tar.gz", tmp_path / "new", overwrite=False)
    assert large_of(tmp_path / "new") == b"8"


def test_a_folder_that_never_rests_and_one_with_a_lost_body_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    filled = Filled(tmp_path / "agents")
    filled.blobs.delete("records/t/A/1")
    with pytest.raises(CannotServe, match="change too fast, or are missing"):
        backup(filled.data, tmp_path / "b.tar.gz")
    assert [path.name for path in tmp_path.iterdir()] == ["agents"]


def lose_the_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as table:
        table.execute("DROP TABLE items")


def take_another_file(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as table:
        table.execute("CREATE TABLE other (x)")


def damage_a_page(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:8192] = b"\xff" * 4096
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [lose_the_table, take_another_file, damage_a_page])
def test_a_table_that_cannot_be_read_is_not_backed_up(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    filled = Filled(tmp_path / "agents")
    filled.table.close()
    damage(filled.data / "hibernaut.db")
    with pytest.raises(CannotServe, match="cannot be backed up: "):
        backup(filled.data, tmp_path / "b.tar.gz")
    assert [path.name for path in tmp_path.iterdir()] == ["agents"]


def test_threads_that_write_all_the_time_do_not_spoil_it(tmp_path: Path) -> None:
    filled, over = Filled(tmp_path / "agents"), threading.Event()

    def write() -> None:
        while not over.is_set():
            filled.table.write(Put({"pk": "t#A", "sk": "small", "body": "y"}))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        backup(filled.data, tmp_path / "b.tar.gz")
    finally:
        over.set()
        writer.join()
    restore(tmp_path / "b.tar.gz", tmp_path / "new", overwrite=False)
    assert large_of(tmp_path / "new") == b"1"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../evil", tarfile.REGTYPE),
        ("/etc/x", tarfile.REGTYPE),
        (TABLE, tarfile.SYMTYPE),
        ("blobs/a/../../x", tarfile.REGTYPE),
        ("owner", tarfile.REGTYPE),
    ],
)
def test_a_file_that_is_no_backup_is_refused_and_nothing_is_written_outside(tmp_path: Path, name: str, kind: bytes) -> None:
    with tarfile.open(tmp_path / "evil.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.linkname, member.size = kind, "/etc/passwd", 1 if kind == tarfile.REGTYPE else 0
        archive.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(CannotServe, match="is no backup"):
        restore(tmp_path / "evil.tar.gz", tmp_path / "new", overwrite=False)
    assert not (tmp_path / "new" / TABLE).exists()
    assert not (tmp_path / "evil").exists()
    (tmp_path / "other").write_text("no archive")
    with pytest.raises(CannotServe, match="is no backup"):
        restore(tmp_path / "other", tmp_path / "new", overwrite=False)


def test_the_commands_say_what_they_did_and_what_they_miss(tmp_path: Path) -> None:
    Filled(tmp_path / "agents")
    data = ("--data-dir", str(tmp_path / "agents"))
    assert "nothing to back up" in sorry(administered("backup", str(tmp_path / "x"), "--data-dir", str(tmp_path / "none")))
    done = administered("backup", str(tmp_path / "b.tar.gz"), *data)
    assert (done.returncode, done.stderr) == (0, "")
    assert "keep it as secret as the folder" in done.stdout
    assert "name a new file" in sorry(administered("backup", str(tmp_path / "b.tar.gz"), *data))
    told = json.loads(administered("backup", str(tmp_path / "c.tar.gz"), *data, "--json").stdout)
    assert told == {"file": str(tmp_path / "c.tar.gz"), "bytes": (tmp_path / "c.tar.gz").stat().st_size}
    done = administered("restore", str(tmp_path / "b.tar.gz"), *data, "--overwrite")
    assert (done.returncode, done.stderr) == (0, "")
    assert "is restored. The former folder is" in done.stdout
    told = json.loads(administered("restore", str(tmp_path / "b.tar.gz"), "--data-dir", str(tmp_path / "new"), "--json").stdout)
    assert told == {"data_dir": str(tmp_path / "new"), "former": None}
    for arguments, says in (
        (("restore",), "name the FILE"),
        (("restore", "--env", "prod"), "needs the --time"),
        (("restore", "--env", "prod", "--time", "soon"), "is not a time like"),
        (("restore", "--env", "prod", "--time", "now"), "needs the --table"),
        (("restore", "x", "--time", "now"), "--time is for --env"),
    ):
        done = administered(*arguments)
        assert (done.returncode, says in sorry(done)) == (2, True)
