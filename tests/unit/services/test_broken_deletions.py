"""A deletion that breaks off, wherever, is finished by whoever sends it again, or by the sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hibernaut.ports.table import Table
from hibernaut.rest.dependencies import Services
from hibernaut.schemas.agent import CreateAgentRequest
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.conversation_record import CreateConversation
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.message import Message
from hibernaut.wiring.embedded import Embedded, Overrides
from hibernaut.wiring.face import services_over
from hibernaut.wiring.settings import EmbeddedSettings
from tests.support.tables import CountingTable

TENANT = "default"
SAID = [{"role": "user", "content": "Hello"}]


class Died(BaseException):
    """The worker is gone."""


@dataclass
class House:
    """An embedded house, whose worker dies before its `dies`th write (0: never)."""

    embedded: Embedded
    services: Services
    dies: int = 0
    writes: int = 0

    def agent(self) -> str:
        return self.services.agents.creation.create(TENANT, CreateAgentRequest(initial_message_sequence=SAID)).id

    def conversation(self, agent_id: str) -> str:
        made = self.services.conversations.openings.create(TENANT, agent_id, CreateConversation())
        self.say(agent_id, made.id)
        return made.id

    def fork(self, agent_id: str, source: str) -> str:
        made = self.services.conversations.openings.fork(TENANT, source)
        self.say(agent_id, made.id)
        return made.id

    def say(self, agent_id: str, conversation: str) -> None:
        """Some rows more in a log."""
        store, host = self.embedded.stores.conversations, self.embedded.host
        head = store.head(TENANT, conversation)
        assert head is not None
        rows, last = list[Message](), head.last_message
        for _ in range(4):
            last = host.ids.new("message", after=last)
            text = [TextContent(text="said")]
            rows.append(Message(id=last, role="user", content=text, agent_id=agent_id, created_at=host.clock.now()))
        after = head.model_copy(
            update={"version": head.version + 1, "last_message": last, "newest": [last], "messages": head.messages + 4}
        )
        changes = [store.change_head(TENANT, head, after, "t"), *store.put_rows(TENANT, head, rows)]
        self.embedded.stores.writer.write(*changes, token="t")

    def left(self, identifier: str) -> set[str]:
        """The partitions in which something bears the id, but the pointers for the index."""
        there: dict[tuple[str, str], bool] = {}
        for record in self.embedded.table.changes(limit=100_000):
            there[record.key.pk, record.key.sk] = record.new is not None
        return {pk for (pk, sk), exists in there.items() if exists and "#TAIL#" not in pk and identifier in f"{pk} {sk}"}

    def count(self, _: int, kind: str) -> None:
        if kind == "before write" and self.dies:
            self.writes += 1
            if self.writes == self.dies:
                raise Died

    def broken(self, act: Callable[[], None], dies: int) -> bool:
        """Whether the worker died over it."""
        self.dies, self.writes = dies, 0
        try:
            act()
        except Died:
            return True
        finally:
            self.dies = 0
        return False


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    monkeypatch.setattr("hibernaut.store.erasure.MAX_CHANGES", 3)
    made: list[House] = []

    def wrapped(table: Table) -> Table:
        return CountingTable(table, lambda number, kind: made[0].count(number, kind) if made else None)

    embedded = Embedded(EmbeddedSettings(data=tmp_path), Overrides(table=wrapped))
    made.append(House(embedded, services_over(embedded.stores, embedded.host, embedded.models, embedded.chain)))
    yield made[0]
    embedded.close()


def finished(house: House, delete: Callable[[], None], how: str, *, told: bool) -> None:
    """The deletion, sent again or taken up by the sweep. `told`: what it is of is still shown, and the sweep does not know of it."""
    if how == "sweep":
        house.embedded.chain.sweep.run(everything=True)
    if how == "again" or told:
        delete()
    with pytest.raises(NotFound):
        delete()


@pytest.mark.parametrize("how", ["again", "sweep"])
def test_a_conversations_deletion_goes_on_wherever_it_broke_off(house: House, how: str) -> None:
    agent, conversations = house.agent(), house.services.conversations
    for dies in range(1, 100):
        source = house.conversation(agent)
        fork = house.fork(agent, source)
        conversations.delete(TENANT, source)
        assert house.left(source), "the fork refers to its rows"

        def delete(fork: str = fork) -> None:
            conversations.delete(TENANT, fork)

        if not house.broken(delete, dies):
            break
        finished(house, delete, how, told=house.embedded.stores.conversation_records.get(TENANT, fork) is not None)
        assert (house.left(fork), house.left(source)) == (set(), set()), f"died before write {dies}"
    assert dies > 5
    assert house.left(agent)


@pytest.mark.parametrize("how", ["again", "sweep"])
def test_an_agents_deletion_goes_on_wherever_it_broke_off(house: House, how: str) -> None:
    agents, kept = house.services.agents, house.agent()
    for dies in range(1, 100):
        agent = house.agent()
        house.say(agent, agent)
        conversation = house.conversation(agent)
        fork = house.fork(agent, agent)

        def delete(agent: str = agent) -> None:
            agents.delete(TENANT, agent)

        if not house.broken(delete, dies):
            break
        finished(house, delete, how, told=house.embedded.stores.agents.get(TENANT, agent) is not None)
        house.embedded.chain.sweep.run(everything=True)
        assert [house.left(one) for one in (agent, conversation, fork)] == [set(), set(), set()], f"died before write {dies}"
    assert dies > 10
    assert house.left(kept)


def test_the_sweep_leaves_a_deletion_alone_that_has_just_begun(house: House) -> None:
    agent = house.agent()
    conversation = house.conversation(agent)
    assert house.broken(lambda: house.services.conversations.delete(TENANT, conversation), 2)
    house.embedded.chain.sweep.run()
    assert house.left(conversation)
