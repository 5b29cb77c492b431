"""No body is dropped by the bucket's lifecycle before its item expires."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hibernaut import store
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.ports.storage.table import Change, Put
from hibernaut.schemas.agents.template import SaveTemplate, StoredMigration
from hibernaut.schemas.mcp.oauth import StoredOAuthFlow
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.runs.events import DoneEvent
from hibernaut.schemas.runs.run import RunOptions, StoredRun
from hibernaut.schemas.runs.turn import Claim, Journal, Stamp
from hibernaut.schemas.tools.call_record import RecordedCall, StoredCalls
from hibernaut.services.mcp import oauth_flows
from hibernaut.services.templates import template_migration
from hibernaut.store.runs.runs import RunState
from hibernaut.store.stores import Stores
from hibernaut.store.table.blob_keys import EPHEMERAL, EPHEMERAL_DAYS, RECORDS
from tests.support.blobs import MemoryBlobs
from tests.support.clocks import ManualClock

NOW = datetime(2026, 11, 1, tzinfo=UTC)
BIG = "x" * 100_000
EXPIRING = {"oauth", "runs", "templates"}
"""The modules whose items with a time to live have bodies that expire. `expiring` has one item of each function there."""


def expiring(all_stores: Stores) -> dict[str, Change]:
    """A change of each kind that writes a large body and a time to live."""
    stores = all_stores.of("default")
    run = StoredRun(id="run-1", agent_id="agent-1", created_at=NOW, options=RunOptions(max_steps=5))
    claim = Claim(call_id="call-1", name=BIG, holder="h", deadline=NOW)
    stamp = Stamp(step_id="step-1", assistant_id="message-1", tool_id="message-2", heartbeat_id="message-3", at=NOW)
    call = RecordedCall(tool=BIG, outcome="allowed", arguments_digest="d")
    migration = StoredMigration(template_id="template-1", number=1, how=SaveTemplate(), user=BIG, began_at=NOW)
    parties = ("server_url", "resource", "issuer", "token_endpoint", "client_id", "client_method", "callback")
    flow = {"id": "flow-1", "sealed": BIG, "expires_at": NOW + oauth_flows.LIFE, **dict.fromkeys(parties, "x")}
    block = StoredBlock(id="block-1", label="l", value=BIG, limit=200_000, created_at=NOW, updated_at=NOW)
    ttl = int((NOW + template_migration.RETENTION).timestamp())
    return {
        "journal": stores.runs.put_journal(run.id, Journal(mark="m", stamp=stamp, text=BIG, calls=[]), NOW),
        "claim": stores.runs.put_claim(RunState(run), claim, "t", NOW),
        "events": stores.runs.put_events(run.id, 1, [DoneEvent()] * 9_000, NOW),
        "calls": stores.call_records.put(StoredCalls(id="calls-1", at=NOW, calls=[call])),
        "migration": stores.templates.put_migration(None, migration, None, "t", ttl=ttl),
        "authorization": all_stores.of("default").oauth.begin(StoredOAuthFlow.model_validate(flow), "t"),
        "version": stores.blocks.change(block, block.model_copy(update={"value": "y"}), "t")[1],
    }


@pytest.fixture
def changes(tmp_path: Path) -> Iterator[dict[str, Change]]:
    table = SqliteTable(tmp_path / "table.db")
    yield expiring(Stores(table, MemoryBlobs(), ManualClock(NOW)))
    table.close()


def test_a_blob_that_expires_outlives_its_item_by_a_day(changes: dict[str, Change]) -> None:
    last = (NOW + timedelta(days=EPHEMERAL_DAYS - 1)).timestamp()
    places = {}
    for noun, change in changes.items():
        assert isinstance(change, Put)
        blob, ttl = str(change.item["blob"]), int(change.item["ttl"])
        assert blob.startswith(RECORDS) or ttl <= last, noun
        places[noun] = blob.partition("/")[0] + "/"
    lasting = {"calls": RECORDS, "version": RECORDS}
    assert places == dict.fromkeys(changes, EPHEMERAL) | lasting


def test_no_other_module_writes_bodies_that_expire() -> None:
    found = set()
    for path in Path(next(iter(store.__path__))).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("item", "text_item"):
                named = any(keyword.arg == "ttl" for keyword in node.keywords)
                inner = [part for part in ast.walk(node) if isinstance(part, ast.Constant) and part.value == "ttl"]
                if named or inner:
                    found.add(path.stem)
    assert found == EXPIRING
