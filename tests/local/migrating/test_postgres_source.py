"""A migration from the Postgres of a Letta server: a real one, with V1's tables."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from httpx2 import Client
from pg8000.exceptions import DatabaseError

from hibernaut.local.migrating.sources.postgres import Postgres
from hibernaut.local.migrating.sources.postgres_source import PostgresSource
from hibernaut.local.profiles import CannotServe
from hibernaut.schemas.mcp.server import MASK
from tests.support.migrations import check_target, counts, moved, target_at
from tests.support.postgres import execute, program, running_postgres
from tests.support.v1_data import NOBODY, Names, tables
from tests.support.v1_schema import TABLES, inserts, statements


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    if program("initdb") is None or program("postgres") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("CI needs Postgres: apt-get install postgresql")
        pytest.skip("there is no Postgres here (Debian's package postgresql)")
    with running_postgres() as url:
        execute(url, *statements(), *inserts(tables(61)))
        yield url


def test_everything_is_moved_and_compared(database: str, new_server: Client, tmp_path: Path) -> None:
    done = moved(PostgresSource.at(database, ""), target_at(str(new_server.base_url)), tmp_path / "state")
    assert not done.failed, done.differences
    check_target(new_server, Names(61), envelope=True)
    assert done.report.counts["passages"] == (4, 4)
    assert done.report.counts["messages"] == (31, 31)
    assert done.why("left_out") >= {
        "The source does not show these secrets of the MCP server; set them again: auth_token.",
        "The value of the secret SEALED is encrypted with a key of the old server; set it again.",
        "1 messages of failed steps, which V1 keeps for debugging, are no part of its log.",
        "The source gives no text of the file, so there is nothing to move.",
    }
    (server,) = [one for one in new_server.get("/v1/mcp-servers/").json() if one["server_name"] == "weather61"]
    assert (server["server_url"], server["custom_headers"], server["auth_token"]) == (NOBODY, {"X-Team": MASK}, None)
    before = counts(new_server)
    again = moved(PostgresSource.at(database, ""), target_at(str(new_server.base_url)), tmp_path / "other state")
    assert not again.failed, again.differences
    assert (again.report.counts, counts(new_server)) == (done.report.counts, before)


def test_a_session_cannot_write(database: str) -> None:
    reader = Postgres(database)
    assert reader.count("agents") == 3
    for sql in ("DELETE FROM agents_tags", "COMMIT; DELETE FROM agents_tags"):
        with pytest.raises(CannotServe, match="read-only transaction"):
            reader._run(sql)
        reader.close()
        reader = Postgres(database)
    reader.close()


def test_a_database_of_an_early_release_lacks_columns_and_tables(database: str) -> None:
    dropped = ("groups_blocks", "mcp_server", "identities_blocks")
    columns = (
        "messages.conversation_id",
        "messages.approvals",
        "agents.hidden",
        "agents.compaction_settings",
        "archives.embedding_config",
    )
    changes = [f"ALTER TABLE {table} DROP COLUMN {column}" for table, _, column in (one.partition(".") for one in columns)]
    execute(database, "CREATE SCHEMA early", *(f"CREATE TABLE early.{name} AS TABLE {name}" for name in TABLES))
    execute(
        database,
        "SET search_path TO early",
        *changes,
        *(f"DROP TABLE {name}" for name in dropped),
        "ALTER ROLE letta SET search_path TO early",
    )
    try:
        source = PostgresSource.at(database, "")
        agents = {one.name: one for one in source.agents()}
        assert len(source.log(agents["Ada"]).messages) == 31  # without that column, conversations are one
        assert [list(one.block_ids) for one in source.identities()] == [[]]
        assert [one["shared_block_ids"] for one in source.groups()] == [[]]
        assert len(list(source.tools())) == 2
        source.close()
    finally:
        execute(database, "ALTER ROLE letta RESET search_path")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("postgres?", "nowhere?"), "nowhere"),
        (("%20of%20the%20tests", ""), "password authentication failed"),
        (("127.0.0.1:", "127.0.0.1:1"), "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"),
        (("127.0.0.1", "127.0.0.2"), "cannot be read"),
    ],
)
def test_a_database_that_cannot_be_opened_is_told_without_its_password(change: tuple[str, str], told: str, database: str) -> None:
    with pytest.raises(CannotServe, match=told) as error:
        PostgresSource.at(f"{database}?".replace(*change), "")
    assert "secret" not in str(error.value)


def test_a_database_of_several_organizations_needs_a_name(database: str) -> None:
    execute(database, "UPDATE agents SET organization_id = 'org-two' WHERE name = 'Cy'")
    try:
        with pytest.raises(CannotServe, match=r"several organizations.*org-00000000.*org-two"):
            PostgresSource.at(database, "")
        with pytest.raises(CannotServe, match="no agents of the organization org-three"):
            PostgresSource.at(database, "org-three")
        source = PostgresSource.at(database, "org-two")
        assert [one.name for one in source.agents()] == ["Cy"]
        source.close()
    finally:
        execute(database, "UPDATE agents SET organization_id = 'org-00000000-0000-4000-8000-000000000000'")


def test_a_database_without_agents_is_none_of_a_letta_server(database: str) -> None:
    execute(database, "CREATE SCHEMA empty_one", "ALTER ROLE letta SET search_path TO empty_one")
    try:
        with pytest.raises(CannotServe, match="is it the database of a Letta server"):
            PostgresSource.at(database, "")
    finally:
        execute(database, "ALTER ROLE letta RESET search_path")


def test_postgres_itself_refuses_what_a_reader_never_sends(database: str) -> None:
    """The tests write with a session of their own."""
    with pytest.raises(DatabaseError):
        execute(database, "SET TRANSACTION READ ONLY", "DELETE FROM agents_tags")
