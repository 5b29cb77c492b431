"""Resetting, setting and measuring what an agent sees of its conversation."""

from __future__ import annotations

from decimal import Decimal

import pytest

from hibernaut.adapters.model.prices.price_list import price_list
from hibernaut.schemas.agents.agent import UpdateAgent
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.errors import Busy, InvalidArgument, NotFound
from hibernaut.schemas.memory.block import BlockUpdate
from hibernaut.store.conversations.conversations import LoadedConversation
from tests.support.house import House


def loaded(house: House, agent_id: str) -> LoadedConversation:
    found = house.stores.conversations.load(agent_id)
    assert found is not None
    return found


def owned(house: House, head: Head) -> None:
    """As if a run owned the conversation."""
    after = head.model_copy(update={"owner": "run-x", "version": head.version + 1})
    house.stores.writer.write(house.stores.conversations.change_head(head, after, "t"), token="t")


def test_a_reset_leaves_one_fresh_system_message_and_keeps_what_was_said(house: House) -> None:
    agent = house.agent(agent_type="memgpt_v2_agent")
    old = loaded(house, agent.id)
    house.services.agents.windows.reset(agent.id)
    after = loaded(house, agent.id)
    assert [row.role for row in after.messages] == ["system"]
    assert after.messages[0].id > old.messages[-1].id
    rows = house.stores.conversations.page(agent.id)
    assert [row.id for row in rows] == [*(row.id for row in old.messages[1:]), after.messages[0].id]
    assert "3 previous messages" in after.messages[0].text()


def test_a_reset_with_an_opening_says_it_again(house: House) -> None:
    agent = house.agent(agent_type="memgpt_v2_agent")
    house.services.agents.windows.reset(agent.id, opening=True)
    assert [row.role for row in loaded(house, agent.id).messages] == ["system", "assistant", "tool", "user"]
    plain = house.agent()
    house.services.agents.windows.reset(plain.id, opening=True)
    assert [row.role for row in loaded(house, plain.id).messages] == ["system"]


def test_a_window_is_set_to_exactly_the_rows_that_are_named(house: House) -> None:
    agent = house.agent(agent_type="memgpt_v2_agent")
    ids = [row.id for row in loaded(house, agent.id).messages]
    house.services.agents.updates.update(agent.id, UpdateAgent(message_ids=[ids[0], ids[3]]))
    assert [row.id for row in loaded(house, agent.id).messages] == [ids[0], ids[3]]
    assert house.services.agents.retrieve(agent.id).message_ids == [ids[0], ids[3]]
    with pytest.raises(InvalidArgument, match="system message"):
        house.services.agents.updates.update(agent.id, UpdateAgent(message_ids=[ids[3]]))
    with pytest.raises(NotFound):
        house.services.agents.updates.update(agent.id, UpdateAgent(message_ids=[ids[0], f"{ids[3][:-1]}x"]))


def test_another_system_message_may_begin_the_window(house: House) -> None:
    agent = house.agent()
    first, head = loaded(house, agent.id).messages[0], loaded(house, agent.id).head
    other = first.model_copy(update={"id": f"{first.id[:-2]}ff", "content": [TextContent(text="Another prompt.")]})
    after = head.model_copy(update={"version": head.version + 1, "last_message": other.id})
    conversations = house.stores.conversations
    house.stores.writer.write(conversations.change_head(head, after, "t"), conversations.put_message(agent.id, other), token="t")
    house.services.agents.updates.update(agent.id, UpdateAgent(message_ids=[other.id]))
    assert loaded(house, agent.id).messages == (other,)
    assert house.services.agents.windows.recompile(agent.id) == loaded(house, agent.id).messages[0].text()


def test_a_conversation_that_a_run_owns_is_left_alone(house: House) -> None:
    agent = house.agent()
    before = loaded(house, agent.id)
    owned(house, before.head)
    with pytest.raises(Busy) as refused:
        house.services.agents.windows.reset(agent.id)
    assert refused.value.run_id == "run-x"
    with pytest.raises(Busy):
        house.services.agents.updates.update(agent.id, UpdateAgent(message_ids=[before.messages[0].id], name="New"))
    assert house.stored(agent.id).name == agent.name
    house.services.agents.updates.update(agent.id, UpdateAgent(system="You are new."))
    assert "You are new." in house.services.agents.windows.recompile(agent.id)
    assert loaded(house, agent.id).messages == before.messages


def test_recompiling_shows_an_edit_and_stores_it_unless_it_is_a_dry_run(house: House) -> None:
    agent = house.agent(memory_blocks=[{"label": "human", "value": "Ann"}])
    before = loaded(house, agent.id).messages[0]
    windows = house.services.agents.windows
    assert windows.recompile(agent.id) == before.text()
    house.services.blocks.update(agent.block_ids[0], BlockUpdate(value="Bob"))
    text = windows.recompile(agent.id, dry_run=True)
    assert "Bob" in text
    assert loaded(house, agent.id).messages[0] == before
    assert windows.recompile(agent.id) == text
    after = loaded(house, agent.id).messages[0]
    assert (after.id, after.text(), after.created_at) == (before.id, text, before.created_at)


def test_the_time_of_compilation_moves_only_where_it_is_asked_to(house: House) -> None:
    agent, windows = house.agent(), house.services.agents.windows
    before = loaded(house, agent.id).head.compiled
    windows.recompile(agent.id)
    assert loaded(house, agent.id).head.compiled == before
    house.services.agents.updates.update(agent.id, UpdateAgent(system="Other."))
    windows.recompile(agent.id)
    after = loaded(house, agent.id).head.compiled
    assert before is not None
    assert after is not None
    assert after.digest != before.digest
    assert after.compiled_at == before.compiled_at
    house.services.agents.updates.update(agent.id, UpdateAgent(system="Third."))
    windows.recompile(agent.id, update_time=True)
    moved = loaded(house, agent.id).head.compiled
    assert moved is not None
    assert moved.compiled_at > before.compiled_at


def test_the_overview_adds_up(house: House) -> None:
    rules = [{"type": "exit_loop", "tool_name": "memory_insert"}]
    blocks = [{"label": "human", "value": "Ann"}]
    agent = house.agent(memory_blocks=blocks, tool_rules=rules, initial_message_sequence=[{"role": "user", "content": "hi"}])
    view = house.services.agents.windows.overview(agent.id)
    assert (view.num_messages, view.num_recall_memory, view.num_archival_memory) == (2, 2, 0)
    assert view.context_window_size_max == agent.llm_config.context_window
    assert view.core_memory.startswith("<memory_blocks>")
    assert view.tool_usage_rules is not None
    assert view.external_memory_summary.startswith("<memory_metadata>")
    assert view.external_memory_summary.endswith("</memory_metadata>")
    assert [tool["function"]["name"] for tool in view.functions_definitions or []] == [
        "conversation_search",
        "memory_replace",
        "memory_insert",
    ]
    sizes = [value for name, value in view if name.startswith("num_tokens")]
    assert view.context_window_size_current == sum(sizes)
    assert all(
        (view.num_tokens_system, view.num_tokens_core_memory, view.num_tokens_messages, view.num_tokens_functions_definitions)
    )


def test_the_overview_names_the_price_of_a_prompt_where_the_list_knows_the_model(house: House) -> None:
    known = {"model": "gpt-4o-mini", "model_endpoint_type": "openai", "provider_name": "openai", "context_window": 128_000}
    agent = house.agent(llm_config={**known, "model_endpoint": "https://api.openai.com/v1"})
    price = house.services.agents.windows.overview(agent.id).price
    assert price is not None
    assert (price.input, price.cached_input) == (Decimal("0.15"), Decimal("0.075"))
    assert price.price_list_date == price_list().date
    proxied = house.agent(llm_config={**known, "model_endpoint": "http://127.0.0.1:1/v1"})
    assert house.services.agents.windows.overview(proxied.id).price is None
