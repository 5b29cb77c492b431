"""The tokens of tools that another process serves: signed, for one agent, and for the time of a call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hibernaut.adapters.cipher.key_file import KeyFileCipher
from hibernaut.adapters.clock import TimeOrderedIds
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.domain.api_keys import format_key
from hibernaut.schemas.access.api_key import CreateApiKey
from hibernaut.schemas.access.scope import Scope
from hibernaut.schemas.errors import Unauthenticated
from hibernaut.services.access.access import Access
from hibernaut.services.access.pepper import Pepper
from hibernaut.services.access.signed_tool_tokens import MARGIN, PREFIX, SignedToolTokens
from hibernaut.store.stores import Stores
from tests.support.blobs import MemoryBlobs
from tests.support.clocks import ManualClock

AGENT = "agent-00000000-0000-4000-8000-000000000000"
URL = "https://api.example.com"


class Deployment:
    """A table with a master key, and its processes."""

    def __init__(self, table: SqliteTable, folder: Path) -> None:
        self.clock = ManualClock()
        self.cipher = KeyFileCipher(folder / "secrets.key")
        self._stores = Stores(table, MemoryBlobs(self.clock), self.clock)

    def tokens(self, base_url: str = URL) -> SignedToolTokens:
        """Those of another process."""
        return SignedToolTokens(Pepper(self._stores, self.cipher), self.clock, base_url=base_url, seconds=60.0)

    def access(self) -> Access:
        made = Access(self._stores, self.cipher, self.clock, TimeOrderedIds(self.clock), required=True)
        made.authentication.tools = self.tokens()
        return made


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    table = SqliteTable(tmp_path / "table.db")
    made = Deployment(table, tmp_path)
    made.access().keys_of("acme").create(CreateApiKey(scope=Scope.ADMIN))
    yield made
    table.close()


def token(deployment: Deployment) -> str:
    opened = deployment.tokens().open("acme", AGENT, "key-1")
    assert opened is not None
    assert opened["base_url"] == URL
    return opened["token"]


def test_another_process_knows_whose_call_it_is(deployment: Deployment) -> None:
    presented, access = token(deployment), deployment.access().authentication
    with pytest.raises(Unauthenticated):
        access.authenticate(format_key(bytes(32)))
    assert access.remembered(presented) is None, "its key was not read yet, although that of API keys was"
    principal = access.authenticate(presented)
    assert (principal.tenant, principal.scope, principal.key_id) == ("acme", Scope.WRITE, "key-1")
    assert (principal.agent_ids, principal.of_tool) == (frozenset({AGENT}), True)
    assert access.remembered(presented) == principal


def test_a_token_ends_with_the_time_of_its_call(deployment: Deployment) -> None:
    presented, access = token(deployment), deployment.access().authentication
    access.authenticate(presented)
    deployment.clock.sleep(60 + MARGIN)
    with pytest.raises(Unauthenticated):
        access.authenticate(presented)


@pytest.mark.parametrize("place", [len(PREFIX), len(PREFIX) + 10, -1])
def test_a_changed_token_is_none(deployment: Deployment, place: int) -> None:
    presented, access = token(deployment), deployment.access().authentication
    changed = list(presented)
    changed[place] = "A" if changed[place] != "A" else "B"
    with pytest.raises(Unauthenticated):
        access.authenticate("".join(changed))


@pytest.mark.parametrize(
    "text", [PREFIX, f"{PREFIX}.", f"{PREFIX}e30=.{'0' * 64}", f"{PREFIX}\xe4.0", PREFIX + "a" * 5_000, "hib_x"]
)
def test_what_nobody_signed_is_none(deployment: Deployment, text: str) -> None:
    with pytest.raises(Unauthenticated):
        deployment.access().authentication.authenticate(text)


def test_there_is_no_token_without_an_address_or_without_keys(deployment: Deployment, tmp_path: Path) -> None:
    assert deployment.tokens("").open("acme", AGENT, None) is None
    table = SqliteTable(tmp_path / "other.db")
    assert Deployment(table, tmp_path).tokens().open("acme", AGENT, None) is None
    table.close()


def test_a_tool_does_not_start_where_the_key_cannot_be_read(deployment: Deployment, tmp_path: Path) -> None:
    (tmp_path / "secrets.key").unlink()
    deployment.cipher = KeyFileCipher(tmp_path / "secrets.key")
    with pytest.raises(OSError, match="cannot be read"):
        deployment.tokens().open("acme", AGENT, None)
