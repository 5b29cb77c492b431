"""When the sleep-time agents of a group work, and of which messages they are told (run-time digest 9.2 and 9.3). Pure.

Each conversation of the group's manager has two marks: the last message that its sleep-time agents were told, and the last message of a turn
that has ended. What lies between them is untold. Whoever makes the sleep-time agents work takes all that is untold, and moves the first mark,
in one transaction; so no turn is told twice, and none is lost.
"""

from __future__ import annotations

from collections.abc import Mapping

from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.group import HeardConversation, ManagerType, StoredGroup

MOST_HEARD = 32
"""The largest number of conversations whose marks a group keeps, besides those with untold messages. It forgets the ones that were told
longest ago: of these, the first message of the next turn is the first one to be told.
"""

MOST_UNTOLD = 256
"""The largest number of conversations with marks. The messages of further ones are not told: the ones whose turns ended longest ago are forgotten."""


def triggered_by(agent: StoredAgent) -> str | None:
    """The group whose turns the turns of this agent may be; None: it has none, or sleep-time is off."""
    return agent.managed_group_id if agent.enable_sleeptime else None


def after_turn(group: StoredGroup, conversation: str, first: str, last: str) -> tuple[StoredGroup, bool]:
    """The group after a turn with the messages from `first` to `last`, and whether its sleep-time agents work now.

    As in Letta V1 the counter runs from 0 to one below the frequency, a new group begins at -1, and 0 is due: the first turn, then every n-th.
    """
    known = group.heard.get(conversation)
    told = known.told if known else before(first)
    heard = _newest({**group.heard, conversation: HeardConversation(told=told, upto=last)}, MOST_UNTOLD)
    every, counter = group.sleeptime_agent_frequency, group.turns_counter
    if every:
        counter = ((-1 if counter is None else counter) + 1) % every
    due = group.manager_type is ManagerType.SLEEPTIME and (every is None or (every > 0 and counter == 0))
    return group.model_copy(update={"heard": heard, "turns_counter": counter, "turns": group.turns + 1}), due


def untold(group: StoredGroup) -> dict[str, HeardConversation]:
    """The conversations with messages that the sleep-time agents have not been told, by id."""
    return {conversation: marks for conversation, marks in group.heard.items() if marks.upto > marks.told}


def all_told(group: StoredGroup) -> StoredGroup:
    """The group when everything has been told."""
    newest = _newest(group.heard, MOST_HEARD)
    heard = {conversation: HeardConversation(told=marks.upto, upto=marks.upto) for conversation, marks in newest.items()}
    last = max((marks.upto for marks in newest.values()), default=group.last_processed_message_id)
    return group.model_copy(update={"heard": heard, "last_processed_message_id": last})


def given_back(group: StoredGroup, spans: Mapping[str, HeardConversation]) -> StoredGroup:
    """The group when the messages of `spans` were taken, but could not be told."""
    heard = dict(group.heard)
    for conversation, span in spans.items():
        known = heard.get(conversation, span)
        heard[conversation] = HeardConversation(told=min(known.told, span.told), upto=max(known.upto, span.upto))
    return group.model_copy(update={"heard": heard})


def before(message_id: str) -> str:
    """A mark directly before a message."""
    return message_id[:-1]


def _newest(heard: Mapping[str, HeardConversation], most: int) -> dict[str, HeardConversation]:
    """The `most` conversations whose turns ended last."""
    if len(heard) <= most:
        return dict(heard)
    return dict(sorted(heard.items(), key=lambda each: each[1].upto, reverse=True)[:most])
