"""The calls of a group: `group_turn`, by which the group lets an agent take its turn, and the tool of its supervisor (RT 9.4).

`AgentMessages` performs them as it does all calls to agents. This module determines the recipients, their messages, and the
return.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hibernaut.domain.agents import agent_calls, group_turns
from hibernaut.domain.agents.agent_calls import GROUP_TURN, TO_GROUP
from hibernaut.domain.agents.group_turns import Saying
from hibernaut.domain.turn.actor import Call
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.runs.send import MessageCreate
from hibernaut.schemas.stop import StopReason
from hibernaut.services.sending.agent_replies import AgentReplies
from hibernaut.services.steps.step_work import StepWork
from hibernaut.services.tool_calls.agent_calls import CallRefused
from hibernaut.store.runs.runs import RunState
from hibernaut.store.stores import TenantStores

RUN_TYPE = "group_turn"
"""The `run_type` in the metadata of a run that is a turn in a group."""
WAITS_FOR_APPROVAL = "waits for the approval of a call; the group goes on without it"
Outcome = tuple[str, str | None, RunState | None]
"""An agent, the reason why no message was sent (None if one was sent), and its run."""


class GroupCalls:
    """What the calls of one tenant's groups say and return."""

    def __init__(self, stores: TenantStores, replies: AgentReplies) -> None:
        self._groups = stores.groups
        self._agents = stores.agents
        self._conversations = stores.conversations
        self._replies = replies

    def targets(self, run: StoredRun, call: Call) -> list[str]:
        """The agents that a call is for. Raises: CallRefused if the group does not exist any more."""
        if call.name == GROUP_TURN:
            return [group_turns.turn_of(call.args).agent_id]
        group = self._groups.get(agent_calls.group_of(run) or "")
        if group is None:
            raise CallRefused("Nothing was sent: the group does not exist any more.")
        return [agent_id for agent_id in group.agent_ids if agent_id != run.agent_id]

    def messages(self, work: StepWork, call: Call, otids: Callable[[int], str]) -> list[MessageCreate]:
        """The messages to an agent in its turn. `otids`: the otid of a message by its place; a request is recognised only if all
        its messages have one.
        """
        messages = group_turns.turn_messages(work.agent.id, group_turns.turn_of(call.args), work.turn.messages)
        return [one.model_copy(update={"otid": otids(index)}) for index, one in enumerate(messages)]

    def links(self, run: StoredRun, call: Call) -> JsonObject:
        """The metadata of the run that a call begins, beside what all calls between agents have."""
        found: JsonObject = {**agent_calls.links(run, waits=True)}
        return {**found, "group_purpose": group_turns.turn_of(call.args).purpose} if call.name == GROUP_TURN else found

    def result(self, call: Call, outcomes: Sequence[Outcome], pending_text: str) -> JsonObject:
        """The return of a call: the replies, in the order of the agents. `pending_text`: the text for a run that has not
        ended.
        """
        names = self._names([agent_id for agent_id, _, _ in outcomes])
        supervised = call.name == GROUP_TURN and group_turns.turn_of(call.args).purpose == "supervise"
        sayings: list[Saying] = []
        for agent_id, refusal, state in outcomes:
            if supervised and state is not None:
                sayings += group_turns.replies_in(self._rows(state.run))
            error, texts = (refusal, list[str]()) if refusal is not None else self._replies.of(state, pending_text)
            sayings += _sayings(agent_id, names.get(agent_id), texts, error or _left_open(state))
        return group_turns.return_of(sayings)

    def _rows(self, run: StoredRun) -> list[Message]:
        """The rows of a run."""
        if not run.first_message:
            return []
        last = run.last_message or run.first_message
        return self._conversations.page(run.conversation_id or run.agent_id, after=run.first_message[:-1], before=f"{last}~")

    def _names(self, agent_ids: Sequence[str]) -> dict[str, str]:
        return {agent_id: agent.name for agent_id, agent in self._agents.get_many(agent_ids).items()}


def _sayings(agent_id: str, name: str | None, texts: Sequence[str], error: str | None) -> list[Saying]:
    sayings = [Saying(agent_id, name, text) for text in texts if text]
    return sayings if error is None else [*sayings, Saying(agent_id, name, error, failed=True)]


def _left_open(state: RunState | None) -> str | None:
    """The text for an agent whose run ended with a request for approval."""
    asks = state is not None and state.run.stop_reason is StopReason.REQUIRES_APPROVAL
    return WAITS_FOR_APPROVAL if asks else None


def is_of_group(call: Call) -> bool:
    """Whether a call is one of a group."""
    return call.name in (GROUP_TURN, TO_GROUP)
