"""Forcing the order of two workers' actions: what one of them is about to do waits until somebody else has done something."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hibernaut.ports.runs.workflow import RunRef
from hibernaut.ports.storage.table import Table
from hibernaut.schemas.messages.letta_message import ApprovalItem, ApprovalReturn
from hibernaut.schemas.runs.send import ApprovalCreate, LettaRequest, MessageCreate
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule
from hibernaut.services.sending.sending import AcceptedRequest, SendRequest
from hibernaut.store.table import keys
from tests.support.scripted_model import Script, calls
from tests.support.tables import CountingTable
from tests.support.world import Inline, World, data_in

INSERT = calls(("memory_insert", {"label": "human", "new_string": "Oslo"}))
RING = calls(("ring", {"x": "twice"}))


class Died(BaseException):
    """The process is no more."""


def opened(folder: Path, script: Script, *, held: bool = False) -> tuple[World, str]:
    """A house and its agent; `held`: the tool `ring` needs an approval."""
    world = World(data_in(folder, script))
    rules = (RequiresApprovalToolRule(tool_name="ring"),) if held else ()
    return world, world.make_agent(blocks={"human": "Ann"}, tools=("memory_insert", "ring"), rules=rules)


def meanwhile(world: World, happens: Callable[[], object], when: Callable[[], bool], *, holder: str = "host:1") -> World:
    """A process over the same data in which `happens` comes between its decision and its first write at which `when` holds."""
    done: list[bool] = []

    def before(_number: int, kind: str) -> None:
        if kind == "before write" and not done and when():
            done.append(True)
            happens()

    def watched(table: Table) -> Table:
        return CountingTable(table, before)

    return World(world.data, holder=holder, alone=False, wrap=watched)


def takes_over(world: World) -> World:
    """Another process, for which every lease and claim is past its time."""
    world.clock.sleep(1000)
    return World(world.data, holder="host:2", alone=False)


def settles(world: World) -> None:
    """Everything that is open is taken up until nothing moves."""
    for _ in range(3):
        other = takes_over(world)
        other.engines.sweep.run()
        other.workflow.drive()


def run_ids(world: World, agent_id: str) -> list[str]:
    return [keys.last_part(str(row["sk"])) for row in world.stores.runs.walk([agent_id])]


def returns(world: World, agent_id: str) -> list[str]:
    """What the tools gave, as the log tells it."""
    return [answer.func_response or "" for row in world.log(agent_id) for answer in row.tool_returns]


def answers(world: World, agent_id: str, *, approve: bool = True, text: str = "") -> AcceptedRequest:
    """Every call that waits is approved or denied; `text` is a further message."""
    asking = world.head(agent_id).pending
    assert asking is not None
    state = world.stores.approvals.get(asking)
    assert state is not None
    items: list[ApprovalItem] = [ApprovalReturn(tool_call_id=call.id, approve=approve, reason=None) for call in state.record.held]
    further = [MessageCreate(role="user", content=text)] if text else []
    body = LettaRequest(messages=[ApprovalCreate(approvals=items), *further])
    return world.chain.sending.accept(SendRequest(agent_id, body, "send_message", world.ids.token()))


class NotedWaits(Inline):
    """A workflow that notes which waits were ended."""

    def __init__(self) -> None:
        super().__init__()
        self.ended: list[str] = []

    def end_wait(self, _run: RunRef, token: str) -> None:
        self.ended.append(token)
