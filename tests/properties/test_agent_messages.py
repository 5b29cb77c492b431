"""The messages of an agent are those of all its conversations, page by page in either direction, whatever an index still
lacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.ports.storage.table import Change, Index, Item, Key, Put, Table, Update
from hibernaut.schemas.agents.conversation_record import CreateConversation
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.run import RunOptions, StoredRun
from hibernaut.services.logs.messages import MessageQuery
from hibernaut.store.agents.last_runs import ALL, PLACED
from hibernaut.store.conversations import agent_logs
from hibernaut.store.runs.runs import RunState
from hibernaut.store.runs.transactions import grown
from hibernaut.store.table import keys
from tests.support.house import TENANT, House, house_in
from tests.support.tables import PassesOn

PLACE = st.integers(0, 4)
KINDS = ["create", "create", "say", "say", "say", "fork", "delete", "delete half", "delete half", "age", "list"]
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), PLACE), min_size=1, max_size=16)


class LateIndex(PassesOn):
    """A table whose indexes lack some items, as long as `late` is set: those that were created while it was."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.late = False
        self._missing: set[Key] = set()

    def write(self, *changes: Change) -> None:
        super().write(*changes)
        if self.late:
            self._missing |= {change.key for change in changes if isinstance(change, Put)}

    def query(self, pk: str, *, index: Index | None = None, limit: int | None = None, **asked: Any) -> list[Item]:
        if index is None or not self.late:
            return super().query(pk, index=index, limit=limit, **asked)
        found = super().query(pk, index=index, **asked)
        return [item for item in found if Key(str(item["pk"]), str(item["sk"])) not in self._missing][:limit]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house_in(tmp_path_factory.mktemp("messages"), LateIndex) as one:
        yield one


def act(house: House, agent_id: str, kind: str, place: int, ids: list[str], gone: list[str]) -> None:
    conversations = house.services.conversations
    conversation = ids[place % len(ids)]
    if kind == "create":
        ids.append(conversations.openings.create(agent_id, CreateConversation()).id)
    elif kind == "fork":
        record = house.stores.conversation_records.get(conversation)
        ids.append(conversations.openings.fork(conversation, parent=record).id)
    elif kind == "say":
        say(house, agent_id, conversation)
    elif kind == "age":
        aged(house, agent_id, [*ids, *gone])
    elif kind == "list":
        house.services.messages.page(agent_id, MessageQuery(limit=1))
    elif conversation != agent_id:
        ids.remove(conversation)
        gone.append(conversation)
        if kind == "delete":
            conversations.delete(conversation)
        else:  # the worker dies before it erases the log
            conversations.ends._delete(conversation)


def say(house: House, agent_id: str, conversation: str) -> None:
    """A run of one message, and what is said later in it."""
    stores, records = house.stores, house.services.conversations._records
    head, now = stores.conversations.head(conversation), records.clock.now()
    assert head is not None
    other = None if conversation == agent_id else conversation
    row = Message(
        id=records.ids.new("message", after=head.last_message),
        role="user",
        content=[TextContent(text="Hello")],
        agent_id=agent_id,
        conversation_id=other,
        created_at=now,
    )
    run = StoredRun(
        id=records.ids.new("run"),
        agent_id=agent_id,
        conversation_id=other,
        status="completed",
        created_at=now,
        options=RunOptions(max_steps=1),
    )
    stores.writer.write(
        stores.conversations.change_head(head, grown(head, [row], owner=None), "t"),
        *stores.conversations.put_rows(head, [row]),
        *stores.runs.create(RunState(run), None),
    )


def aged(house: House, agent_id: str, conversations: Sequence[str]) -> None:
    """Make of the agent's rows what an older version has written."""
    for conversation in conversations:
        for item in house.table.query(keys.head(TENANT, conversation).pk, prefix="MSG#"):
            house.table.write(Update(Key(str(item["pk"]), str(item["sk"])), remove=("due_pk", "due_sk")))
    house.table.write(Update(keys.last_run(TENANT, agent_id), remove=(PLACED,)))


def pages(house: House, agent_id: str, limit: int, *, descending: bool) -> list[str]:
    """The ids of all pages, the newest page first if `descending`, each oldest first."""
    found: list[str] = []
    while True:
        cursor = (found[0] if descending else found[-1]) if found else None
        span = {"before": cursor} if descending else {"after": cursor}
        query = MessageQuery(limit=limit, descending=descending, **span)
        page = [row.id for row in house.services.messages._rows(agent_id, query)]
        if not page:
            return found
        if cursor is not None:
            assert house.services.messages._row(agent_id, None, cursor) is not None
        found = [*page, *found] if descending else [*found, *page]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, limit=st.integers(1, 4), descending=st.booleans(), last=st.lists(PLACE, max_size=4))
def test_the_pages_of_an_agent_are_the_union_of_its_logs(
    house: House, steps: list[tuple[str, int]], limit: int, descending: bool, last: list[int]
) -> None:
    """`last`: the conversations of the newest messages, which the index lacks."""
    agent_id, table = house.agent().id, house.table
    assert isinstance(table, LateIndex)
    ids, gone = [agent_id], list[str]()
    for kind, place in steps:
        act(house, agent_id, kind, place, ids, gone)
    table.late = True
    for place in last:
        say(house, agent_id, ids[place % len(ids)])
    expected = sorted({row.id for one in ids for row in house.stores.conversations.page(one)})
    for _ in range(2):  # the first list of older data places its rows
        assert pages(house, agent_id, limit, descending=descending) == expected
    table.late = False
    placed = house.stores.agents.last_runs.items_of([agent_id])[agent_id].get(PLACED)
    assert placed == ALL or len(ids) == 1


def test_a_row_that_is_deleted_is_no_cursor(house: House) -> None:
    agent_id = house.agent().id
    deleted, other = (house.services.conversations.openings.create(agent_id, CreateConversation()).id for _ in range(2))
    say(house, agent_id, deleted)
    say(house, agent_id, other)
    cursor = house.stores.conversations.page(deleted)[-1].id
    assert house.services.messages.page(agent_id, MessageQuery(after=cursor))
    house.services.conversations.delete(deleted)
    with pytest.raises(NotFound, match=cursor):
        house.services.messages.page(agent_id, MessageQuery(after=cursor))


def test_long_logs_of_older_data_are_placed_in_slices(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_logs, "PLACED_AT_ONCE", 2)
    monkeypatch.setattr(agent_logs, "MOST_PLACED", 6)
    agent_id = house.agent().id
    ids = [house.services.conversations.openings.create(agent_id, CreateConversation()).id for _ in range(3)]
    for conversation in ids * 5:
        say(house, agent_id, conversation)
    aged(house, agent_id, ids)
    reached: list[object] = []
    while not reached or reached[-1] != ALL:
        house.services.messages.page(agent_id, MessageQuery())
        reached.append(house.stores.agents.last_runs.items_of([agent_id])[agent_id][PLACED])
    assert len(reached) == 3, "18 rows, and 6 at once"
