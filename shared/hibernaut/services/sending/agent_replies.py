"""What a called agent has answered: the texts of its run, or why there are none."""

from __future__ import annotations

from hibernaut.schemas.content import TextContent
from hibernaut.schemas.messages.letta_message import AssistantMessage
from hibernaut.schemas.stop import RunStatus
from hibernaut.services.logs.messages import MessageLists, MessageQuery
from hibernaut.store.runs.runs import RunState
from hibernaut.store.stores import TenantStores


class AgentReplies:
    """Reads the replies of one tenant's agents."""

    def __init__(self, stores: TenantStores) -> None:
        self._lists = MessageLists(
            agents=stores.agents, conversations=stores.conversations, agent_logs=stores.agent_logs, log=stores.messages
        )

    def of(self, state: RunState | None, pending_text: str) -> tuple[str | None, list[str]]:
        """An error or None, and the texts. `pending_text`: the error of a run that has not ended."""
        if state is None:
            return "the other agent, or its run, was deleted", []
        if not state.ended:
            return pending_text, []
        if state.run.status is not RunStatus.COMPLETED:
            return state.run.error.message if state.run.error else f"the other agent's run was {state.run.status.value}", []
        messages = self._lists.of_run(state.run, MessageQuery(limit=None, descending=False))
        return None, [_text(message) for message in messages if isinstance(message, AssistantMessage)]


def _text(message: AssistantMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n".join(part.text for part in message.content if isinstance(part, TextContent))
