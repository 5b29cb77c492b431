"""Conversations and their messages (digest 2.16; run-time digest 15)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done("conversations.create", "API 2.16", "Begins a conversation with an agent.", "POST /v1/conversations/"),
    done(
        "conversations.create.refused",
        "API 2.16",
        "Without `agent_id` 422; an agent, a block's label or a model's handle that does not exist is 404, and nothing is made.",
    ),
    diverging(
        "conversations.window",
        "API 2.16",
        "A conversation has its own system message, log and window; `in_context_message_ids` are always the real ids.",
        "V1 answers [] to create, update and fork.",
    ),
    done(
        "conversations.shared_blocks",
        "RT 15",
        "Conversations of an agent share its blocks: what one of them edits, the others see from their next run on.",
    ),
    done(
        "conversations.isolated",
        "RT 15",
        "`isolated_block_labels` makes private copies of blocks: the memory tools edit them, and they go with the conversation.",
    ),
    done(
        "conversations.model",
        "API 5.1",
        "The request's `override_model` goes before the conversation's `model` and `model_settings`, those before the agent's.",
    ),
    done("conversations.retrieve", "API 2.16", "One conversation.", "GET /v1/conversations/{conversation_id}"),
    done("conversations.update", "API 2.16", "Changes what the body names.", "PATCH /v1/conversations/{conversation_id}"),
    diverging(
        "conversations.update.null",
        "API 2.16",
        "null clears a field, so that a conversation can go back to its agent's model.",
        "Nothing else would take the model away again.",
    ),
    done(
        "conversations.times",
        "API 4.11",
        "`last_message_at` is the time of the newest request, `archived_at` that of the archiving.",
    ),
    done("conversations.list", "API 2.16", "Conversations, the newest first.", "GET /v1/conversations/"),
    done("conversations.list.all", "API 2.16", "Without `agent_id` those of all agents."),
    done(
        "conversations.list.cursor",
        "API 1.5",
        "`after` follows the order asked for, also from a conversation that the filter leaves out; an unknown one is 404.",
    ),
    done(
        "conversations.list.order",
        "API 2.16",
        "By `created_at`, `last_message_at` or `last_run_completion`; what has no such time stands last.",
    ),
    done("conversations.list.filters", "API 2.16", "`summary_search` in any case; `archive_status`, by default `unarchived`."),
    done("conversations.hidden", "API 2.16", "A hidden conversation stands in no list, and is found by its id."),
    done(
        "conversations.preview",
        "API 3",
        "The provider's request body of a message to the conversation, with its model, its blocks and its messages.",
        "POST /v1/conversations/{conversation_id}/messages/preview-raw-payload",
    ),
    done("conversations.delete", "API 2.16", "Deletes one: null, then 404.", "DELETE /v1/conversations/{conversation_id}"),
    done("conversations.delete.busy", "API 2.16", "What is under way in it is cancelled first."),
    done("conversations.delete.agent", "API 2.16", "An agent's conversations are deleted with it."),
    done(
        "conversations.direct",
        "API 1.3",
        "`default` with `agent_id`, or an agent's id in the path, means the agent's own conversation.",
    ),
    done("conversations.direct.missing", "API 1.3", "`default` without `agent_id` is 404; other routes take no such id (422)."),
    done(
        "conversations.cancel",
        "API 2.16",
        "Ends the runs of a conversation, and tells what became of each.",
        "POST /v1/conversations/{conversation_id}/cancel",
    ),
    done("conversations.cancel.none", "API 2.16", "Nothing to cancel is 409."),
    done(
        "conversations.fork",
        "API 2.16",
        "A new conversation that begins with what is in the context of another one.",
        "POST /v1/conversations/{conversation_id}/fork",
    ),
    done(
        "conversations.fork.shares",
        "API 2.16",
        "A fork shares the messages in context by their ids; from then on each goes its own way, and so does a fork of a fork.",
    ),
    done(
        "conversations.fork.memory",
        "RT 15",
        "It has a fresh system message, the parent's model, and none of its private blocks.",
    ),
    done(
        "conversations.fork.message_id",
        "API 2.16",
        "`message_id` is the last message that is shared; one that is not in context is 404. A call without its return is left out.",
    ),
    done("conversations.fork.hidden", "API 2.16", "`hidden` keeps a fork out of the lists."),
    done(
        "conversations.fork.parent_deleted",
        "RT 15",
        "Deleting a parent keeps what a living fork shares, and takes away the rest.",
    ),
    done(
        "conversations.recompile",
        "API 2.16",
        "Renders its system message anew.",
        "POST /v1/conversations/{conversation_id}/recompile",
    ),
    done("conversations.recompile.dry_run", "API 2.16", "`dry_run` shows it and changes nothing."),
    diverging(
        "conversations.recompile.isolated",
        "RT 17 #23",
        "It is rendered from the conversation's own blocks, and names the conversation.",
        "V1 renders the agent's blocks, and the conversation as `default`.",
    ),
    done(
        "conversations.compact",
        "API 2.16",
        "Puts a summary in the place of its oldest messages.",
        "POST /v1/conversations/{conversation_id}/compact",
    ),
    done("conversations.compact.nothing", "API 2.16", "With too little to summarize it is 400, and nothing changes."),
    done(
        "conversations.messages.create",
        "API 2.16",
        "Sends messages to it; streaming is the default.",
        "POST /v1/conversations/{conversation_id}/messages",
    ),
    done(
        "conversations.messages.run",
        "API 5.1",
        "Each request is a run of the conversation, of the type `send_conversation_message`.",
    ),
    diverging(
        "conversations.messages.blocking",
        "API 2.16",
        "`streaming: false` answers the whole reply, and its run ends like any other.",
        "In V1 such a run never finishes.",
    ),
    done("conversations.messages.refused", "API 5.1", "Options of streams without a stream, and no messages, are 422."),
    done(
        "conversations.busy",
        "API 7",
        "A message to a conversation that is busy is 409 with the id of the run, before anything is streamed.",
    ),
    done("conversations.busy.direct", "API 7", "So is one to the agent's own conversation through these routes."),
    done("conversations.busy.apart", "API 7", "Conversations of one agent do not hold each other up."),
    diverging(
        "conversations.busy.opt_in",
        "API 7",
        "With `when_busy` a request may wait for its turn, or interrupt what is under way.",
        "V1 has no such field.",
    ),
    done(
        "conversations.messages.list",
        "API 2.16",
        "Its messages, in the order asked for.",
        "GET /v1/conversations/{conversation_id}/messages",
    ),
    done(
        "conversations.messages.list.cursors",
        "API 1.5",
        "Cursors are chronological whatever the order, and an unknown one counts as none.",
    ),
    done(
        "conversations.stream",
        "API 6.5",
        "Resumes the stream of a run: the one named, the one that took the message of an `otid`, or the one under way.",
        "POST /v1/conversations/{conversation_id}/stream",
    ),
    done("conversations.stream.none", "API 6.5", "With none of them it is 400."),
    done(
        "conversations.approvals",
        "API 5.4",
        "What waits for an approval holds up its own conversation alone, and is answered there.",
    ),
    done("conversations.approvals.refused", "API 5.4", "A plain message meanwhile is 409, which here is told by a text alone."),
    done(
        "conversations.fork.order",
        "API 2.16",
        "A fork's own system message is the first of its lists, and cursors agree; the agent's own list, of all conversations, is by time.",
    ),
    done("conversations.fork.pending", "API 2.16", "A fork leaves out a request for an approval that nobody has answered."),
    done("conversations.search", "RT 7.5", "`conversation_search` looks through all conversations of the agent."),
)
