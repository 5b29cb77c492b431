"""Conversations and their messages (digest 2.16)."""

from __future__ import annotations

from tests.compat.manifest.form import RUNS, todo

ROWS = (
    todo("conversations.create", "API 2.16", "Begins a conversation with an agent.", RUNS, "POST /v1/conversations/"),
    todo("conversations.retrieve", "API 2.16", "One conversation.", RUNS, "GET /v1/conversations/{conversation_id}"),
    todo("conversations.update", "API 2.16", "Changes one.", RUNS, "PATCH /v1/conversations/{conversation_id}"),
    todo("conversations.list", "API 2.16", "Conversations of an agent.", RUNS, "GET /v1/conversations/"),
    todo("conversations.delete", "API 2.16", "Deletes one.", RUNS, "DELETE /v1/conversations/{conversation_id}"),
    todo("conversations.cancel", "API 2.16", "Ends its run.", RUNS, "POST /v1/conversations/{conversation_id}/cancel"),
    todo(
        "conversations.fork",
        "API 2.16",
        "A new one that shares what was said.",
        RUNS,
        "POST /v1/conversations/{conversation_id}/fork",
    ),
    todo(
        "conversations.recompile",
        "API 2.16",
        "Renders its system message anew.",
        RUNS,
        "POST /v1/conversations/{conversation_id}/recompile",
    ),
    todo("conversations.compact", "API 2.16", "Compacts its window.", RUNS, "POST /v1/conversations/{conversation_id}/compact"),
    todo(
        "conversations.messages.create",
        "API 2.16",
        "Sends messages to it.",
        RUNS,
        "POST /v1/conversations/{conversation_id}/messages",
    ),
    todo(
        "conversations.messages.list",
        "API 2.16",
        "Its messages, in the order asked for.",
        RUNS,
        "GET /v1/conversations/{conversation_id}/messages",
    ),
    todo("conversations.stream", "API 2.16", "Resumes its stream.", RUNS, "POST /v1/conversations/{conversation_id}/stream"),
)
