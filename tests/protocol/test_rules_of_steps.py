"""The rules by which a step is done once, whoever dies or comes too late: each in the shortest story that goes wrong without
it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.ports.storage.table import Item, Key
from hibernaut.ports.tools.tool_runner import ToolJob, ToolOutcome
from hibernaut.schemas.stop import StopReason
from hibernaut.services.tool_calls.tool_execution import INTERRUPTED
from tests.protocol.staged import INSERT, RING, Died, meanwhile, opened, returns, run_ids, settles, takes_over
from tests.support.scripted_model import echo, in_turn, says
from tests.support.settled import check_settled
from tests.support.tables import LosesResponses, PassesOn
from tests.support.world import World


def dies(job: ToolJob) -> ToolOutcome:
    raise Died


def test_rule_commit_checks_the_attempt(tmp_path: Path) -> None:
    """A zombie's other reply is not committed over a journal whose tool has run."""

    def script(request: ModelRequest, number: int) -> ModelReply:
        if number == 1:
            world.runner.does = dies
            with pytest.raises(Died):
                takes_over(world).advance(run_id)
            world.runner.does = echo
            return says("the zombie's answer")
        return RING if number == 2 else says("done")

    world, agent_id = opened(tmp_path, script)
    world = World(world.data, alone=False)
    run_id = world.begin(agent_id, "hello")
    world.workflow.drive()
    settles(world)
    assert [INTERRUPTED in text for text in returns(world, agent_id)] == [True]
    assert len(world.runner.effects) == 1
    check_settled(world, agent_id)


def test_rule_journal_before_tools(tmp_path: Path) -> None:
    """A tool ran, its worker died, and the model says something else when it is asked again."""
    world, agent_id = opened(tmp_path, in_turn(RING, says("something else")))
    world.runner.does = dies
    with pytest.raises(Died):
        world.send(agent_id, "hello")
    world.runner.does = echo
    world.reborn().sweep()
    assert [INTERRUPTED in text for text in returns(world, agent_id)] == [True]
    check_settled(world, agent_id)


def test_rule_claim_before_call(tmp_path: Path) -> None:
    """Another attempt finds the reply journaled and the call under way, or made."""
    world, agent_id = opened(tmp_path, in_turn(RING, says("done")))
    world.runner.does = dies
    with pytest.raises(Died):
        world.send(agent_id, "hello")
    world.runner.does = echo
    world.reborn().sweep()
    assert len(world.runner.effects) == 1
    check_settled(world, agent_id)


def test_rule_claim_only_while_running(tmp_path: Path) -> None:
    """The run is cancelled when its reply is journaled and its tool is about to be called."""
    plain, agent_id = opened(tmp_path, in_turn(RING, says("done")))
    run_id = plain.accept(agent_id, "hello").run_id
    cancels = lambda: plain.chain.termination.end(run_id, StopReason.CANCELLED)  # noqa: E731
    world = meanwhile(plain, cancels, lambda: plain.run(run_id).journal != "")
    world.advance(run_id)
    assert world.runner.effects == []
    check_settled(plain, agent_id)


@pytest.mark.parametrize("lost", range(1, 8))
def test_rule_own_token_means_success(lost: int, tmp_path: Path) -> None:
    """The answer of one write is lost, and the write is asked for again."""
    both = in_turn(INSERT, RING, says("done"))
    plain, agent_id = opened(tmp_path, both)
    world = World(plain.data, wrap=lambda table: LosesResponses(table, after={lost}))
    world.send(agent_id, "hello")
    assert len(run_ids(world, agent_id)) == 1
    assert world.block(agent_id, "human").value.count("Oslo") == 1
    assert ["did ring" in text for text in returns(world, agent_id)] == [False, True]
    assert len(world.models.requests) == 3
    check_settled(world, agent_id)


def test_rule_blocks_have_versions(tmp_path: Path) -> None:
    """Somebody else edits the block between the step's reading and its transaction."""

    def script(request: ModelRequest, number: int) -> ModelReply:
        return INSERT if number == 1 else says("done")

    plain, agent_id = opened(tmp_path, script)
    run_id = plain.accept(agent_id, "hello").run_id

    def edits() -> None:
        before = plain.block(agent_id, "human")
        after = before.model_copy(update={"value": "Bob"})
        plain.stores.writer.write(*plain.stores.blocks.change(before, after, "theirs"), token="theirs")

    world = meanwhile(plain, edits, lambda: plain.run(run_id).journal != "")
    world.advance(run_id)
    world.advance(run_id)
    value = world.block(agent_id, "human").value
    assert "Bob" in value
    assert value.count("Oslo") == 1
    assert len(world.models.requests) == 2, "the model is not asked again after a conflict"
    check_settled(world, agent_id)


class MovesBehindTheHead(PassesOn):
    """When a conversation's head has been read, another run passes before its tail is."""

    def __init__(self, table: object, passes: object) -> None:
        super().__init__(table)  # type: ignore[arg-type]
        self._passes = [passes]

    def get(self, key: Key) -> Item | None:
        item = super().get(key)
        if key.sk == "HEAD" and self._passes:
            self._passes.pop()()  # type: ignore[operator]
        return item


def test_rule_head_and_tail_must_agree(tmp_path: Path) -> None:
    plain, agent_id = opened(tmp_path, in_turn(says("done")))
    torn = World(plain.data, wrap=lambda table: MovesBehindTheHead(table, lambda: plain.send(agent_id, "hello")))
    loaded = torn.stores.conversations.load(agent_id)
    assert loaded is not None
    assert loaded.messages[-1].id == loaded.head.last_message
    assert len(loaded.messages) == loaded.head.messages == 3
