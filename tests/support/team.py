"""Agents that call each other, in a `World` whose model says what each of them is told to say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hibernaut.domain.agents.agent_calls import AND_WAIT, MATCHING_TAGS, ONE_WAY
from hibernaut.domain.tools.tool_returns import unpack
from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.store.runs.runs import RunState
from hibernaut.store.table import keys
from tests.support.scripted_model import calls, says
from tests.support.world import Data, World, data_in

Reply = ModelReply | Exception
Play = Callable[[str, int], Reply]
"""What an agent says, by the newest message that it got and the number of its replies since."""
TOOLS = (AND_WAIT, MATCHING_TAGS, ONE_WAY)


def then(*replies: Reply) -> Play:
    """These replies one after the other for each message; the last one is repeated."""
    return lambda _, number: replies[min(number, len(replies) - 1)]


def asks(agent_id: str, message: str = "what do you say?") -> ModelReply:
    """The call that sends a message and waits for the reply."""
    return calls((AND_WAIT, {"message": message, "other_agent_id": agent_id}))


def writes(agent_id: str, message: str = "listen") -> ModelReply:
    """The call that sends a message and waits for nothing."""
    return calls((ONE_WAY, {"message": message, "other_agent_id": agent_id}))


@dataclass
class Team:
    """Agents over one `World`. `plays`: what each says, by its id."""

    world: World
    plays: dict[str, Play] = field(default_factory=dict)

    def agent(self, *replies: Reply, tags: tuple[str, ...] = (), tools: tuple[str, ...] = TOOLS) -> str:
        """Create an agent that says these replies."""
        agent_id = self.world.make_agent(tools=tools, tags=tags)
        self.plays[agent_id] = then(*(replies or (says("done"),)))
        return agent_id

    def runs(self, agent_id: str) -> list[RunState]:
        """The runs of an agent, oldest first."""
        return [self.world.run(keys.last_part(str(row["sk"]))) for row in self.world.stores.runs.walk([agent_id])]

    def the_run(self, agent_id: str) -> StoredRun:
        (state,) = self.runs(agent_id)
        return state.run

    def returned(self, agent_id: str) -> list[tuple[str, str]]:
        """Status and text of the returns in an agent's log."""
        rows = self.world.log(agent_id)
        return [(answer.status, unpack(answer.func_response or "")) for row in rows for answer in row.tool_returns]

    def got(self, agent_id: str) -> list[str]:
        """The messages that other agents sent to an agent."""
        sent = [row for row in self.world.log(agent_id) if row.role == "system" and row.run_id is not None]
        return [row.text() for row in sent]


def team_in(folder: Path, **options: Any) -> Team:
    """A team in a folder. `options`: those of its `World`."""
    plays: dict[str, Play] = {}
    return Team(World(data_with(folder, plays), **options), plays)


def data_with(folder: Path, plays: Mapping[str, Play]) -> Data:
    """Data whose model says what the plays of its agents say."""

    def script(request: ModelRequest, number: int) -> ModelReply:
        del number
        heard = [place for place, row in enumerate(request.messages) if place and row.role in ("user", "system")]
        place = max((one for one in heard if request.messages[one].step_id is None), default=0)
        after = sum(row.role == "assistant" for row in request.messages[place:])
        reply = plays[request.user or ""](request.messages[place].text(), after)
        if isinstance(reply, Exception):
            raise reply
        return reply

    return data_in(folder, script)
