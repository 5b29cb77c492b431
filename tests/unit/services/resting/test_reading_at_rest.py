"""Nobody notices that an agent rests: what reads, copies or deletes it needs no rule, and what a rest and a wake cost is
counted.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path

from hibernaut.schemas.memory.searches import AgentMessageSearch
from hibernaut.services.conversations.conversation_deletion import ConversationDeletion
from hibernaut.services.resting.pack_writer import Allowance
from hibernaut.services.resting.resting import Resting
from hibernaut.services.search.search_api import SearchApi
from hibernaut.store.table.lists.logs import IdRange
from tests.support.agent_documents import exported
from tests.support.conversations import begin_in, conversations_of, records_of
from tests.support.resting import LONG, packed_rows, packs_of, talked, told, world_over
from tests.support.scripted_model import in_turn, says
from tests.support.tables import CountingTable
from tests.support.world import World
from tests.support.write_meter import WriteMeter


def rest(world: World, agent_id: str) -> None:
    """Put an agent to rest that was just spoken to."""
    later = world.clock.now() + timedelta(hours=1)
    assert Resting(world.stores, world.clock).rest(agent_id, idle_since=later, allowance=Allowance(10_000))


def hits(world: World, agent_id: str) -> list[str]:
    found, _ = SearchApi(world.stores, world.chain.search).agents_messages(
        AgentMessageSearch(query="lighthouse", agent_id=agent_id)
    )
    return [hit.embedded_text for hit in found]


def spoken_in_two(folder: Path) -> tuple[World, str, str]:
    """An agent that was spoken to in its default conversation and in another one."""
    world, agent_id = talked(folder, in_turn(says(LONG)), "the lighthouse", "two")
    other = conversations_of(world).openings.fork(agent_id).id
    begin_in(world, agent_id, other, "the other lighthouse")
    world.workflow.drive()
    return world, agent_id, other


def test_lists_searches_and_exports_of_an_agent_at_rest_are_as_before(tmp_path: Path) -> None:
    world, agent_id, other = spoken_in_two(tmp_path)

    def shown(at: World) -> list[object]:
        return [
            [at.log(log) for log in (agent_id, other)],
            at.stores.agent_logs.page(agent_id, IdRange(), limit=4, descending=True),
            list(at.stores.messages.walk(IdRange(), first=3)),
            list(at.stores.steps.walk(IdRange(), first=3)),
            hits(at, agent_id),
            exported(at, agent_id, full_history=True),
        ]

    before = shown(World(world.data))
    rest(world, agent_id)
    assert all(packed_rows(world, log) for log in (agent_id, other))
    assert shown(World(world.data)) == before
    assert len(hits(world, agent_id)) == 2
    assert world.head(agent_id).resting, "a reader woke it"


def test_a_message_to_one_conversation_wakes_that_conversation_alone(tmp_path: Path) -> None:
    world, agent_id, other = spoken_in_two(tmp_path)
    rest(world, agent_id)
    begin_in(world, agent_id, other, "and?")
    world.workflow.drive()
    assert (world.head(agent_id).resting, world.head(other).resting) == (True, False)


def test_a_fork_of_a_resting_conversation_reads_it_after_its_deletion_and_takes_its_packs_along(tmp_path: Path) -> None:
    world, agent_id, source = spoken_in_two(tmp_path)
    rest(world, agent_id)
    conversations = conversations_of(world)
    fork = conversations.openings.fork(source).id
    before = world.log(fork)
    ends = ConversationDeletion(records_of(world), termination=world.chain.termination)

    def delete(conversation: str) -> None:
        record = world.stores.conversation_records.get(conversation)
        assert record is not None
        ends.delete(record)

    delete(source)
    assert World(world.data).log(fork) == before
    assert packs_of(world, source)
    delete(fork)
    assert packs_of(world, source) == []
    assert not any(f"/{source}/PACK/" in entry.key for entry in world.data.blobs.list("", limit=1_000))


def test_a_wake_reads_each_pack_once_and_writes_its_window_in_few_transactions(tmp_path: Path) -> None:
    world, agent_id = talked(tmp_path, in_turn(says(LONG)), *(f"message {number}" for number in range(60)))
    rest(world, agent_id)
    head, calls, blobs = world.head(agent_id), Counter[str](), world.data.blobs
    counting = world_over(world.data, lambda table: CountingTable(table, lambda _, kind: calls.update([kind])))
    read: list[str] = []
    blobs.get, get = lambda key: read.append(key) or get(key), blobs.get  # type: ignore[method-assign, func-returns-value]
    Resting(counting.stores, counting.clock).wake(head)
    assert packed_rows(world, agent_id) == 0
    assert len(read) == 1
    assert {kind: calls[f"before {kind}"] for kind in ("query", "write")} == {"query": 1, "write": 4}, (
        "120 rows, 50 at a time, and the head"
    )


def test_a_rest_writes_two_units_for_a_row_of_one_and_a_half_kilobytes_and_no_index(tmp_path: Path) -> None:
    world, agent_id = talked(tmp_path, in_turn(says("x" * 1_200)), "one", "two", "three", "four")
    meters: list[WriteMeter] = []

    def metered(table: object) -> WriteMeter:
        meters.append(WriteMeter(table))  # type: ignore[arg-type]
        return meters[-1]

    resting = world_over(world.data, metered)
    rest(resting, agent_id)
    log = meters[0].units[f"default#CONV#{agent_id}"]
    replies, questions, marks = 4 * 2, 4, 5
    assert log == replies + questions + marks, "of the head its rest, its progress and that of its runs; the pack, and its end"
    assert not any("#MSGS#" in pk for pk in meters[0].units), "an entry of an index was written"
    assert told(world, agent_id)[2].text() == "x" * 1_200
