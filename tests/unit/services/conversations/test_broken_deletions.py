"""A deletion that breaks off, wherever, is finished by whoever sends it again, or by the sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hibernaut.schemas.errors import NotFound
from tests.support.deletions import House, house_in


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    monkeypatch.setattr("hibernaut.store.deletion.MAX_CHANGES", 3)
    with house_in(tmp_path) as made:
        yield made


def finished(house: House, delete: Callable[[], None], how: str, *, told: bool) -> None:
    """The deletion, sent again or taken up by the sweep. `told`: what it is of is still shown, and the sweep does not know of
    it.
    """
    if how == "sweep":
        house.embedded.engines.sweep.run(everything=True)
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
        conversations.delete(source)
        assert house.left(source), "the fork refers to its rows"

        def delete(fork: str = fork) -> None:
            conversations.delete(fork)

        if not house.broken(delete, dies):
            break
        finished(house, delete, how, told=house.stores.conversation_records.get(fork) is not None)
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
            agents.delete(agent)

        if not house.broken(delete, dies):
            break
        finished(house, delete, how, told=house.stores.agents.get(agent) is not None)
        house.embedded.engines.sweep.run(everything=True)
        assert [house.left(one) for one in (agent, conversation, fork)] == [set(), set(), set()], f"died before write {dies}"
    assert dies > 10
    assert house.left(kept)


def test_the_sweep_leaves_a_deletion_alone_that_has_just_begun(house: House) -> None:
    agent = house.agent()
    conversation = house.conversation(agent)
    assert house.broken(lambda: house.services.conversations.delete(conversation), 2)
    house.embedded.engines.sweep.run()
    assert house.left(conversation)
