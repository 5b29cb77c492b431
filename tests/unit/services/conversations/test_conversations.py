"""Conversations without HTTP: what a fork leaves out, private blocks under the memory tools, models, and who comes between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from hibernaut.ports.storage.table import Key, Table
from hibernaut.schemas.agents.conversation_record import CreateConversation, UpdateConversation
from hibernaut.schemas.errors import Busy, InvalidArgument, NotFound
from hibernaut.schemas.stop import StopReason
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule
from hibernaut.services.conversations.conversation_lists import ConversationQuery
from hibernaut.services.models.conversation_model import chosen
from hibernaut.services.prompt.system_messages import overlaid
from tests.support.conversations import append, begin_in, conversations_of, row, talk, window_of
from tests.support.house import Overtaken
from tests.support.scripted_model import calls, in_turn, says
from tests.support.settled import check_valid
from tests.support.tables import LosesResponses, RevealsSlowly
from tests.support.world import TENANT, World, data_in

ISOLATED = CreateConversation(isolated_block_labels=["human"])
INSERT = calls(("memory_insert", {"label": "human", "new_string": "tea"}))
LET_GO = calls(("memory", {"command": "delete", "path": "/memories/human"}))


def opened(folder: Path, *replies: object, wrap: Callable[[Table], Table] = lambda t: t) -> tuple[World, str]:
    """A world with an agent that has a block and tools."""
    world = World(data_in(folder, in_turn(*replies, says("done"))), wrap=wrap)  # type: ignore[arg-type]
    return world, world.make_agent(blocks={"human": "Ann"}, tools=("memory_insert", "memory", "ring"))


def overtaken(folder: Path, *replies: object) -> tuple[World, str, Overtaken]:
    """The same over a table whose next write can be overtaken."""
    tables: list[Overtaken] = []

    def wrap(table: Table) -> Table:
        tables.append(Overtaken(table))
        return tables[0]

    return *opened(folder, *replies, wrap=wrap), tables[0]


def test_a_fork_made_while_a_run_goes_on_has_what_is_committed(tmp_path: Path) -> None:
    world, agent = opened(tmp_path, calls(("ring", {"x": "1"})))
    run = world.begin(agent, "hello")
    world.advance(run)
    committed = window_of(world, agent)
    made = conversations_of(world).openings.fork(agent)
    assert window_of(world, made.id)[1:] == committed[1:]
    assert len(committed) == 4
    world.workflow.drive()
    assert window_of(world, made.id)[1:] == committed[1:]
    check_valid(world.log(made.id))


def test_a_fork_leaves_out_a_request_for_an_approval_that_nobody_has_answered(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(calls(("ring", {"x": "1"}), text="May I?"), says("done"))))
    agent = world.make_agent(tools=("ring",), rules=[RequiresApprovalToolRule(tool_name="ring")])
    world.send(agent, "hello")
    assert world.head(agent).pending
    made = conversations_of(world).openings.fork(agent)
    assert [one.role for one in world.log(made.id)][:1] == ["user"]
    assert world.head(made.id).pending is None
    check_valid(world.log(made.id))
    begin_in(world, agent, made.id, "and now?")
    world.workflow.drive()
    assert world.log(made.id)[-1].text() == "done"
    assert world.head(agent).pending, "the one that it was forked from waits as before"


def test_an_old_call_that_was_never_answered_does_not_shorten_a_fork(tmp_path: Path) -> None:
    world, agent = opened(tmp_path)
    talk(world, agent, calls=True, returned=False)
    talk(world, agent)
    made = conversations_of(world).openings.fork(agent)
    assert window_of(world, made.id)[1:] == window_of(world, agent)[1:]


def test_a_fork_shares_parts_of_a_bounded_number_of_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hibernaut.services.conversations.conversation_creation.MOST_SOURCES", 2)
    world, agent = opened(tmp_path)
    conversations, source = conversations_of(world), agent
    for _ in range(2):
        talk(world, source)
        source = conversations.openings.fork(source).id
    talk(world, source)
    with pytest.raises(InvalidArgument, match="at most 2 conversations, not 3"):
        conversations.openings.fork(source)
    assert len(conversations.list(ConversationQuery(agent_id=agent))) == 2


def test_a_fork_of_what_is_deleted_meanwhile_is_refused(tmp_path: Path) -> None:
    world, agent, table = overtaken(tmp_path)
    conversations = conversations_of(world)
    parent = conversations.openings.create(agent, CreateConversation())
    talk(world, parent.id)
    table.by = lambda: conversations.delete(parent.id)
    with pytest.raises(NotFound):
        conversations.openings.fork(parent.id)
    assert conversations.list(ConversationQuery(agent_id=agent)) == []
    assert world.data.table.query(f"{TENANT}#CONV#{parent.id}") == []


def test_what_is_said_while_a_fork_is_made_is_not_in_it(tmp_path: Path) -> None:
    world, agent, table = overtaken(tmp_path)
    talk(world, agent)
    before = window_of(world, agent)
    table.by = lambda: talk(world, agent)
    made = conversations_of(world).openings.fork(agent)
    assert window_of(world, made.id)[1:] == before[1:]
    assert len(window_of(world, agent)) == 5


def test_nobody_begins_a_conversation_with_an_agent_that_is_deleted_meanwhile(tmp_path: Path) -> None:
    world, agent_id, table = overtaken(tmp_path)
    agent = world.stores.agents.get(agent_id)
    assert agent is not None
    table.by = lambda: world.stores.writer.write(*world.stores.agents.delete(agent))
    with pytest.raises(NotFound):
        conversations_of(world).openings.create(agent_id, ISOLATED)
    assert world.stores.conversation_records.ids(agent_id) == []


def test_the_memory_tools_of_a_conversation_edit_its_private_copy(tmp_path: Path) -> None:
    world, agent = opened(tmp_path, INSERT)
    conversations = conversations_of(world)
    made = conversations.openings.create(agent, ISOLATED)
    begin_in(world, agent, made.id, "I like tea")
    world.workflow.drive()
    assert world.block(agent, "human").value == "Ann"
    assert "Ann\ntea" in conversations.recompile(conversations.target(made.id, None))
    begin_in(world, agent, made.id, "again")
    world.workflow.drive()
    assert "Ann\ntea" in world.models.requests[-1].system


def test_a_private_copy_edited_by_somebody_else_meanwhile_is_edited_as_it_stands_then(tmp_path: Path) -> None:
    world, agent, table = overtaken(tmp_path, INSERT)
    conversations = conversations_of(world)
    made = conversations.openings.create(agent, ISOLATED)
    (copy,) = made.isolated_block_ids
    begin_in(world, agent, made.id, "I like tea")

    def edit() -> None:
        before = world.stores.blocks.get(copy)
        assert before is not None
        after = before.model_copy(update={"value": "Ada"})
        world.stores.writer.write(*world.stores.blocks.change(before, after, "theirs"), token="theirs")

    def with_journal() -> None:
        table.by = edit

    table.by = with_journal
    world.workflow.drive()
    found = world.stores.blocks.get(copy)
    assert found is not None
    assert found.value == "Ada\ntea"
    assert world.block(agent, "human").value == "Ann"


def test_a_private_copy_that_is_let_go_does_not_uncover_the_agents_block(tmp_path: Path) -> None:
    world, agent = opened(tmp_path, LET_GO)
    conversations = conversations_of(world)
    made = conversations.openings.create(agent, ISOLATED)
    (copy,) = made.isolated_block_ids
    begin_in(world, agent, made.id, "forget me")
    world.workflow.drive()
    assert world.stores.blocks.get(copy) is None
    assert world.block(agent, "human").value == "Ann", "the agent keeps its own"
    assert conversations.retrieve(made.id).isolated_block_ids == []
    assert "<human>" not in conversations.recompile(conversations.target(made.id, None))
    conversations.delete(made.id)


def test_a_private_copy_stays_when_its_original_leaves_the_agent(tmp_path: Path) -> None:
    assert overlaid(["a", "b", "c"], {"b": "B"}) == ["a", "B", "c"]
    assert overlaid(["a", "c"], {"b": "B"}) == ["a", "c", "B"]
    assert overlaid(["a", "b"], {"b": ""}) == ["a"]
    assert overlaid(["a"], {"b": ""}) == ["a"]
    world, agent = opened(tmp_path)
    conversations = conversations_of(world)
    made = conversations.openings.create(agent, ISOLATED)
    (copy,) = made.isolated_block_ids
    block = world.stores.blocks.get(copy)
    assert block is not None
    world.stores.writer.write(*world.stores.blocks.delete(block, world.clock.now(), "t"))
    assert conversations.retrieve(made.id).isolated_block_ids == []
    assert "<human>" not in conversations.recompile(conversations.target(made.id, None))


def test_a_block_that_a_conversation_makes_is_the_agents(tmp_path: Path) -> None:
    make = calls(("memory", {"command": "create", "path": "/memories/notes", "description": "Notes", "file_text": "x"}))
    world, agent = opened(tmp_path, make)
    made = conversations_of(world).openings.create(agent, ISOLATED)
    begin_in(world, agent, made.id, "take notes")
    world.workflow.drive()
    assert world.block(agent, "notes").value == "x"


def test_a_conversations_model_keeps_the_agents_window_as_far_as_it_is_that_large(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    agent = world.stores.agents.get(agent_id)
    assert agent is not None
    record = conversations_of(world).openings.create(agent_id, CreateConversation())
    assert chosen(agent, record, world.models) is agent.llm_config
    smaller = agent.model_copy(update={"llm_config": agent.llm_config.model_copy(update={"context_window": 5000})})
    other = record.model_copy(update={"model": "test/other"})
    config = chosen(smaller, other, world.models)
    assert (config.model, config.context_window) == ("other", 5000)
    larger = agent.model_copy(update={"llm_config": agent.llm_config.model_copy(update={"context_window": 10**7})})
    assert chosen(larger, other, world.models).context_window == world.models.config("test/other").context_window
    limited = record.model_copy(update={"context_window_limit": 777})
    assert (chosen(agent, limited, world.models).model, chosen(agent, limited, world.models).context_window) == ("scripted", 777)


def test_a_conversations_model_is_never_written_to_its_agent(tmp_path: Path) -> None:
    make = calls(("memory", {"command": "create", "path": "/memories/notes", "description": "Notes", "file_text": "x"}))
    world, agent_id = opened(tmp_path, make)
    made = conversations_of(world).openings.create(agent_id, CreateConversation(model="test/other"))
    begin_in(world, agent_id, made.id, "take notes")
    world.workflow.drive()
    agent = world.stores.agents.get(agent_id)
    assert agent is not None
    assert agent.llm_config.model == "scripted"
    assert world.log(made.id)[0].model == "other"


def test_deleting_a_conversation_ends_its_runs_and_leaves_the_others(tmp_path: Path) -> None:
    world, agent = opened(tmp_path)
    conversations = conversations_of(world)
    made = conversations.openings.create(agent, CreateConversation())
    first, second = (begin_in(world, agent, made.id, text) for text in "12")
    other = world.begin(agent, "mine")
    conversations.delete(made.id)
    assert [world.run(run).run.stop_reason for run in (first, second)] == [StopReason.CANCELLED] * 2
    world.workflow.drive()
    assert world.run(other).run.stop_reason is StopReason.END_TURN
    assert world.data.table.query(f"{TENANT}#CONV#{made.id}") == []
    assert world.stores.conversation_records.ids(agent) == [], "the end of a run brings no row back"
    with pytest.raises(NotFound):
        begin_in(world, agent, made.id, "hello?")


def test_a_conversation_that_waits_for_an_approval_can_be_deleted(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(calls(("ring", {"x": "1"})), says("done"))))
    agent = world.make_agent(tools=("ring",), rules=[RequiresApprovalToolRule(tool_name="ring")])
    conversations = conversations_of(world)
    made = conversations.openings.create(agent, CreateConversation())
    begin_in(world, agent, made.id, "hello")
    world.workflow.drive()
    assert world.head(made.id).pending
    conversations.delete(made.id)
    assert world.stores.conversations.head(made.id) is None
    world.sweep()


def test_two_updates_at_once_both_count(tmp_path: Path) -> None:
    world, agent, table = overtaken(tmp_path)
    conversations = conversations_of(world)
    made = conversations.openings.create(agent, CreateConversation())
    table.by = lambda: conversations.update(made.id, UpdateConversation(description="second"))
    shown = conversations.update(made.id, UpdateConversation(summary="first", archived=True))
    assert (shown.summary, shown.description, shown.archived) == ("first", "second", True)
    assert conversations.retrieve(made.id) == shown


def test_a_message_by_request_can_interrupt_what_is_under_way(tmp_path: Path) -> None:
    world, agent = opened(tmp_path)
    conversations = conversations_of(world)
    made = conversations.openings.create(agent, CreateConversation())
    first = begin_in(world, agent, made.id, "first")
    with pytest.raises(Busy):
        begin_in(world, agent, made.id, "refused", when_busy="reject")
    second = begin_in(world, agent, made.id, "second", when_busy="interrupt")
    world.workflow.drive()
    reasons = [world.run(run).run.stop_reason for run in (first, second)]
    assert reasons == [StopReason.CANCELLED, StopReason.END_TURN]
    assert conversations.retrieve(made.id).last_message_at is not None


def test_messages_in_conversations_are_found_wherever_they_are(tmp_path: Path) -> None:
    """A system row that a caller sent is shared by a fork, a prompt is not."""
    world, agent = opened(tmp_path)
    conversations = conversations_of(world)
    parent = conversations.openings.create(agent, CreateConversation()).id
    said = row(world, parent, "system", otid="otid-1")
    append(world, parent, [said])
    made = conversations.openings.fork(parent).id
    store = world.stores.conversations
    assert store.message(made, said.id) == said
    prompt = world.head(parent).window.pinned[0]
    assert store.message(made, prompt) is None
    assert store.message(parent, prompt) is not None


def test_a_lost_answer_of_the_table_changes_nothing(tmp_path: Path) -> None:
    """Whichever answer it is, while conversations are made, forked and deleted: the write had happened, and is not done twice."""
    for lost in range(1, 20):
        world, agent = opened(tmp_path / str(lost), wrap=lambda table, lost=lost: LosesResponses(table, after=[lost]))
        conversations = conversations_of(world)
        parent = conversations.openings.create(agent, ISOLATED)
        talk(world, parent.id)
        fork = conversations.openings.fork(parent.id)
        again = conversations.openings.fork(fork.id)
        assert len(conversations.list(ConversationQuery(agent_id=agent))) == 3
        assert window_of(world, again.id)[1:] == window_of(world, parent.id)[1:]
        for made in (parent, fork, again):
            conversations.delete(made.id)
            assert world.data.table.query(f"{TENANT}#CONV#{made.id}", prefix="HEAD") == []
        for made in (parent, fork, again):
            assert world.data.table.query(f"{TENANT}#CONV#{made.id}") == [], lost
        assert world.stores.blocks.get(parent.isolated_block_ids[0]) is None


@pytest.mark.parametrize("order", [list, lambda found: found[::-1]])
def test_lists_can_be_read_while_a_transaction_shows_item_by_item(
    tmp_path: Path, order: Callable[[Sequence[Key]], Iterable[Key]]
) -> None:
    """Items may come into sight in any order: a conversation that is only half in sight is left out, or shown without what is
    not.
    """
    looks: list[int] = []
    look: list[Callable[[], object]] = []

    def meanwhile() -> None:
        for one in look:
            one()

    world, agent = opened(tmp_path, wrap=lambda table: RevealsSlowly(table, order=order, meanwhile=meanwhile))
    conversations = conversations_of(world)
    look.append(lambda: looks.append(len(conversations.list(ConversationQuery(agent_id=agent)))))
    made = conversations.openings.create(agent, ISOLATED)
    talk(world, made.id)
    fork = conversations.openings.fork(made.id)
    assert window_of(world, fork.id, fresh=True)[1:] == window_of(world, made.id, fresh=True)[1:]
    for one in (made, fork):
        conversations.delete(one.id)
    assert {0, 1, 2} <= set(looks)
