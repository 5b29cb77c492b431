"""Every list, count and page of tags of agents is that of all rows, whatever happened to the agents, and for data of any age."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hibernaut.domain.wire.listing import Page, page
from hibernaut.ports.storage.table import Change, Delete, Index, Item, Key, OutcomeUnknown, Put
from hibernaut.schemas.agents.agent import UpdateAgent
from hibernaut.schemas.agents.identity import CreateIdentity
from hibernaut.schemas.stop import StopReason
from hibernaut.services.agents.agents import AgentFilter
from hibernaut.store.table import keys
from tests.support.house import TENANT, House, house_in
from tests.support.tables import PassesOn

NAMES = st.sampled_from(["Ann", "Bob", "ann b", "\u00e9" * 60])
TAGS = st.lists(st.sampled_from(["a", "a b", "a#", "a!", "b", "", "\x01", "ü", "€" * 400, "₭" * 400]), max_size=4, unique=True)
CREATED = st.tuples(st.just("create"), NAMES, TAGS, st.booleans())
LATER = st.lists(
    st.one_of(
        CREATED,
        st.tuples(st.just("update"), st.integers(0, 9), NAMES, TAGS),
        st.tuples(st.just("run"), st.integers(0, 9), st.integers(0, 5), st.booleans()),
        st.tuples(st.just("said to have run"), st.integers(0, 9), st.integers(0, 5), st.booleans()),
        st.tuples(st.just("delete"), st.integers(0, 9), st.none(), st.none()),
        st.tuples(
            st.just("age"), st.integers(0, 9), st.sampled_from(["unmarked", "unmarked, then changed", "marked"]), st.none()
        ),
        st.tuples(st.just("crash"), st.integers(1, 3), st.booleans(), st.none()),
    ),
    max_size=12,
)
STEPS = st.builds(lambda first, later: [*first, *later], st.lists(CREATED, min_size=1, max_size=4), LATER)
FILTERS = st.just(AgentFilter(hidden=True)) | st.builds(
    AgentFilter,
    name=st.none() | NAMES,
    tags=TAGS,
    match_all_tags=st.booleans(),
    project_id=st.none() | st.sampled_from(["p", ""]),
    query_text=st.none() | st.sampled_from(["", "n"]),
    last_stop_reason=st.none() | st.just("end_turn"),
    hidden=st.booleans(),
)
ORDERS = st.sampled_from(["created_at", "updated_at", "last_run_completion"])
MANY = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Dies(PassesOn):
    """A table at whose write number `at` the process dies: before it, or after it."""

    at, after = 0, False

    def write(self, *changes: Change) -> None:
        self.at -= 1
        if self.at == 0 and not self.after:
            raise KeyboardInterrupt
        super().write(*changes)
        if self.at == 0:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house_in(tmp_path_factory.mktemp("agents"), Dies) as one:
        yield one


def act(house: House, step: tuple[object, ...], ids: list[str]) -> None:
    """One step of a history. A step that names no agent does nothing."""
    kind, one, two, three = step
    agents = house.services.agents
    if kind == "create":
        ids.append(house.agent(name=one, tags=two, hidden=three, project_id="p" if three else None).id)
        return
    if kind == "crash":
        assert isinstance(house.table, Dies)
        house.table.at, house.table.after = one, two  # type: ignore[assignment]
        return
    if not ids or house.stores.agents.get(agent_id := ids[int(str(one)) % len(ids)]) is None:
        return
    if kind == "update":
        agents.updates.update(agent_id, UpdateAgent(name=two, tags=three))  # type: ignore[arg-type]
    elif kind == "run":
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=int(str(two)))
        house.stores.writer.write(house.stores.agents.run_ended(agent_id, at, 1, StopReason.END_TURN))
    elif kind == "said to have run":
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=int(str(two)))
        told = {"last_run_completion": at} if three else {"last_stop_reason": "end_turn"}
        agents.updates.update(agent_id, UpdateAgent.model_validate(told))
    elif kind == "delete":
        agents.delete(agent_id)
    else:
        assert isinstance(two, str)
        aged(house, agent_id, two)


def aged(house: House, agent_id: str, how: str) -> None:
    """Make of the agent what an older version has written: its last run and the place in that order on its list row; or, before
    there were marks and orders, without both.
    """
    table = house.table
    record, row, ran = keys.agent(TENANT, agent_id), keys.agent_row(TENANT, agent_id), keys.last_run(TENANT, agent_id)
    item = dict(table.get(row) or {})
    table.write(Put(item | {name: value for name, value in (table.get(ran) or {}).items() if name not in ("pk", "sk")}))
    table.write(Delete(ran))
    # A round that was over before does not know of it: an older version ran beside this one. The next round does.
    table.write(Delete(Key(f"{TENANT}#AGENTSBY", "BUILD")))
    if how == "marked":
        return
    for key in (record, row):
        bare = {name: value for name, value in (table.get(key) or {}).items() if name not in ("list_pk", "list_sk", "marked")}
        table.write(Put(bare))
    for mark in marks(house):
        if str(mark["sk"]).endswith(agent_id):
            table.write(Delete(Key(str(mark["pk"]), str(mark["sk"]))))
    if how == "unmarked, then changed":
        house.services.agents.updates.update(agent_id, UpdateAgent(tags=["later", "a"]))


def marks(house: House) -> list[Item]:
    return [item for item in house.table.query(f"{TENANT}#AGENTSBY") if item["sk"] != "BUILD"]


def live_history(house: House, steps: list[tuple[object, ...]]) -> list[str]:
    """Play a history, crashes included. Returns the ids of all agents that were made, except those of crashed requests."""
    assert isinstance(house.table, Dies)
    ids: list[str] = []
    for agent in house.stores.agents.rows():
        house.services.agents.delete(str(agent["sk"]))
    for step in steps:
        try:
            act(house, step, ids)
        except KeyboardInterrupt:
            house.table.at = 0
    house.table.at = 0
    return ids


@MANY
@given(steps=STEPS, wanted=FILTERS, order=ORDERS, limit=st.integers(1, 4), descending=st.booleans(), cursor=st.integers(0, 9))
def test_every_page_and_count_is_that_of_all_rows(
    house: House, steps: list[tuple[object, ...]], wanted: AgentFilter, order: str, limit: int, descending: bool, cursor: int
) -> None:
    ids = live_history(house, steps)
    rows = wanted.among(house.stores.agents.last_runs.joined(house.stores.agents.rows()), house.stores.agents.last_runs)
    agents = house.services.agents
    for after, before in ((None, None), (cursor, None), (None, cursor)):
        of = [ids[place % len(ids)] if ids and place is not None else None for place in (after, before)]
        asked = Page(limit=limit, after=of[0], before=of[1], descending=descending, lost="ignored")
        expected = page(rows, asked, id_of=lambda row: str(row["sk"]), place=lambda row: str(row.get(order, "")))
        found = [state.id for state in agents.list(wanted, asked, order, frozenset())]
        assert found == [row["sk"] for row in expected]
    assert agents.count(wanted) == len(rows)


@MANY
@given(steps=STEPS, limit=st.integers(1, 4), descending=st.booleans(), cursor=st.integers(0, 9), text=st.none() | st.just("A"))
def test_every_page_of_tags_is_that_of_all_rows(
    house: House, steps: list[tuple[object, ...]], limit: int, descending: bool, cursor: int, text: str | None
) -> None:
    live_history(house, steps)
    every = {tag for row in house.stores.agents.rows() for tag in json.loads(str(row["tags"]))}
    wanted = sorted(tag for tag in every if text is None or text.lower() in tag.lower())
    given = wanted[cursor % len(wanted)] if wanted else "none"
    for after, before in ((None, None), (given, None), (None, given)):
        asked = Page(limit=limit, after=after, before=before, descending=descending, lost="ignored")
        ordered = wanted[::-1] if descending else wanted
        start = ordered.index(after) + 1 if after in ordered else 0
        end = ordered.index(before) if before in ordered else len(ordered)
        expected = ordered[start:end][-limit:] if before in ordered and limit < end else ordered[start:end][:limit]
        assert list(house.services.agents.tags(text, asked)) == expected


@MANY
@given(steps=STEPS)
def test_a_deleted_agent_leaves_no_mark_and_no_place(house: House, steps: list[tuple[object, ...]]) -> None:
    live_history(house, [step for step in steps if step[0] != "crash"])
    assert house.services.agents.list(AgentFilter(name="Ann"), Page(), "created_at", frozenset()) is not None
    there = {str(row["sk"]) for row in house.stores.agents.rows()}
    assert {str(mark["sk"]).rsplit("#", 1)[1] for mark in marks(house)} <= there
    for noun in ("AGENTSUPDATED", "AGENTSRAN", "AGENTSNEW"):
        for pk in keys.list_partitions(TENANT, noun):
            entries = house.table.query(pk, index=Index.LISTS)
            assert {str(entry["list_sk"]).rsplit("#", 1)[-1] for entry in entries} <= there


def test_a_repeated_write_marks_nothing_twice(tmp_path: Path) -> None:
    """A lost answer: the writer sends the transaction again, and the marks are rows, not counters."""

    class Loses(PassesOn):
        def write(self, *changes: Change) -> None:
            super().write(*changes)
            if any(isinstance(change, Put) and "#AGENTSBY" in change.key.pk for change in changes) and not self.lost:
                self.lost = True
                raise OutcomeUnknown("the answer is lost")

        lost = False

    with house_in(tmp_path, Loses) as house:
        house.agent(name="Ann", tags=["a"])
        assert house.services.agents.count(AgentFilter(tags=["a"], hidden=True)) == 1
        assert house.services.agents.tags(None, Page()) == ["a"]


MANY_TAGS = [f"tag {number}" for number in range(150)]
OTHERS = [f"tag {number}" for number in range(149, 300)]
BIG = {"tags": {"tags": OTHERS}, "identities": {}, "hidden": {"hidden": True, "tags": OTHERS}}


def many_identities(house: House) -> list[str]:
    keys = [CreateIdentity(identifier_key=f"key {number}", name="", identity_type="user") for number in range(130)]
    return [house.services.identities.upsert(key).id for key in keys]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("act_", [*BIG, "create", "delete"])
def test_wherever_a_change_of_many_tags_breaks_off_counts_and_lists_agree_with_the_rows(
    house: House, act_: str, at: int, after: bool
) -> None:
    assert isinstance(house.table, Dies)
    live_history(house, [])
    agent = house.agent(name="Ann", tags=MANY_TAGS) if act_ != "create" else None
    more = {"identity_ids": many_identities(house)} if act_ == "identities" else {}
    house.table.at, house.table.after = at, after
    try:
        if agent is None:
            house.agent(name="Ann", tags=MANY_TAGS)
        elif act_ == "delete":
            house.services.agents.delete(agent.id)
        else:
            house.services.agents.updates.update(agent.id, UpdateAgent.model_validate({**BIG[act_], **more}))
    except KeyboardInterrupt:
        pass
    house.table.at = 0
    agents = house.services.agents
    held = {(row["sk"], tag) for row in house.stores.agents.rows() for tag in json.loads(str(row["tags"]))}
    marked = {(str(mark["sk"]).rsplit("#", 1)[1], mark["text"]) for mark in marks(house) if str(mark["sk"]).startswith("TAG#")}
    assert marked == held
    for tag in ("tag 3", "tag 149", "tag 299"):
        assert agents.count(AgentFilter(tags=[tag], hidden=True)) == sum(tag == one for _, one in held)
        shown = {row["sk"] for row in house.stores.agents.rows() if not row["hidden"]}
        assert agents.count(AgentFilter(tags=[tag])) == sum(tag == one and sk in shown for sk, one in held)


def test_an_agent_with_more_tags_than_a_transaction_takes_is_listed_by_each(house: House) -> None:
    live_history(house, [])
    agent = house.agent(name="Ann", tags=[f"tag {number}" for number in range(150)])
    house.services.agents.updates.update(agent.id, UpdateAgent(tags=[f"tag {number}" for number in range(149, 300)]))
    found = {
        tag: house.services.agents.list(AgentFilter(tags=[tag]), Page(), "created_at", frozenset())
        for tag in ("tag 3", "tag 299")
    }
    assert {tag: len(agents) for tag, agents in found.items()} == {"tag 3": 0, "tag 299": 1}
    assert house.stored(agent.id).tags == [f"tag {number}" for number in range(149, 300)]
    assert house.services.agents.count(AgentFilter(tags=["tag 3"], hidden=True)) == 0
    assert len(house.services.agents.tags(None, Page())) == 151
    house.services.agents.delete(agent.id)
    assert house.services.agents.tags(None, Page()) == []
