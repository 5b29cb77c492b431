"""Finding, listing, counting and deleting agents."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hibernaut.domain.wire.listing import Page
from hibernaut.schemas.agents.agent import StoredAgent, UpdateAgent
from hibernaut.schemas.agents.identity import CreateIdentity
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.memory.block import CreateBlock
from hibernaut.schemas.runs.send import LettaRequest
from hibernaut.schemas.stop import StopReason
from hibernaut.services.agents.agent_states import LOADED, shown_relations
from hibernaut.services.agents.agents import AgentFilter
from hibernaut.services.sending.sending import SendRequest
from hibernaut.store.table import keys
from tests.support.house import TENANT, House, Overtaken, house_in
from tests.support.tables import CountingTable, Recorded

ALL, WHOLE = AgentFilter(), Page()


def names(house: House, wanted: AgentFilter = ALL, asked: Page = WHOLE, order_by: str = "created_at") -> list[str]:
    return [state.name for state in house.services.agents.list(wanted, asked, order_by, frozenset())]


def identity(house: House) -> str:
    return house.services.identities.create(CreateIdentity(identifier_key="ann", name="Ann", identity_type="user")).id


def ended(house: House, agent: StoredAgent, day: int, reason: StopReason) -> None:
    change = house.stores.agents.run_ended(agent.id, datetime(2026, 1, day, tzinfo=UTC), 7, reason)
    house.stores.writer.write(change)


def test_every_filter_admits_what_it_names(house: House) -> None:
    who = identity(house)
    house.agent(name="Ann Lee", tags=["a", "b"], project_id="p", identity_ids=[who], template_id="t", base_template_id="bt")
    bob = house.agent(name="Bob", tags=["b"])
    house.agent(name="Eve", hidden=True, tags=["a"])
    ended(house, bob, 1, StopReason.MAX_STEPS)
    for wanted, found in (
        (AgentFilter(), ["Ann Lee", "Bob"]),
        (AgentFilter(name="Bob"), ["Bob"]),
        (AgentFilter(query_text="aNN"), ["Ann Lee"]),
        (AgentFilter(tags=["a", "b"]), ["Ann Lee", "Bob"]),
        (AgentFilter(tags=["a", "b"], match_all_tags=True), ["Ann Lee"]),
        (AgentFilter(project_id="p"), ["Ann Lee"]),
        (AgentFilter(template_id="t"), ["Ann Lee"]),
        (AgentFilter(base_template_id="bt"), ["Ann Lee"]),
        (AgentFilter(identity_id=who), ["Ann Lee"]),
        (AgentFilter(identifier_keys=["ann"]), ["Ann Lee"]),
        (AgentFilter(identifier_keys=["ann", "bob"], tags=["b"]), ["Ann Lee"]),
        (AgentFilter(identifier_keys=["bob"]), []),
        (AgentFilter(last_stop_reason="max_steps"), ["Bob"]),
        (AgentFilter(created_by_id="user-1"), []),
    ):
        assert names(house, wanted) == found, wanted
    assert house.services.agents.count(AgentFilter(hidden=True)) == 3


def test_the_filters_follow_a_change(house: House) -> None:
    agent = house.agent(name="Ann", tags=["a"])
    house.services.agents.updates.update(agent.id, UpdateAgent(name="Bea", tags=["z"], project_id="p"))
    assert names(house, AgentFilter(name="Bea", tags=["z"], project_id="p")) == ["Bea"]
    assert names(house, AgentFilter(tags=["a"])) == []


def test_lists_are_ordered_as_asked_with_agents_that_never_ran_last(house: House) -> None:
    one, two, three = (house.agent(name=name) for name in ("one", "two", "three"))
    house.services.agents.updates.update(one.id, UpdateAgent(description="later"))
    ended(house, two, 1, StopReason.END_TURN)
    ended(house, three, 2, StopReason.END_TURN)
    assert names(house, asked=Page(descending=True)) == ["three", "two", "one"]
    assert names(house, asked=Page(descending=True), order_by="updated_at")[0] == "one"
    assert names(house, asked=Page(descending=True), order_by="last_run_completion") == ["three", "two", "one"]
    assert names(house, asked=Page(), order_by="last_run_completion") == ["two", "three", "one"]
    assert names(house, asked=Page(limit=1, after=two.id)) == ["three"]


def test_a_client_that_chooses_sees_no_relation_that_it_did_not_name(house: House) -> None:
    agent = house.agent(
        memory_blocks=[{"label": "human", "value": ""}], tags=["a"], secrets={"K": "v"}, identity_ids=[identity(house)]
    )
    bare = house.services.agents.retrieve(agent.id, shown_relations(True, None, None))
    assert (bare.blocks, bare.memory.blocks, bare.tools, bare.tags, bare.secrets, bare.identity_ids) == ([], [], [], [], [], [])
    some = house.services.agents.retrieve(agent.id, shown_relations(True, ["agent.tags", "agent.blocks"], None))
    assert (some.tags, len(some.blocks), len(some.memory.blocks), some.tools) == (["a"], 1, 1, [])
    full = house.services.agents.retrieve(agent.id)
    assert (len(full.tools), full.tool_exec_environment_variables[0].value) == (3, None)
    asked = house.services.agents.retrieve(agent.id, shown_relations(True, ["agent.secrets"], None, reads_secrets=True))
    assert [(one.key, one.value) for one in asked.secrets] == [("K", "v")]
    stranger = shown_relations(True, ["agent.secrets"], None)
    assert [one.value for one in house.services.agents.retrieve(agent.id, stranger).secrets] == [None]
    assert shown_relations(False, None, None) == LOADED
    assert shown_relations(True, ["agent.tools"], ["memory", "tags"]) == {"blocks", "tags"}


def test_a_page_of_agents_is_read_in_a_fixed_number_of_calls(tmp_path: Path) -> None:
    calls: list[str] = []
    with house_in(tmp_path, lambda table: CountingTable(table, lambda _, kind: calls.append(kind))) as house:
        for _ in range(5):
            house.agent(memory_blocks=[{"label": "human", "value": ""}])
        calls.clear()
        assert len(house.services.agents.list(AgentFilter(), Page(), "created_at", LOADED)) == 5
    assert len([kind for kind in calls if kind.startswith("before")]) <= 6


def test_tags_are_of_all_agents_and_their_own_cursors(house: House) -> None:
    house.agent(tags=["beta", "alpha"])
    house.agent(tags=["beta", "gamma"])
    tags = house.services.agents.tags
    assert tags(None, Page()) == ["alpha", "beta", "gamma"]
    assert tags(None, Page(after="alpha", limit=1)) == ["beta"]
    assert tags("MM", Page()) == ["gamma"]


def test_a_deleted_agent_leaves_its_blocks_and_nothing_else(house: House) -> None:
    block = house.services.blocks.create(CreateBlock(label="shared", value="x"))
    agent = house.agent(block_ids=[block.id], agent_type="memgpt_v2_agent", system="s" * 100_000)
    house.services.agents.delete(agent.id)
    table = house.table
    for pk in (keys.agent(TENANT, agent.id).pk, keys.head(TENANT, agent.id).pk, keys.agent_row(TENANT, "").pk):
        assert table.query(pk) == []
    assert house.stores.blocks.agents_of(block.id) == []
    assert house.services.blocks.retrieve(block.id).value == "x"
    with pytest.raises(NotFound):
        house.services.agents.delete(agent.id)


def test_of_two_deletions_at_once_one_succeeds(contested: House) -> None:
    agent = contested.agent()
    contested.table.by = lambda: contested.services.agents.delete(agent.id)
    with pytest.raises(NotFound):
        contested.services.agents.delete(agent.id)


def test_an_agent_whose_conversation_moves_while_it_is_deleted_goes_when_that_has_settled(contested: House) -> None:
    agent = contested.agent()
    contested.table.by = lambda: contested.services.agents.windows.reset(agent.id)
    contested.services.agents.delete(agent.id)
    assert contested.table.query(keys.head(TENANT, agent.id).pk) == []


def accept(house: House, agent: StoredAgent) -> str:
    """A run that nobody drives."""
    body = LettaRequest(input="hi")
    return house.services.sending.accept(SendRequest(agent.id, body, "send_message", digest="")).run_id


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[House]:
    """A house whose table can be overtaken, and records what is written."""
    with house_in(tmp_path, lambda table: Overtaken(Recorded(table))) as opened:
        yield opened


def statuses(house: House, run_id: str) -> list[object]:
    """Every status that the run has had."""
    versions = house.table._table.versions  # type: ignore[attr-defined]
    return [item["status"] for key, item in versions if key == keys.run(TENANT, run_id) and item]


def test_open_and_waiting_runs_are_ended_before_their_agent_goes(recorded: House) -> None:
    agent = recorded.agent()
    runs = [accept(recorded, agent) for _ in range(3)]
    recorded.services.agents.delete(agent.id)
    assert [statuses(recorded, run_id)[-1] for run_id in runs] == ["cancelled"] * 3
    assert all("running" not in statuses(recorded, run_id) for run_id in runs[1:])
    assert recorded.stores.runs.get_many(runs) == {}


def test_a_message_that_arrives_while_its_agent_is_deleted_is_not_left_open(recorded: House) -> None:
    agent, runs = recorded.agent(), []
    recorded.table.by = lambda: runs.append(accept(recorded, agent))
    recorded.services.agents.delete(agent.id)
    assert statuses(recorded, runs[0])[-1] == "cancelled"


def test_a_run_that_ends_after_its_agent_is_gone_brings_no_agent_back(house: House) -> None:
    agent = house.agent()
    house.services.agents.delete(agent.id)
    ended(house, agent, 1, StopReason.CANCELLED)
    assert (house.services.agents.count(AgentFilter(hidden=True)), names(house)) == (0, [])
    assert house.table.get(keys.last_run(TENANT, agent.id)) is not None


def test_a_deleted_agents_secrets_stand_nowhere_in_the_database(tmp_path: Path) -> None:
    with house_in(tmp_path) as house:
        agent = house.agent(secrets={"KEY": "planted-secret"})
        house.services.agents.updates.update(agent.id, UpdateAgent(secrets={"KEY": "planted-later"}))
        house.services.agents.delete(agent.id)
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"planted" not in file.read_bytes(), file.name
