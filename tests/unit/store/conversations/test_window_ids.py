"""The ids of a window are those of its messages, however they are found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hibernaut.ports.storage.table import Key
from hibernaut.schemas.agents.agent import StoredAgent, UpdateAgent
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.messages.message import Message, Role
from hibernaut.store.conversations.window_ids import WindowIds, id_cache
from tests.support.house import TENANT, House, house_in
from tests.support.tables import CountingTable, RevealsSlowly


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with house_in(tmp_path) as opened:
        yield opened


def head_of(house: House, agent: StoredAgent) -> Head:
    head = house.stores.conversations.head(agent.id)
    assert head is not None
    return head


def append(house: House, agent: StoredAgent, roles: Sequence[tuple[Role, str | None]]) -> None:
    """Rows behind the log; each is a role and an otid."""
    head, rows = head_of(house, agent), []
    last = head.last_message or ""
    for role, otid in roles:
        last = f"{last[:-2]}{int(last[-2:], 16) + 1:02x}"
        rows.append(
            Message(
                id=last, role=role, otid=otid, content=[TextContent(text="x")], agent_id=agent.id, created_at=agent.created_at
            )
        )
    newest = [row.id for row in rows]
    changes = {"version": head.version + 1, "last_message": last, "newest": newest, "messages": head.messages + len(rows)}
    after = head.model_copy(update=changes)
    stores = house.stores
    puts = [stores.conversations.put_message(agent.id, row) for row in rows]
    stores.writer.write(stores.conversations.change_head(head, after, "t"), *puts, token="t")


def head_then_newest(found: Sequence[Key]) -> list[Key]:
    """The order in which a transaction misleads its readers most."""
    return sorted(found, key=lambda key: (key.sk == "HEAD", key.sk), reverse=True)


def agree(house: House, agent: StoredAgent) -> list[str]:
    loaded = house.stores.conversations.load(agent.id)
    assert loaded is not None
    expected = [row.id for row in loaded.messages]
    fresh = WindowIds(house.stores.conversations, id_cache().of(TENANT))
    assert fresh.of([loaded.head]) == house.stores.window_ids.of([loaded.head]) == {agent.id: expected}
    return expected


def test_prompts_and_summaries_are_left_out_and_a_system_row_that_was_said_is_not(house: House) -> None:
    agent = house.agent(agent_type="memgpt_v2_agent")
    assert len(agree(house, agent)) == 4
    append(house, agent, [("user", "o1"), ("system", "o2"), ("system", None), ("summary", None), ("assistant", None)])
    assert len(agree(house, agent)) == 7


def test_a_window_that_is_set_or_reset_is_found_anew(house: House) -> None:
    agent = house.agent(agent_type="memgpt_v2_agent")
    ids = agree(house, agent)
    house.services.agents.updates.update(agent.id, UpdateAgent(message_ids=[ids[0], ids[2]]))
    assert agree(house, agent) == [ids[0], ids[2]]
    append(house, agent, [("user", "o1")])
    assert len(agree(house, agent)) == 3
    house.services.agents.windows.reset(agent.id)
    assert len(agree(house, agent)) == 1


def test_what_was_said_after_the_head_was_read_is_left_for_the_next_look(house: House) -> None:
    agent = house.agent(agent_type="memgpt_v2_agent")
    old = head_of(house, agent)
    append(house, agent, [("user", "o1")])
    fresh = WindowIds(house.stores.conversations, id_cache().of(TENANT))
    assert len(fresh.of([old])[agent.id]) == 4
    assert len(fresh.of([head_of(house, agent)])[agent.id]) == 5
    assert len(fresh.of([old])[agent.id]) == 4


def test_rows_that_come_into_sight_one_by_one_are_not_missed_for_ever(tmp_path: Path) -> None:
    looks: list[list[str]] = []

    def look() -> None:
        head = looking and house.stores.conversations.head(agent.id)
        if head:
            looks.append(ids.of([head])[agent.id])

    looking = False
    with house_in(tmp_path, lambda table: RevealsSlowly(table, order=head_then_newest, meanwhile=look)) as house:
        agent = house.agent()
        ids, looking = WindowIds(house.stores.conversations, id_cache().of(TENANT)), True
        append(house, agent, [("user", "o1"), ("user", "o2"), ("user", "o3")])
        looking = False
        assert len(ids.of([head_of(house, agent)])[agent.id]) == 4
    assert min(len(one) for one in looks) < 4


def test_a_warm_worker_reads_nothing_twice(tmp_path: Path) -> None:
    calls: list[str] = []
    with house_in(tmp_path, lambda table: CountingTable(table, lambda _, kind: calls.append(kind))) as house:
        agent = house.agent()
        head = head_of(house, agent)
        first = house.stores.window_ids.of([head])[agent.id]
        calls.clear()
        assert house.stores.window_ids.of([head])[agent.id] is first
        assert calls == []


def test_nothing_is_kept_of_a_conversation_that_is_gone(house: House) -> None:
    agent = house.agent()
    agree(house, agent)
    head = head_of(house, agent)
    house.stores.window_ids.of([head])
    assert house.stores.window_ids._cache.get(agent.id) is not None
    house.stores.conversations.forget(agent.id)
    assert house.stores.window_ids._cache.get(agent.id) is None
