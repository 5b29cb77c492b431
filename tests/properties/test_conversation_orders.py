"""Every list of conversations by a time is that of all rows, whatever happened to them, and for data of any age."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.domain.wire.listing import in_order
from hibernaut.ports.storage.table import Delete, Index, Put, Update
from hibernaut.schemas.agents.conversation_record import CreateConversation, UpdateConversation
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.runs.run import RunOptions, StoredRun
from hibernaut.services.conversations import conversation_lists
from hibernaut.services.conversations.conversation_lists import ConversationQuery
from hibernaut.store.conversations import place_keys
from hibernaut.store.conversations.conversation_records import message_sent, run_ended
from hibernaut.store.table import keys
from tests.support.house import TENANT, House, house_in

PLACE, DAYS = st.integers(0, 5), st.integers(0, 4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.sampled_from(["Tea", "Rain"]), st.none()),
        st.tuples(st.just("say"), PLACE, DAYS),
        st.tuples(st.just("run"), PLACE, DAYS),
        st.tuples(st.just("run, then say"), PLACE, DAYS),
        st.tuples(st.just("set"), PLACE, st.none() | DAYS),
        st.tuples(st.just("delete"), PLACE, st.none()),
        st.tuples(st.just("age"), st.none(), st.none()),
    ),
    min_size=1,
    max_size=14,
)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house_in(tmp_path_factory.mktemp("conversations")) as one:
        yield one


def day(number: object) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=int(str(number)))


def act(house: House, agents: list[str], step: tuple[object, ...], ids: dict[str, str]) -> None:
    """`ids`: the agents of the conversations, by conversation."""
    kind, one, two = step
    conversations, write = house.services.conversations, house.stores.writer.write
    if kind == "create":
        agent_id = agents[len(ids) % len(agents)]
        ids[conversations.openings.create(agent_id, CreateConversation(summary=str(one))).id] = agent_id
    elif kind == "age":
        for agent_id in agents:
            aged(house, agent_id)
    elif ids:
        one_id = list(ids)[int(str(one)) % len(ids)]
        run = StoredRun(
            id="run-1",
            agent_id=ids[one_id],
            conversation_id=one_id,
            created_at=day(0),
            status="running",
            options=RunOptions(max_steps=1),
        )
        if kind == "say":
            write(*message_sent(TENANT, run, day(two)))
        elif kind == "set":
            at = None if two is None else day(two)
            conversations.update(one_id, UpdateConversation(last_message_at=at))
        elif kind == "delete":
            del ids[one_id]
            conversations.delete(one_id)
        else:
            write(*run_ended(TENANT, run, day(two), followed=kind == "run, then say"))


def aged(house: House, agent_id: str) -> None:
    """Make of an agent and its conversations what an older version has written: no places, and the last run on the row."""
    house.table.write(Delete(place_keys.conversations_placed(TENANT)))
    for row in house.stores.conversation_records.listed(agent_id).all():
        (whole,) = house.stores.conversation_orders.joined([row])
        older = {name: value for name, value in whole.items() if not name.startswith("due_") and name != "apart" and value != ""}
        house.table.write(Put(older))
        own = keys.conversation_row(TENANT, agent_id, str(row["sk"])[5:])
        house.table.write(Delete(keys.conversation_last_run(own)), Delete(place_keys.conversation_last_message(own)))
    house.table.write(Update(keys.last_run(TENANT, agent_id), remove=("ordered",)))


def listed(house: House, query: ConversationQuery) -> list[str]:
    return [one.id for one in house.services.conversations.list(query)]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=STEPS,
    order=st.sampled_from(["last_message_at", "last_run_completion"]),
    descending=st.booleans(),
    limit=st.integers(1, 3),
    search=st.none() | st.just("tea"),
    every_agent=st.booleans(),
)
def test_the_pages_by_a_time_are_those_of_all_rows(
    house: House, steps: list[tuple[object, ...]], order: str, descending: bool, limit: int, search: str | None, every_agent: bool
) -> None:
    for row in house.stores.agents.rows():
        house.services.agents.delete(str(row["sk"]))
    agents, ids = [house.agent().id for _ in range(2 if every_agent else 1)], dict[str, str]()
    for step in steps:
        act(house, agents, step, ids)
    agent_id, records = agents[0], house.stores.conversation_records
    query = ConversationQuery(
        None if every_agent else agent_id,
        limit,
        None,
        search,
        order_by=order,
        descending=descending,  # type: ignore[arg-type]
    )
    rows = house.stores.conversation_orders.joined([row for one in agents for row in records.listed(one).all()])
    expected = [
        str(row["sk"])[5:]
        for row in in_order(
            rows, id_of=lambda row: str(row["sk"]), place=lambda row: str(row.get(order, "")), descending=descending
        )
        if query.admits(row)
    ]
    for _ in range(2):  # the first list of older data places it, and the second finds nothing left to place
        found: list[str] = []
        while page := listed(house, replace(query, after=found[-1] if found else None)):
            found += page
        assert found == expected
    assert house.stores.conversation_orders.are_complete(agent_id) is (
        not every_agent or not any("age" in step for step in steps)
    )
    assert not every_agent or house.stores.conversation_orders.placed_to() is None
    if ids:  # a deleted conversation is no cursor
        house.services.conversations.delete(gone := next(iter(ids)))
        with pytest.raises(NotFound):
            listed(house, replace(query, after=gone))
    for one in agents:
        house.services.agents.delete(one)
    for noun, index in (
        ("CONVSBYMSG", Index.LISTS),
        ("CONVSUNSAID", Index.LISTS),
        ("CONVSBYRUN", Index.DUE),
        ("CONVSUNRUN", Index.DUE),
    ):
        assert [
            house.table.query(place, index=index)
            for place in keys.list_partitions(TENANT, noun)
            if house.table.query(place, index=index)
        ] == []
    for noun, index in (("CONVSMESSAGED", Index.DUE), ("CONVSRAN", Index.LISTS)):
        for at in ("some", ""):
            place, _ = keys.conversation_place(TENANT, noun, agent_id, "", at)
            assert house.table.query(place, index=index) == []


def test_many_conversations_of_older_data_are_placed_in_slices(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation_lists, "PLACED_AT_ONCE", 2)
    monkeypatch.setattr(conversation_lists, "PLACED", 3)
    monkeypatch.setattr(conversation_lists, "SEEN", 5)
    for row in house.stores.agents.rows():
        house.services.agents.delete(str(row["sk"]))
    agent_id, ids = house.agent().id, dict[str, str]()
    for number in range(11):
        act(house, [agent_id], ("create", "Tea", None), ids)
        act(house, [agent_id], ("say", number, number % 3), ids)
    aged(house, agent_id)
    expected = sorted(ids, key=lambda one: (list(ids).index(one) % 3, one), reverse=True)
    reached: list[str | None] = []
    while not reached or reached[-1] is not None:
        assert listed(house, ConversationQuery(order_by="last_message_at")) == expected
        reached.append(house.stores.conversation_orders.placed_to())
    assert len(reached) == 4, "11 conversations, and 3 at once"
    assert listed(house, ConversationQuery(order_by="last_message_at")) == expected
