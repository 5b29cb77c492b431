"""The due times of a group's sleep-time agents, and the messages that they receive (RT 9.2 and 9.3). Pure.

Each conversation of the group's manager has two marks: the last message that its sleep-time agents received (`after`), and the
last message of a turn that has ended. The messages between them are pending. A trigger of the sleep-time agents takes all pending
messages, and moves the first mark, in one transaction; so no turn is sent twice, and none is lost.
"""

from __future__ import annotations

from collections.abc import Mapping

from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.group import ManagerType, StoredGroup, TranscriptProgress

MOST_CAUGHT_UP = 32
"""The largest number of conversations whose marks a group retains, in addition to those with pending messages. It drops the ones
that were sent longest ago: of these, the first message of the next turn is the first one to be sent.
"""

MOST_PENDING = 256
"""The largest number of conversations with marks. The messages of further ones are not sent: the ones whose turns ended longest
ago are dropped.
"""


def triggered_by(agent: StoredAgent) -> str | None:
    """The group whose turns the turns of this agent may be; None: it has none, or sleep-time is off."""
    return agent.managed_group_id if agent.enable_sleeptime else None


def after_turn(group: StoredGroup, conversation: str, first: str, last: str) -> tuple[StoredGroup, bool]:
    """The group after a turn with the messages from `first` to `last`, and whether its sleep-time agents work now.

    As in Letta V1 the counter runs from 0 to one below the frequency, a new group begins at -1, and 0 is due: the first turn,
    then every n-th.
    """
    marks = group.progress.get(conversation)
    last_sent = marks.after if marks else before(first)
    conversations = _newest({**group.progress, conversation: TranscriptProgress(after=last_sent, upto=last)}, MOST_PENDING)
    frequency, counter = group.sleeptime_agent_frequency, group.turns_counter
    if frequency:
        counter = ((-1 if counter is None else counter) + 1) % frequency
    due = group.manager_type is ManagerType.SLEEPTIME and (frequency is None or (frequency > 0 and counter == 0))
    return group.model_copy(update={"progress": conversations, "turns_counter": counter, "turns": group.turns + 1}), due


def pending(group: StoredGroup) -> dict[str, TranscriptProgress]:
    """The conversations with messages that the sleep-time agents have not received, by id."""
    return {conversation: marks for conversation, marks in group.progress.items() if marks.upto > marks.after}


def caught_up(group: StoredGroup) -> StoredGroup:
    """The group after all messages were sent."""
    newest = _newest(group.progress, MOST_CAUGHT_UP)
    conversations = {
        conversation: TranscriptProgress(after=marks.upto, upto=marks.upto) for conversation, marks in newest.items()
    }
    last = max((marks.upto for marks in newest.values()), default=group.last_processed_message_id)
    return group.model_copy(update={"progress": conversations, "last_processed_message_id": last})


def with_pending(group: StoredGroup, spans: Mapping[str, TranscriptProgress]) -> StoredGroup:
    """The group after the messages of `spans` were taken, but could not be sent."""
    conversations = dict(group.progress)
    for conversation, span in spans.items():
        marks = conversations.get(conversation, span)
        conversations[conversation] = TranscriptProgress(after=min(marks.after, span.after), upto=max(marks.upto, span.upto))
    return group.model_copy(update={"progress": conversations})


def before(message_id: str) -> str:
    """A mark directly before a message."""
    return message_id[:-1]


def _newest(conversations: Mapping[str, TranscriptProgress], most: int) -> dict[str, TranscriptProgress]:
    """The `most` conversations whose turns ended last."""
    if len(conversations) <= most:
        return dict(conversations)
    return dict(sorted(conversations.items(), key=lambda each: each[1].upto, reverse=True)[:most])
