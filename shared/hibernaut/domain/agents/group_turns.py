"""The turns of a group's agents: the next speaker, the messages to an agent, and the log of the group (RT 9.4).
Pure.

A group has a conversation of its own under its own id. No model is called in it: `next_reply` decides each step from the log, and
a step is a call of `group_turn`, whose return holds the sayings of the agent. The call's id names the agent and the purpose of
the turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, cast

from hibernaut.domain.agents.agent_calls import GROUP_TURN, TO_GROUP
from hibernaut.domain.tools.tool_returns import clip, json_object, unpack
from hibernaut.schemas.agents.group import ManagerType, StoredGroup
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.content import ImageContent, TextContent
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.limits import LONGEST_NAME
from hibernaut.schemas.messages.message import Message, ToolReturn
from hibernaut.schemas.models.model_call import ModelReply, ModelToolCall
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.runs.send import MessageCreate
from hibernaut.schemas.tools.tool import DEFAULT_RETURN_LIMIT, Tool, ToolType
from hibernaut.schemas.usage import CalledUsage

Purpose = Literal["speak", "choose", "supervise"]
"""The purpose of an agent's turn: to answer; to name the next speaker; or to answer after messages to the others."""
MOST_TURNS = 200
"""The largest number of turns that a group takes for one message."""
MOST_APART = 20
"""The number of messages that an agent receives one by one. Earlier ones are combined in one message."""
LONGEST_DIGEST = 60_000
"""The largest number of characters of that message."""
MOST_NAMED = 20
"""The number of agents that the message to a supervisor names."""
NOBODY = "The manager named no agent of the group, so nobody speaks."
AGAIN = "It is your turn again."


@immutable
class Saying:
    """A text that an agent has said in a group. `failed`: the text is the reason why the agent did not answer. `name` None: the
    agent is deleted.
    """

    agent_id: str
    name: str | None
    text: str
    failed: bool = False

    @property
    def line(self) -> str:
        """The text as other agents receive it."""
        return f"{self.name or self.agent_id}{' could not answer' if self.failed else ''}: {self.text}"

    def packed(self) -> JsonObject:
        """The saying as an item of the return of a turn (`return_of`), with the text clipped to the limit of a tool return."""
        return {
            "agent_id": self.agent_id,
            "name": self.name,
            "text": clip(self.text, DEFAULT_RETURN_LIMIT),
            "failed": self.failed,
        }


@immutable
class GroupTurn:
    """A turn: its agent, its purpose, the note to the agent, and the sayings, which are none until the turn is over, and if the
    agent said nothing.
    """

    agent_id: str
    purpose: Purpose = "speak"
    note: str = ""
    sayings: tuple[Saying, ...] = ()

    @property
    def failed(self) -> bool:
        return any(one.failed for one in self.sayings)


def is_group(agent_id: str) -> bool:
    """Whether the id names the conversation of a group in place of an agent."""
    return agent_id.startswith("group-")


def tool_of_turns() -> Tool:
    """The only tool of a group."""
    return _tool(
        GROUP_TURN,
        "Lets an agent of the group take its turn.",
        {"agent_id": "The agent.", "purpose": "speak, choose or supervise.", "note": "What the agent is told of its turn."},
    )


def tool_of_supervisor() -> Tool:
    """The tool that a supervisor has in its turn."""
    description = "Sends a message to all agents of your group, and returns the reply of each of them."
    return _tool(TO_GROUP, description, {"message": "The message to all agents of the group."})


def _tool(name: str, description: str, arguments: Mapping[str, str]) -> Tool:
    properties: JsonObject = {key: {"type": "string", "description": text} for key, text in arguments.items()}
    parameters: JsonObject = {"type": "object", "properties": properties, "required": [*arguments]}
    schema: JsonObject = {"name": name, "description": description, "parameters": parameters}
    return Tool(
        id=f"group:{name}", name=name, tool_type=ToolType.LETTA_MULTI_AGENT_CORE, description=description, json_schema=schema
    )


def supervises(run: StoredRun) -> bool:
    """Whether the run is the turn of a group's supervisor."""
    return (run.metadata or {}).get("group_purpose") == "supervise"


def calls_group(run: StoredRun) -> bool:
    """Whether the calls of the run begin turns of a group's agents: the run of a group, or of its supervisor."""
    return is_group(run.agent_id) or supervises(run)


def used_by(runs: Iterable[StoredRun]) -> CalledUsage:
    """The usage of these runs of a group's agents, with the runs that answered their own calls of the group."""
    total = CalledUsage()
    for run in runs:
        total = total.plus(CalledUsage(steps=run.steps, usage=run.usage)).plus(run.called)
    return total


def shown_usage(run: StoredRun) -> CalledUsage:
    """The steps and the usage that a reply and a run tell: of a group's run those of its agents' runs, of others their own."""
    own = CalledUsage(steps=0 if is_group(run.agent_id) else run.steps, usage=run.usage)
    return own.plus(run.called) if is_group(run.agent_id) else own


# the next speaker


def turns_of(rows: Sequence[Message], run_id: str) -> list[GroupTurn]:
    """The turns of a run of the group, in order."""
    turns: list[GroupTurn] = []
    for row in rows:
        if row.run_id != run_id:
            continue
        if (turn_begun := turn_begun_by(row)) is not None:
            turns.append(turn_begun)
        elif row.role == "tool" and turns:
            turns[-1] = replace(turns[-1], sayings=sayings_of(row))
    return turns


def turn_begun_by(row: Message) -> GroupTurn | None:
    """The turn that a row of the group's log begins; None for other rows."""
    for call in row.tool_calls or ():
        arguments = json_object(call.function.arguments) or {}
        return turn_of(arguments)
    return None


def turn_of(arguments: JsonObject) -> GroupTurn:
    """The turn that a call of `group_turn` requests."""
    purpose = cast("Purpose", arguments.get("purpose", "speak"))
    return GroupTurn(str(arguments.get("agent_id", "")), purpose, str(arguments.get("note", "")))


def next_reply(group: StoredGroup, names: Mapping[str, str], rows: Sequence[Message], run_id: str) -> ModelReply:
    """The next step of a run of the group: a call that lets an agent take its turn, or none if the run is over.

    `names`: the names of the group's agents by id. `rows`: the window of the group's log.
    """
    earlier_turns = turns_of(rows, run_id)
    turn = _next(group, names, earlier_turns)
    if isinstance(turn, str):
        return ModelReply(text=turn)
    arguments = json.dumps({"agent_id": turn.agent_id, "purpose": turn.purpose, "note": turn.note}, ensure_ascii=False)
    return ModelReply(
        tool_calls=(ModelToolCall(f"{turn.agent_id}.{turn.purpose}.{len(earlier_turns)}", GROUP_TURN, arguments),),
        finish_reason="tool_calls",
    )


def most_turns(group: StoredGroup) -> int:
    """How often an agent of the group speaks for one message at most."""
    return group.max_turns or len(group.agent_ids)


def _next(group: StoredGroup, names: Mapping[str, str], earlier_turns: Sequence[GroupTurn]) -> GroupTurn | str:
    """The next turn, or the last words of the group, which may be empty."""
    manager = group.manager_agent_id or ""
    if not group.agent_ids:  # all were taken out while the run was under way
        return ""
    if group.manager_type is ManagerType.SUPERVISOR:
        return "" if earlier_turns else GroupTurn(manager, "supervise", _for_supervisor(group, names))
    speak_turns = sum(turn.purpose == "speak" for turn in earlier_turns)
    if speak_turns >= most_turns(group):
        return ""
    if group.manager_type is not ManagerType.DYNAMIC:
        return GroupTurn(group.agent_ids[speak_turns % len(group.agent_ids)])
    if not earlier_turns or earlier_turns[-1].purpose == "speak":
        return GroupTurn(manager, "choose", _for_manager(group, names))
    answer = "\n".join(one.text for one in earlier_turns[-1].sayings)
    if earlier_turns[-1].failed or (group.termination_token and group.termination_token in answer):
        return ""
    if next_speaker := named_in(answer, {agent_id: names.get(agent_id, agent_id) for agent_id in group.agent_ids}):
        return GroupTurn(next_speaker)
    asked_twice = len(earlier_turns) > 1 and earlier_turns[-2].purpose == "choose"
    return NOBODY if asked_twice else GroupTurn(manager, "choose", _for_manager(group, names))


def named_in(answer: str, names: Mapping[str, str]) -> str | None:
    """The agent that an answer names first, by its name or its id; of two names at one place the longer one."""
    found: list[tuple[int, int, str]] = []
    for agent_id, name in names.items():
        for text in (name, agent_id):
            match = re.search(rf"(?<!\w){re.escape(text)}(?!\w)", answer)
            if match:
                found.append((match.start(), -len(text), agent_id))
    return min(found)[2] if found else None


# the messages to an agent


def turn_messages(group_id: str, turn: GroupTurn, rows: Sequence[Message]) -> list[MessageCreate]:
    """The messages of a turn: the sayings in the group since the agent's turn before, and the purpose of its turn. The same log
    and turn give the same messages, however often the call is repeated.
    """
    news = _news(group_id, turn.agent_id, rows)
    early, late = news[:-MOST_APART], news[-MOST_APART:]
    if early:
        lines = "\n".join(f"{one.name or one.role}: {_text(one)}" if one.role == "user" else _text(one) for one in early)
        late = [_note(group_id, f"Earlier in the group:\n{lines[-LONGEST_DIGEST:]}"), *late]
    match turn.purpose:
        case "supervise":
            return [_note(group_id, turn.note), *late]
        case "choose":
            return [*late, _note(group_id, turn.note)]
        case "speak":
            return late or [_note(group_id, AGAIN)]


def _news(group_id: str, agent_id: str, rows: Sequence[Message]) -> list[MessageCreate]:
    """The messages of the group's log after the agent's last turn."""
    news: list[MessageCreate] = []
    own = False
    for row in rows[1:]:  # the first one is the system message
        if (turn_begun := turn_begun_by(row)) is not None:
            own = turn_begun.agent_id == agent_id
        elif row.role == "tool":
            news = [] if own else [*news, *(_saying(group_id, one) for one in shown_sayings(row))]
        elif row.role in ("user", "summary", "system"):
            role: Literal["user", "system"] = "user" if row.role == "user" else "system"
            shared_parts = [part for part in row.content if isinstance(part, TextContent | ImageContent)]
            news.append(
                MessageCreate(
                    role=role, content=shared_parts, name=_name(row.name), sender_id=_name(row.sender_id), group_id=group_id
                )
            )
    return news


def _name(stored: str | None) -> str | None:
    """A stored name within the limit of a message."""
    return stored and stored[:LONGEST_NAME]


def _saying(group_id: str, saying: Saying) -> MessageCreate:
    return MessageCreate(role="system", content=saying.line, name=saying.name, sender_id=saying.agent_id, group_id=group_id)


def _note(group_id: str, text: str) -> MessageCreate:
    return MessageCreate(role="system", content=text, group_id=group_id)


def _text(message: MessageCreate) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n".join(part.text for part in message.content if part.type == "text")


def _for_supervisor(group: StoredGroup, names: Mapping[str, str]) -> str:
    all_names = [names.get(agent_id, agent_id) for agent_id in group.agent_ids]
    more = f" and {len(all_names) - MOST_NAMED} more" if len(all_names) > MOST_NAMED else ""
    return (
        f"You supervise a group of agents: {', '.join(all_names[:MOST_NAMED])}{more}. The tool {TO_GROUP} sends all of them a message and returns "
        "their replies. What you answer at the end is the answer of the group."
    )


def _for_manager(group: StoredGroup, names: Mapping[str, str]) -> str:
    agent_names = ", ".join(names.get(agent_id, agent_id) for agent_id in group.agent_ids)
    ending = f" If nobody needs to speak any more, answer {group.termination_token}." if group.termination_token else ""
    return f"You lead a conversation of these agents: {agent_names}. Who speaks next? Answer with one of these names and nothing else.{ending}"


# sayings


def sayings_of(row: Message) -> tuple[Saying, ...]:
    """The sayings of the turn whose return is this row."""
    return tuple(one for answer in row.tool_returns for one in _sayings_in(answer))


def shown_sayings(row: Message) -> tuple[Saying, ...]:
    """The sayings that the log of the group shows of the turn whose return is this row: all but the choice of the next
    speaker.
    """
    if any(answer.tool_call_id.split(".")[1:2] == ["choose"] for answer in row.tool_returns):
        return tuple(one for one in sayings_of(row) if one.failed)
    return sayings_of(row)


def _sayings_in(answer: ToolReturn) -> list[Saying]:
    packed_return = (json_object(answer.func_response or "") or {}).get("message")
    sayings = packed_return.get("said") if isinstance(packed_return, dict) else None
    if not isinstance(sayings, list):
        text = unpack(answer.func_response or "")  # a call that was refused or broken off, or a text that was erased
        return [Saying(answer.tool_call_id.partition(".")[0], None, text, failed=answer.status == "error")]
    return [
        Saying(str(one["agent_id"]), str(one["name"]) if one.get("name") else None, str(one["text"]), bool(one.get("failed")))
        for one in sayings
        if isinstance(one, dict)
    ]


def return_of(sayings: Sequence[Saying]) -> JsonObject:
    """The return of a turn."""
    packed_sayings: list[Json] = [one.packed() for one in sayings]
    return {"said": packed_sayings}


def replies_in(rows: Sequence[Message]) -> list[Saying]:
    """The replies of the agents to their supervisor, from the rows of its run."""
    sayings: list[Saying] = []
    for answer in (answer for row in rows if row.name == TO_GROUP or len(row.tool_returns) > 1 for answer in row.tool_returns):
        packed_return = (json_object(answer.func_response or "") or {}).get("message")
        if isinstance(packed_return, dict) and "said" in packed_return:
            sayings += _sayings_in(answer)
    return sayings
