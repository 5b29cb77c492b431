"""What the model reads of memory, run by run: the system message stays as it is for a window, and newer messages tell what has
changed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hibernaut.domain.window.window import tokens
from hibernaut.ports.model import ModelRequest
from hibernaut.schemas.agents.agent import UpdateAgent
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.memory.block import BlockUpdate
from hibernaut.schemas.messages.frozen_prompt import PromptMode
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.send import LettaRequest
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule
from hibernaut.wiring.api_services import services_over
from tests.support.scripted_model import calls, in_turn, says
from tests.support.world import World, data_in

PUT_AWAY = calls(("archival_memory_insert", {"content": "Ann likes tea.", "tags": ["drinks"]}))
TALE = "I walked through Oslo in the rain, and every bell of the town rang. " * 40


class House:
    """An agent with one block, and a client that edits it."""

    def __init__(self, folder: Path, *replies: Any, mode: PromptMode = "frozen", **agent: Any) -> None:
        self.world = World(data_in(folder, in_turn(*(replies or (says("yes"),)))), system_prompt=mode)
        self.services = services_over(self.world.stores, self.world.host, self.world.chain)
        self.agent = self.world.make_agent(**{"blocks": {"human": "Ann"}, "tools": ("memory_insert", "ring")} | agent)

    def edit(self, value: str) -> None:
        self.services.blocks.update(self.world.block(self.agent, "human").id, BlockUpdate(value=value))

    def asked(self, text: str = "hello", **options: Any) -> ModelRequest:
        """The last request of a run that answers this message."""
        self.world.send(self.agent, text, **options)
        return self.world.models.requests[-1]

    def system(self) -> Message:
        pinned = self.head().window.pinned[0]
        return next(row for row in self.world.log(self.agent) if row.id == pinned)

    def head(self) -> Head:
        return self.world.head(self.agent)


def told(request: ModelRequest) -> list[str]:
    """The updates in a request, in order."""
    texts = [part.text for row in request.messages for part in row.content if part.type == "text"]
    texts += [each.func_response or "" for row in request.messages if row.role == "tool" for each in row.tool_returns]
    return [text[text.index("<memory_update>") :] for text in texts if "<memory_update>" in text]


def test_an_edit_is_told_in_the_next_runs_message_and_the_system_message_stays(tmp_path: Path) -> None:
    house = House(tmp_path)
    first = house.asked()
    house.edit("Bob")
    second, third = house.asked("who am I?"), house.asked("and now?")
    assert first.system == second.system == third.system
    assert "Ann" in first.system
    assert told(first) == []
    assert len(told(second)) == 1
    assert "<value>\nBob\n</value>" in told(second)[0]
    assert second.messages[-1].text().startswith("who am I?\n<memory_update>")
    assert told(third) == told(second), "told once, and sent with the same message for ever"


def test_clients_are_shown_the_whole_system_message_and_the_messages_as_they_were_sent(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.edit("Bob")
    house.asked("who am I?")
    shown = house.system()
    assert "Bob" in shown.text()
    assert "Ann" not in shown.text()
    assert all("memory_update" not in row.text() for row in house.world.log(house.agent))
    assert house.services.agents.windows.recompile(house.agent) == shown.text()


def test_what_the_agent_itself_changed_is_told_with_its_value_in_the_next_run(tmp_path: Path) -> None:
    edit = calls(("memory_insert", {"label": "human", "new_string": "likes tea"}))
    house = House(tmp_path, edit, says("done"))
    within, after = house.asked(), house.asked()
    assert told(within) == [], "the return of the tool tells it"
    assert "<value>\nAnn\nlikes tea\n</value>" in told(after)[0]


def test_what_was_put_away_is_told_in_the_next_run_and_not_before(tmp_path: Path) -> None:
    house = House(tmp_path, PUT_AWAY, says("done"), tools=("archival_memory_insert",))
    same, second = house.asked("I like tea"), house.asked()
    house.world.clock.sleep(60)
    third = house.asked("hello again")
    assert told(same) == []
    assert "- 1 total memories" in told(second)[0]
    assert "drinks" in told(second)[0]
    assert told(third) == told(second)


def test_where_a_run_begins_with_the_return_of_an_approved_call_the_update_stands_behind_it(tmp_path: Path) -> None:
    """The prefix must not change there: the reply before it may hold thinking that is bound to it."""
    house = House(tmp_path, calls(("ring", {"x": "a"})), says("rung"), rules=[RequiresApprovalToolRule(tool_name="ring")])
    first = house.asked()
    house.edit("Bob")
    house.world.answer(house.agent, {"type": "approval", "approve": True, "tool_call_id": "call-0-ring"})
    house.world.workflow.drive()
    second = house.world.models.requests[-1]
    assert second.system == first.system
    assert second.messages[-1].role == "tool"
    assert "Bob" in told(second)[0]
    assert told(house.asked()) == told(second)


@pytest.mark.parametrize(
    "happens",
    [
        lambda house: house.services.agents.updates.update(house.agent, UpdateAgent(system="You are another.")),
        lambda house: house.services.agents.updates.update(house.agent, UpdateAgent(timezone="Europe/Oslo")),
        lambda house: house.services.agents.windows.recompile(house.agent),
        lambda house: house.services.agents.windows.reset(house.agent),
        lambda house: house.services.compactions.on_request(house.agent),
        lambda house: house.edit("word " * 3_000),
    ],
    ids=["another system text", "another time zone", "recompile", "reset", "compaction", "an update that is too long"],
)
def test_the_system_message_is_frozen_anew(happens: Callable[[House], object], tmp_path: Path) -> None:
    house = House(tmp_path, says("<summary>They talked.</summary>"))
    for _ in range(3):
        house.asked(TALE)
    house.edit("Bob")
    before = house.asked(TALE)
    happens(house)
    after = house.asked()
    assert before.system != after.system
    assert told(before)
    assert told(after) == []
    assert house.system().text() == after.system, "the log's system row is what the model is sent"


def test_a_window_that_is_chosen_by_hand_is_frozen_anew(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.asked("one")
    house.edit("Bob")
    house.asked("two")
    kept = [house.system().id, *(row.id for row in house.world.log(house.agent)[1:3])]
    house.services.agents.updates.update(house.agent, UpdateAgent(message_ids=kept))
    request = house.asked("three")
    assert "Bob" in request.system
    assert told(request) == []


def test_a_system_message_of_an_earlier_version_is_frozen_at_the_next_change(tmp_path: Path) -> None:
    house = House(tmp_path)
    old = house.system().model_copy(update={"frozen": None})
    conversations, writer = house.world.stores.conversations, house.world.stores.writer
    writer.write(conversations.put_message(house.agent, old, rewrite=True), token="t")
    conversations.forget(house.agent)
    assert "Ann" in house.asked().system
    house.edit("Bob")
    assert "Bob" in house.asked().system
    house.edit("Cid")
    assert "Cid" in told(house.asked())[0]


def test_where_the_setting_says_so_the_system_message_is_compiled_at_each_run(tmp_path: Path) -> None:
    house = House(tmp_path, mode="recompiled")
    house.asked()
    house.edit("Bob")
    request = house.asked()
    assert "Bob" in request.system
    assert told(request) == []


def test_the_setting_also_ends_what_was_frozen_before(tmp_path: Path) -> None:
    house = House(tmp_path / "a")
    house.edit("Bob")
    house.asked()
    later = World(house.world.data, holder="host:2", system_prompt="recompiled")
    later.send(house.agent, "hello")
    request = later.models.requests[-1]
    assert "Bob" in request.system
    assert told(request) == []


def test_an_agent_that_forgets_is_told_in_its_system_message(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.services.agents.updates.update(house.agent, UpdateAgent(message_buffer_autoclear=True))
    house.asked()
    house.edit("Bob")
    request = house.asked()
    assert "Bob" in request.system
    assert told(request) == []


def test_a_request_with_a_system_message_of_its_own_is_told_nothing_of_memory(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.edit("Bob")
    request = house.asked(override_system="Be brief.")
    assert request.system == "Be brief."
    assert told(request) == []
    assert "Bob" in told(house.asked())[0], "others are, also of what changed before that request"


def test_what_is_sent_is_what_is_counted(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.edit("Bob")
    house.asked()
    before = house.services.agents.windows.overview(house.agent)
    house.edit("Bob, " * 100)
    after = house.services.agents.windows.overview(house.agent)
    grown = after.context_window_size_current - before.context_window_size_current
    request = house.asked()
    update = tokens([request.messages[-1]]) - tokens([house.world.log(house.agent)[-2]])
    assert abs(grown - update) < 20, "an update that the next run will tell"
    assert "Bob, Bob" in after.core_memory
    sent = house.services.agents.windows.overview(house.agent)
    head = house.head()
    assert abs(sent.context_window_size_current - tokens([house.world.log(house.agent)[-1]]) - head.counted) < 20


def test_a_preview_shows_the_update_and_stores_none(tmp_path: Path) -> None:
    house = House(tmp_path)
    first = house.asked()
    house.edit("Bob")
    asked = LettaRequest.model_validate({"messages": [{"role": "user", "content": "who?"}]})
    body = house.services.direct_calls.preview(house.agent, None, asked)
    assert body["messages"][0]["content"] == first.system
    assert body["messages"][-1]["content"].startswith("who?\n<memory_update>")
    assert "Bob" not in house.system().text()
