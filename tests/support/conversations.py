"""Conversations over a `World`: their use cases, and rows that a test appends without a run."""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.window import window
from hibernaut.schemas.agents.conversation import Window
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.messages.message import FunctionCall, Message, Role, ToolCall, ToolReturn
from hibernaut.schemas.runs.send import LettaRequest
from hibernaut.services.conversations.conversation_creation import ConversationCreation
from hibernaut.services.conversations.conversation_deletion import ConversationDeletion
from hibernaut.services.conversations.conversations import Conversations
from hibernaut.services.records import Records, records_over
from hibernaut.services.sending.sending import SendRequest
from hibernaut.store.conversations.conversations import explicit_window
from tests.support.world import World


def records_of(world: World) -> Records:
    return records_over(world.stores, world.clock, world.ids)


def conversations_of(world: World) -> Conversations:
    """The use cases of conversations, composed as in the composition root."""
    records = records_of(world)
    return Conversations(
        records,
        prompts=world.chain.prompts,
        models=world.models,
        openings=ConversationCreation(records, prompts=world.chain.prompts, models=world.models),
        ends=ConversationDeletion(records, termination=world.chain.termination),
    )


def begin_in(world: World, agent_id: str, conversation: str, text: str, **options: object) -> str:
    """Accept and start a message to a conversation; returns the run's id. No step is executed yet."""
    body = LettaRequest.model_validate({"input": text, **options})
    request = SendRequest(agent_id, body, "send_conversation_message", world.ids.token(), conversation_id=conversation)
    accepted = world.sending.accept(request)
    world.data.sent[accepted.run_id] = [text]
    if not accepted.waits:
        world.sending.start(accepted.run_id)
    return accepted.run_id


def append(world: World, conversation: str, rows: Sequence[Message], narrowed: Window | None = None) -> None:
    """Append rows to a log in one transaction. `narrowed`: the new window, if any."""
    head = world.head(conversation)
    after = head.model_copy(
        update={
            "version": head.version + 1,
            "last_message": rows[-1].id,
            "newest": [row.id for row in rows],
            "messages": head.messages + len(rows),
            "window": narrowed or head.window,
        }
    )
    store = world.stores.conversations
    world.stores.writer.write(store.change_head(head, after, "t"), *store.put_rows(head, rows), token="t")


def row(world: World, conversation: str, role: Role, *, after: str | None = None, **fields: object) -> Message:
    """A row that is not stored yet."""
    head = world.head(conversation)
    text = [TextContent(text="said")]
    own = None if conversation == head.agent_id else conversation
    last = after or head.last_message
    return Message(
        id=world.ids.new("message", after=last),
        role=role,
        agent_id=head.agent_id,
        conversation_id=own,
        created_at=world.clock.now(),
        **{"content": text, **fields},  # type: ignore[arg-type]
    )


def talk(world: World, conversation: str, *, calls: bool = False, returned: bool = True) -> list[str]:
    """Append a turn: a message and its answer, with a tool call if `calls`. Returns the ids of its rows."""
    rows = [row(world, conversation, "user")]
    call = ToolCall(id=f"call-{rows[0].id}", function=FunctionCall(name="ring", arguments="{}"))
    rows.append(row(world, conversation, "assistant", after=rows[-1].id, tool_calls=[call] if calls else None))
    if calls and returned:
        answers = [ToolReturn(tool_call_id=call.id, status="success")]
        rows.append(row(world, conversation, "tool", after=rows[-1].id, tool_returns=answers))
    append(world, conversation, rows)
    return [one.id for one in rows]


def compact(world: World, conversation: str, keep: int) -> str:
    """Replace all but the newest `keep` rows of the window by a summary. Returns the summary's id."""
    loaded = world.stores.conversations.load(conversation)
    assert loaded is not None
    summary = row(world, conversation, "summary")
    messages = loaded.messages
    kept = [messages[0], *messages[max(1, len(messages) - keep) :]]
    append(world, conversation, [summary], window.narrowed(loaded.head.window, messages, kept, summary.id))
    return summary.id


def choose(world: World, conversation: str, message_ids: Sequence[str]) -> None:
    """Set the window to the system message and these rows."""
    head = world.head(conversation)
    chosen = explicit_window([head.window.pinned[0], *message_ids], head)
    after = head.model_copy(update={"version": head.version + 1, "window": chosen})
    world.stores.writer.write(world.stores.conversations.change_head(head, after, "t"), token="t")


def window_of(world: World, conversation: str, *, fresh: bool = False) -> list[str]:
    """The ids in context. `fresh`: as a worker without a cache of the conversation loads them."""
    if fresh:
        world.stores.conversations.forget(conversation)
    loaded = world.stores.conversations.load(conversation)
    assert loaded is not None
    return [one.id for one in loaded.messages]
