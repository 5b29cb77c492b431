"""A request with used otids: it attaches where it is the same request, and is a new one where anything in it differs, whenever it
comes.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from hibernaut.schemas.content import TextContent
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.runs.send import LettaRequest
from hibernaut.schemas.stop import RunStatus, StopReason
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule
from hibernaut.services.sending.sending import AcceptedRequest, SendRequest
from hibernaut.store.runs.transaction_values import INPUT_PAGE
from tests.support.memories import Killed
from tests.support.scripted_model import calls, in_turn, says
from tests.support.tables import CountingTable
from tests.support.world import World, data_in

ASK = calls(("ring", {"x": "once"}))
COUNTS = (20, INPUT_PAGE, 3 * INPUT_PAGE - 7)


def opened(folder: Path, *replies: object) -> tuple[World, str]:
    world = World(data_in(folder, in_turn(*replies, *[says("done")] * 9)))  # type: ignore[arg-type]
    return world, world.make_agent(tools=("ring",), rules=[RequiresApprovalToolRule(tool_name="ring")])


def sent(world: World, agent_id: str, *messages: dict[str, Any], retry: int = 0, digest: str = "") -> AcceptedRequest:
    body = LettaRequest.model_validate({"messages": list(messages)})
    return world.sending.accept(SendRequest(agent_id, body, "send_message", digest or world.ids.token(), retry=retry))


def line(number: int, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": f"line {number}", "otid": f"otid-{number}"} | fields


def dies_at_write(world: World, run_id: str, writes: int) -> None:
    """Let a worker of the run die at one of its writes."""
    seen = 0

    def dies(number: int, kind: str) -> None:
        nonlocal seen
        seen += kind == "before write"
        if seen == writes:
            raise Killed

    with suppress(Killed):
        World(world.data, holder="host:2", wrap=lambda table: CountingTable(table, dies)).advance(run_id)


def answer(*, approve: bool = True, otid: str = "answer") -> dict[str, Any]:
    decision = {"type": "approval", "tool_call_id": "call-0-ring", "approve": approve}
    return {"type": "approval", "approvals": [decision], "otid": otid}


SENDER = "agent-00000000-0000-4000-8000-000000000001"


@pytest.mark.parametrize("changed", [{"content": "x"}, {"role": "system"}, {"name": "Bob"}, {"sender_id": SENDER}])
def test_a_used_otid_with_anything_else_in_its_message_is_a_new_message(tmp_path: Path, changed: dict[str, Any]) -> None:
    world, agent_id = opened(tmp_path)
    first = sent(world, agent_id, line(1))
    other = sent(world, agent_id, line(1, **changed))
    assert (other.attached, other.run_id == first.run_id) == (False, False)
    assert sent(world, agent_id, line(1, **changed)).run_id == other.run_id


def test_a_text_and_its_part_are_the_same_content(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    first = sent(world, agent_id, line(1))
    again = sent(world, agent_id, line(1, content=[{"type": "text", "text": "line 1"}]))
    assert (again.run_id, again.attached) == (first.run_id, True)


@pytest.mark.parametrize("when", ["at once", "after"])
@pytest.mark.parametrize("count", COUNTS)
def test_a_request_with_one_other_content_is_a_new_one_whatever_its_length(tmp_path: Path, count: int, when: str) -> None:
    world, agent_id = opened(tmp_path)
    lines = [line(number) for number in range(count)]
    first = sent(world, agent_id, *lines)
    if when == "after":
        world.advance(first.run_id)
    assert sent(world, agent_id, *lines).run_id == first.run_id
    seen = {first.run_id}
    for place in (0, count // 2, count - 1):
        other = sent(world, agent_id, *lines[:place], line(place, content="other"), *lines[place + 1 :])
        assert not other.attached
        assert other.run_id not in seen
        seen.add(other.run_id)


@pytest.mark.parametrize("when", ["at once", "after"])
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("new", [line(2_000), {"role": "user", "content": "without an otid"}])
def test_a_new_message_behind_used_ones_is_refused_and_never_swallowed(
    tmp_path: Path, count: int, when: str, new: dict[str, Any]
) -> None:
    world, agent_id = opened(tmp_path)
    lines = [line(number) for number in range(count)]
    first = sent(world, agent_id, *lines)
    if when == "after":
        world.advance(first.run_id)
    with pytest.raises(InvalidArgument, match=f"'otid-0' was used before, by a message of the run {first.run_id}"):
        sent(world, agent_id, *lines, new)


@pytest.mark.parametrize("when", ["at once", "after"])
@pytest.mark.parametrize("count", COUNTS)
def test_some_messages_of_a_request_attach_to_its_run(tmp_path: Path, count: int, when: str) -> None:
    world, agent_id = opened(tmp_path)
    lines = [line(number) for number in range(count)]
    first = sent(world, agent_id, *lines)
    if when == "after":
        world.advance(first.run_id)
    for some in (lines[1:2], lines[:-1], [*lines[: count // 2], *lines[-2:]]):
        again = sent(world, agent_id, *some)
        assert (again.run_id, again.attached) == (first.run_id, True)


LONG = COUNTS[-1]
PARTS = {
    "a page": (INPUT_PAGE, 2 * INPUT_PAGE),
    "across two pages": (30, 60),
    "all but the first page": (INPUT_PAGE, LONG),
    "the last": (LONG - 1, LONG),
}


@pytest.mark.parametrize("when", ["at once", "in the queue", "between two pages", "after"])
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_any_later_messages_of_a_long_request_attach_to_its_run(tmp_path: Path, part: tuple[int, int], when: str) -> None:
    world, agent_id = opened(tmp_path)
    if when == "in the queue":
        world.accept(agent_id, "before")
    lines = [line(number) for number in range(LONG)]
    first = sent(world, agent_id, *lines)
    assert first.waits is (when == "in the queue")
    if when == "after":
        world.advance(first.run_id)
    if when == "between two pages":
        dies_at_write(world, first.run_id, 3)
    again = sent(world, agent_id, *lines[slice(*part)])
    assert (again.run_id, again.attached) == (first.run_id, True)
    with pytest.raises(InvalidArgument, match=f"was used before, by a message of the run {first.run_id}"):
        sent(world, agent_id, *lines[slice(*part)], line(2_000))
    with pytest.raises(InvalidArgument, match=f"was used before, by a message of the run {first.run_id}"):
        sent(world, agent_id, *[line(number) for number in range(3_000, 3_000 + LONG)], *lines[slice(*part)])
    other = sent(world, agent_id, line(part[0], content="other"))
    assert not other.attached
    world.sweep()
    assert [row.text() for row in world.log(agent_id) if row.run_id == first.run_id and row.role == "user"] == [
        f"line {number}" for number in range(LONG)
    ]


@dataclass
class Meanwhile:
    """Something that happens at one moment of a request: before or after one of its calls of the table."""

    moment: int
    act: Callable[[], object]
    happened: bool = False

    def __call__(self, number: int, _: str) -> None:
        if number == self.moment:
            self.happened = True
            self.act()


@pytest.mark.parametrize("part", [(40, LONG), (80, 90)])
@pytest.mark.parametrize("new", [0, INPUT_PAGE])
@pytest.mark.parametrize("what", ["a page is appended", "the queue moves"])
def test_no_message_of_a_long_request_is_taken_twice_whatever_happens_while_it_is_sent_again(
    tmp_path: Path, what: str, new: int, part: tuple[int, int]
) -> None:
    lines = [line(number) for number in range(LONG)]
    again = [*(line(number) for number in range(3_000, 3_000 + new)), *lines[slice(*part)]]

    def happens(moment: int) -> bool:
        world, agent_id = opened(tmp_path / str(moment))
        owner = world.accept(agent_id, "before").run_id if what == "the queue moves" else None
        first = sent(world, agent_id, *lines)

        def act() -> None:
            if owner is None:
                dies_at_write(world, first.run_id, 3)
            else:
                world.advance(owner)
                sent(world, agent_id, {"role": "user", "content": "behind it"})

        if owner is None:
            dies_at_write(world, first.run_id, 3)
        meanwhile = Meanwhile(moment, act)
        with suppress(InvalidArgument):
            sent(World(world.data, holder="host:3", wrap=lambda table: CountingTable(table, meanwhile)), agent_id, *again)
        world.sweep()
        otids = Counter(row.otid for row in world.log(agent_id) if row.otid is not None and row.role == "user")
        assert set(otids.values()) == {1}
        return meanwhile.happened

    moments = next(moment for moment in itertools.count(1) if not happens(moment))
    assert moments > 6


def test_the_last_message_of_a_first_page_behind_an_answer_attaches(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, ASK)
    world.send(agent_id, "hello")
    lines = [line(number) for number in range(LONG)]
    run_id = sent(world, agent_id, answer(), *lines).run_id
    for number in (INPUT_PAGE - 1, INPUT_PAGE):
        assert sent(world, agent_id, lines[number]).run_id == run_id
    while world.advance(run_id) == "advance":
        pass
    for number in (INPUT_PAGE - 1, INPUT_PAGE, LONG - 1):
        assert sent(world, agent_id, lines[number]).run_id == run_id


def test_messages_of_two_runs_are_compared_with_their_own(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    first = sent(world, agent_id, line(1))
    sent(world, agent_id, line(2))
    assert sent(world, agent_id, line(1), line(2)).run_id == first.run_id
    assert not sent(world, agent_id, line(1), line(2, content="other")).attached


def test_a_run_of_an_older_release_is_compared_by_its_messages(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    first = sent(world, agent_id, line(1))
    state = world.run(first.run_id)
    assert state.run.input_digest is not None
    old = replace(state, run=state.run.model_copy(update={"input_digest": None}), token="older")
    world.stores.writer.write(world.stores.runs.change(old, (), None), token="older")
    assert sent(world, agent_id, line(1)).run_id == first.run_id
    assert sent(world, agent_id, line(1, content="other")).run_id != first.run_id


def test_a_message_without_an_otid_leaves_no_digest(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path)
    assert world.run(sent(world, agent_id, {"role": "user", "content": "hi"}).run_id).run.input_digest is None


def test_an_answer_with_the_otid_of_a_message_answers(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, ASK)
    world.send(agent_id, "hello", otids=["answer"])
    answered = sent(world, agent_id, answer())
    assert not answered.attached
    assert world.head(agent_id).pending is None
    assert sent(world, agent_id, answer()).run_id == answered.run_id


def test_a_second_answer_with_the_otid_of_the_first_answers_what_waits_now(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, ASK, ASK)
    world.send(agent_id, "hello")
    first = sent(world, agent_id, answer())
    world.sending.start(first.run_id)
    world.workflow.drive()
    assert world.head(agent_id).pending == first.run_id
    second = sent(world, agent_id, answer(approve=False))
    assert (second.attached, second.run_id == first.run_id, world.head(agent_id).pending) == (False, False, None)


def test_a_message_with_the_otid_of_an_answer_is_a_new_message(tmp_path: Path) -> None:
    world, agent_id = opened(tmp_path, ASK)
    world.send(agent_id, "hello")
    answered = sent(world, agent_id, answer())
    said = sent(world, agent_id, line(1, otid="answer"))
    assert (said.attached, said.run_id == answered.run_id) == (False, False)


@pytest.mark.parametrize("digest", ["", "the same body"])
def test_an_answer_is_given_again_after_its_run_was_cancelled(tmp_path: Path, digest: str) -> None:
    world, agent_id = opened(tmp_path, ASK)
    world.send(agent_id, "hello")
    first = sent(world, agent_id, answer(), digest=digest)
    world.chain.termination.end(first.run_id, StopReason.CANCELLED)
    assert world.run(first.run_id).run.status is RunStatus.CANCELLED
    if digest:
        assert sent(world, agent_id, answer(), digest=digest, retry=1).run_id == first.run_id, "the client's own retry"
    again = sent(world, agent_id, answer(), digest=digest)
    assert (again.attached, again.run_id == first.run_id) == (False, False)
    world.sending.start(again.run_id)
    world.workflow.drive()
    last = world.log(agent_id)[-1]
    assert (last.role, last.content) == ("assistant", [TextContent(text="done")])
