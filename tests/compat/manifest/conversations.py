"""Conversations and their messages (API 2.16; RT 15)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done("conversations.create", "API 2.16", "Creates a conversation with an agent.", "POST /v1/conversations/"),
    done(
        "conversations.create.refused",
        "API 2.16",
        "Without `agent_id` 422; an agent or a model's handle that does not exist is 404, a label in `isolated_block_labels` "
        "that the agent does not have is 400, and nothing is created.",
    ),
    diverging(
        "conversations.window",
        "API 2.16",
        "A conversation has its own system message, log and window; `in_context_message_ids` are always the real ids.",
        "V1 returns [] from create, update and fork.",
    ),
    done(
        "conversations.shared_blocks",
        "RT 15",
        "Conversations of an agent share its blocks: an edit in one is visible to the others from their next run on.",
    ),
    done(
        "conversations.isolated",
        "RT 15",
        "`isolated_block_labels` creates private copies of blocks; the memory tools edit them, and the conversation's "
        "deletion deletes them.",
    ),
    done(
        "conversations.model",
        "API 5.1",
        "The request's `override_model` takes precedence over the conversation's `model` and `model_settings`, and "
        "those over the agent's.",
    ),
    diverging(
        "conversations.settings.limit",
        "API 4.12",
        "`model_settings` without `max_output_tokens` leave the model's limit on replies, and are shown without one.",
        "V1 shows 4,096 and limits replies to it.",
    ),
    done("conversations.retrieve", "API 2.16", "Returns a conversation.", "GET /v1/conversations/{conversation_id}"),
    done("conversations.update", "API 2.16", "Updates the fields of the body.", "PATCH /v1/conversations/{conversation_id}"),
    diverging(
        "conversations.update.null",
        "API 2.16",
        "null clears a field, so that a conversation can go back to its agent's model.",
        "V1 has no way to remove the conversation's model.",
    ),
    done(
        "conversations.times",
        "API 4.11",
        "`last_message_at` is the time of the newest request, `archived_at` the time at which the conversation was archived.",
    ),
    done("conversations.list", "API 2.16", "Lists conversations, newest first.", "GET /v1/conversations/"),
    done("conversations.list.all", "API 2.16", "Without `agent_id` it lists those of all agents."),
    done(
        "conversations.list.cursor",
        "API 1.5",
        "`after` follows the requested order and may name a conversation that the filter excludes; an unknown one is 404.",
    ),
    done(
        "conversations.list.order",
        "API 2.16",
        "By `created_at`, `last_message_at` or `last_run_completion`; conversations without such a time are last.",
    ),
    done(
        "conversations.list.filters",
        "API 2.16",
        "Filters: `summary_search`, case-insensitive; `archive_status`, by default `unarchived`.",
    ),
    done("conversations.hidden", "API 2.16", "A hidden conversation is in no list; it can be retrieved by its id."),
    done(
        "conversations.preview",
        "API 3",
        "Returns the provider's request body for a message to the conversation, with its model, blocks and messages.",
        "POST /v1/conversations/{conversation_id}/messages/preview-raw-payload",
    ),
    done(
        "conversations.delete",
        "API 2.16",
        "Deletes a conversation and returns null; a second time is 404.",
        "DELETE /v1/conversations/{conversation_id}",
    ),
    done("conversations.delete.busy", "API 2.16", "Its open runs are cancelled first."),
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
        "Cancels the runs of a conversation and returns the outcome of each.",
        "POST /v1/conversations/{conversation_id}/cancel",
    ),
    done("conversations.cancel.none", "API 2.16", "If no run is open, the answer is 409."),
    done(
        "conversations.fork",
        "API 2.16",
        "Creates a conversation that starts with the context of another one.",
        "POST /v1/conversations/{conversation_id}/fork",
    ),
    done(
        "conversations.fork.shares",
        "API 2.16",
        "A fork shares the messages in context, with their ids; later messages are separate, also in a fork of a fork.",
    ),
    done(
        "conversations.fork.memory",
        "RT 15",
        "It has a new system message, the parent's model, and none of the parent's private blocks.",
    ),
    done(
        "conversations.fork.message_id",
        "API 2.16",
        "`message_id` is the last shared message; one that is not in context is 404. A tool call without its return is "
        "not shared.",
    ),
    done("conversations.fork.hidden", "API 2.16", "`hidden` excludes the fork from lists."),
    done(
        "conversations.fork.parent_deleted",
        "RT 15",
        "The deletion of a parent keeps the messages that a fork shares and deletes the others.",
    ),
    done(
        "conversations.recompile",
        "API 2.16",
        "Compiles its system message again.",
        "POST /v1/conversations/{conversation_id}/recompile",
    ),
    done("conversations.recompile.dry_run", "API 2.16", "`dry_run` returns it and changes nothing."),
    diverging(
        "conversations.recompile.isolated",
        "RT 17 #23",
        "It is compiled from the conversation's own blocks and names the conversation.",
        "V1 uses the agent's blocks, and names the conversation `default`.",
    ),
    done(
        "conversations.compact",
        "API 2.16",
        "Replaces its oldest messages by a summary.",
        "POST /v1/conversations/{conversation_id}/compact",
    ),
    done(
        "conversations.compact.nothing", "API 2.16", "If there is too little to summarize, the answer is 400 and nothing changes."
    ),
    done(
        "conversations.messages.create",
        "API 2.16",
        "Sends messages to the conversation; streaming is the default.",
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
        "`streaming: false` returns the whole reply, and the run ends normally.",
        "In V1 such a run never finishes.",
    ),
    done(
        "conversations.messages.refused",
        "API 5.1",
        "Streaming options without streaming are 422, and so is a request without messages.",
    ),
    done(
        "conversations.busy",
        "API 7",
        "A message to a busy conversation is 409 with the id of the run, before a stream begins.",
    ),
    done("conversations.busy.direct", "API 7", "The same holds for the agent's default conversation on these routes."),
    done("conversations.busy.apart", "API 7", "Conversations of one agent run independently."),
    diverging(
        "conversations.busy.opt_in",
        "API 7",
        "With `when_busy` a request may wait in the queue, or interrupt the open run.",
        "V1 has no such field.",
    ),
    done(
        "conversations.messages.list",
        "API 2.16",
        "Lists its messages in the requested order.",
        "GET /v1/conversations/{conversation_id}/messages",
    ),
    done(
        "conversations.messages.list.cursors",
        "API 1.5",
        "Cursors are chronological in every order; an unknown cursor is ignored.",
    ),
    done(
        "conversations.stream",
        "API 6.5",
        "Resumes the stream of a run: the named one, the one that accepted the message with an `otid`, or the open one.",
        "POST /v1/conversations/{conversation_id}/stream",
    ),
    done("conversations.stream.none", "API 6.5", "If there is none, the answer is 400."),
    done(
        "conversations.approvals",
        "API 5.4",
        "A pending approval blocks its own conversation only, and is answered there.",
    ),
    done("conversations.approvals.refused", "API 5.4", "A message without an answer is 409; its body is a text."),
    done(
        "conversations.fork.order",
        "API 2.16",
        "A fork's own system message is the first of its lists, and cursors agree; the agent's own list, of all "
        "conversations, is by time.",
    ),
    done("conversations.fork.pending", "API 2.16", "A fork does not share an unanswered approval request."),
    done("conversations.search", "RT 7.5", "`conversation_search` searches all conversations of the agent."),
)
