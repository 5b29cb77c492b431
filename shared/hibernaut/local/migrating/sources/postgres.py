"""A Postgres database that is only read: every transaction of its session is read-only, and sees the same moment. Knows no table.

The driver is pg8000 (extra `migrate`): it is written in Python alone, so it needs no library of Postgres. It is imported here
only.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from hibernaut.local.migrating.api import CONTINUE
from hibernaut.local.profiles import CannotServe
from hibernaut.schemas.base import JsonObject

PATIENCE = 300.0
"""Seconds that a query may take."""
MISSING = "the driver of Postgres is missing: pip install 'hibernaut[migrate]'"
_SSL = {"disable": False, "allow": None, "prefer": None, "require": True}
_TIMEOUTS = {"statement_timeout": f"{PATIENCE:.0f}s", "default_transaction_read_only": "on"}


class Postgres:
    """One read-only session, opened at its first query. Each method raises CannotServe."""

    def __init__(self, url: str) -> None:
        """Raises: CannotServe (the URL)."""
        self._url = urlsplit(url)
        try:
            self._port = self._url.port or 5432
        except ValueError:
            self._port = 0
        if not self._url.hostname or not self._url.username or not self._url.path.strip("/") or not self._port:
            raise CannotServe("the database is named as postgresql://USER:PASSWORD@HOST:PORT/DATABASE", 2)
        self._session: Any = None
        self._columns: dict[str, list[str]] = {}

    @property
    def label(self) -> str:
        """The database without user and password."""
        return f"postgresql://{self._url.hostname}:{self._port}{self._url.path}"

    def rows(
        self, table: str, where: str = "", order: str = "", *, but: tuple[str, ...] = (), **values: object
    ) -> list[JsonObject]:
        """The rows of a table by column; none if there is no such table. Deleted rows are omitted. `where` and `order`: SQL with
        `:name` for each of `values`; `but`: columns that are not read.
        """
        names = [name for name in self.columns(table) if name not in but]
        if not names:
            return []
        terms = [one for one in (where, "NOT is_deleted" if "is_deleted" in self.columns(table) else "") if one]
        columns = ", ".join(f'"{name}"' for name in names)
        sql = f'SELECT {columns} FROM "{table}"'  # noqa: S608 - names of columns that the database gave
        sql += f" WHERE {' AND '.join(terms)}" if terms else ""
        sql += f" ORDER BY {order}" if order else ""
        return [dict(zip(names, row, strict=True)) for row in self._run(sql, **values)]

    def pages(self, table: str, where: str, *, size: int, but: tuple[str, ...] = (), **values: object) -> Iterator[JsonObject]:
        """The rows of a large table in the order of their ids, read page by page."""
        after = ""
        while page := self.rows(table, f"{where} AND id > :after", f"id LIMIT {size}", but=but, after=after, **values):
            yield from page
            after = str(page[-1]["id"])

    def columns(self, table: str) -> list[str]:
        """The columns of a table; none if there is no such table."""
        if table not in self._columns:
            sql = "SELECT column_name FROM information_schema.columns WHERE table_name = :name AND table_schema = ANY(current_schemas(false)) ORDER BY ordinal_position"
            self._columns[table] = [str(row[0]) for row in self._run(sql, name=table)]
        return self._columns[table]

    def count(self, table: str, where: str = "", **values: object) -> int:
        """The number of rows that are not deleted."""
        terms = [one for one in (where, "NOT is_deleted" if "is_deleted" in self.columns(table) else "") if one]
        sql = f'SELECT count(*) FROM "{table}"' + (f" WHERE {' AND '.join(terms)}" if terms else "")  # noqa: S608 - a table of V1
        return int(self._run(sql, **values)[0][0])

    def _run(self, sql: str, **values: object) -> list[list[Any]]:
        try:
            from pg8000.exceptions import Error
        except ImportError:
            raise CannotServe(MISSING) from None
        try:
            if self._session is None:
                self._session = self._opened(self._url)
            return list(self._session.run(sql, **values) or ())
        except (Error, OSError) as error:
            raise CannotServe(f"the database {self.label} cannot be read: {_reason(error)}. {CONTINUE}") from None

    def _opened(self, url: SplitResult) -> Any:
        from pg8000.native import Connection

        mode = parse_qs(url.query).get("sslmode", ["prefer"])[0]
        session = Connection(
            unquote(url.username or ""),
            host=url.hostname,
            port=self._port,
            database=unquote(url.path.strip("/")),
            password=unquote(url.password) if url.password else None,
            ssl_context=_SSL[mode] if mode in _SSL else ssl.create_default_context(),
            timeout=PATIENCE,
            application_name="hibernaut migrate",
            startup_params=dict(_TIMEOUTS),
        )
        session.run("START TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return session

    def close(self) -> None:
        if self._session is not None:
            from contextlib import suppress

            from pg8000.exceptions import Error

            with suppress(Error, OSError):
                self._session.close()


def _reason(error: Exception) -> str:
    """What the database says. Its errors are objects with the message under M."""
    first = error.args[0] if error.args else ""
    return str(first.get("M") or first) if isinstance(first, dict) else str(error) or type(error).__name__
