"""The lines of a provider's adapter: one for each call under way, kept where the call ended well."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from hibernaut.adapters.model.wire import connections
from hibernaut.adapters.model.wire.connections import Connections


class Dialled:
    """An SDK's client that connects to nobody."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def made() -> list[Dialled]:
    return []


@pytest.fixture
def house(made: list[Dialled]) -> Connections[Dialled]:
    def dial(*_: object) -> Dialled:
        made.append(Dialled())
        return made[-1]

    return Connections(dial)


def test_calls_at_once_have_lines_of_their_own_and_the_next_has_the_newest(
    house: Connections[Dialled], made: list[Dialled]
) -> None:
    with house.call() as first:
        with house.call() as second:
            assert first.client is not second.client
        with house.call() as third:
            assert third.client is second.client
    with house.call() as fourth:
        assert fourth.client is first.client
    assert [client.closed for client in made] == [False, False]


def test_a_line_that_failed_or_was_hung_up_on_is_closed(house: Connections[Dialled], made: list[Dialled]) -> None:
    with pytest.raises(ZeroDivisionError), house.call():
        raise ZeroDivisionError
    with house.call() as call:
        call.hang_up()
    with house.call() as other:
        call.hang_up()
    assert [client.closed for client in made] == [True, True, False]
    assert other.client is made[2]


def test_lines_that_nobody_needs_any_more_are_closed(
    house: Connections[Dialled], made: list[Dialled], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as calls:
        for _ in range(3):
            calls.enter_context(house.call())
    assert [client.closed for client in made] == [False, False, False]
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.0)
    with house.call() as newest:
        pass
    assert [client.closed for client in made if client is not newest.client] == [True, True]
    assert not newest.client.closed


def test_lines_that_are_forgotten_are_closed(made: list[Dialled]) -> None:
    def dial(*_: object) -> Dialled:
        made.append(Dialled())
        return made[-1]

    house = Connections(dial)
    with house.call():
        pass
    del house
    assert made[0].closed


def test_all_providers_of_a_process_share_the_certificates() -> None:
    """Each reading of the list takes 30 ms of CPU time."""
    seen: list[object] = []

    def dial(_: object, tls: object) -> Dialled:
        seen.append(tls)
        return Dialled()

    for _ in range(2):
        with Connections(dial).call():
            pass
    assert seen[0] is seen[1]
