"""What an emulated deployment keeps beyond its end: the items of its table, its objects, and the names and keys that make them
readable.

One SQLite file in the data folder follows each write before it is answered, so a killed process loses nothing that was answered.
Parameters come from the settings of each start; schedules and functions come from the template. An execution that was under way
at the end is continued by the sweep. DynamoDB Local is not used: it answers a moment before it commits, so a kill may lose an
answered write.

Knows: the internals of moto. Must not know: the tables of the product.
"""

from __future__ import annotations

import base64
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

from hibernaut.local.aws_offline.moto.dynamodb import listen_to_writes
from hibernaut.local.aws_offline.patching import put
from hibernaut.local.aws_offline.place import ACCOUNT, REGION
from hibernaut.local.ready import OFFLINE_FILE

_TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS items (place TEXT PRIMARY KEY, tbl TEXT, item TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS objects (bucket TEXT, name TEXT, body BLOB, PRIMARY KEY (bucket, name));
"""


class FolderInUse(Exception):
    """Another process keeps its state in the folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder} is in use by another process; stop it, or choose another folder with --data-dir")


class EmulatorState:
    """The state of one deployment in a folder. One process at a time may have it. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        """Raises: FolderInUse, OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._lock = threading.Lock()
        self._database = sqlite3.connect(folder / OFFLINE_FILE, check_same_thread=False, isolation_level=None, timeout=0)
        try:
            for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=NORMAL"):
                self._database.execute(f"PRAGMA {pragma}")
            self._database.executescript(f"BEGIN IMMEDIATE; {_TABLES} COMMIT;")
        except sqlite3.OperationalError as error:
            self._database.close()
            raise FolderInUse(folder) from error

    def close(self) -> None:
        self._database.close()

    def suffix(self) -> str:
        """What makes the names of this deployment its own, the same at each start."""
        return self._fact("suffix", lambda: token_hex(4))

    @contextmanager
    def same_keys(self) -> Iterator[None]:
        """Within the context, moto's keys get their earlier ids and material, in the order of their creation."""
        from moto.kms import models, utils

        ids, materials = iter(range(100)), iter(range(100))

        def key_id(multi_region: bool = False) -> str:
            return self._fact(f"key {next(ids)}", lambda: utils.generate_key_id(multi_region))

        def material() -> bytes:
            encoded = self._fact(f"material {next(materials)}", lambda: base64.b64encode(utils.generate_master_key()).decode())
            return base64.b64decode(encoded)

        put(models, "generate_key_id", key_id)
        put(models, "generate_master_key", material)
        try:
            yield
        finally:
            put(models, "generate_key_id", utils.generate_key_id)
            put(models, "generate_master_key", utils.generate_master_key)

    def restore(self) -> None:
        """Put the items and objects back. The table and the bucket must exist."""
        from moto.dynamodb.models import dynamodb_backends
        from moto.s3.models import s3_backends

        table = dynamodb_backends[ACCOUNT][REGION]
        for name, item in self._database.execute("SELECT tbl, item FROM items").fetchall():
            table.put_item(name, json.loads(item))
        objects = s3_backends[ACCOUNT]["aws"]
        for bucket, name, body in self._database.execute("SELECT bucket, name, body FROM objects").fetchall():
            objects.put_object(bucket, name, body, disable_notification=True)

    @contextmanager
    def following(self) -> Iterator[None]:
        """Within the context, the file follows each write of the table and of the buckets."""
        with ExitStack() as hooks:
            hooks.enter_context(listen_to_writes(self._wrote))
            hooks.enter_context(self._listen_to_objects())
            yield

    def _wrote(self, changes: list[tuple[str, list[Any], Any]]) -> None:
        rows = [(json.dumps([table, *key]), table, None if item is None else json.dumps(item)) for table, key, item in changes]
        with self._lock, _transaction(self._database):
            self._database.executemany("DELETE FROM items WHERE place = ?", [row[:1] for row in rows])
            self._database.executemany("INSERT INTO items VALUES (?, ?, ?)", [row for row in rows if row[2] is not None])

    @contextmanager
    def _listen_to_objects(self) -> Iterator[None]:
        from moto.s3.models import S3Backend

        put_object, delete_object = S3Backend.put_object, S3Backend.delete_object

        def stored(backend: Any, bucket_name: str, key_name: str, value: bytes, *args: Any, **named: Any) -> Any:
            key = put_object(backend, bucket_name, key_name, value, *args, **named)
            with self._lock:
                self._database.execute(
                    "INSERT OR REPLACE INTO objects VALUES (?, ?, ?)", (bucket_name, key_name, bytes(key.value))
                )
            return key

        def deleted(backend: Any, bucket_name: str, key_name: str, *args: Any, **named: Any) -> Any:
            with self._lock:
                self._database.execute("DELETE FROM objects WHERE bucket = ? AND name = ?", (bucket_name, key_name))
            return delete_object(backend, bucket_name, key_name, *args, **named)

        put(S3Backend, "put_object", stored)
        put(S3Backend, "delete_object", deleted)
        try:
            yield
        finally:
            put(S3Backend, "put_object", put_object)
            put(S3Backend, "delete_object", delete_object)

    def _fact(self, name: str, make: Callable[[], str]) -> str:
        with self._lock:
            self._database.execute("INSERT OR IGNORE INTO facts VALUES (?, ?)", (name, make()))
            row = self._database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
            return str(row[0])


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    database.execute("BEGIN")
    try:
        yield
    except BaseException:  # a cancelled or interrupted caller too must not leave the transaction open
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")
