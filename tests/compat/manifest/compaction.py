"""Windows that are compacted, by themselves and by request (API 2.3, 5.3; RT 6)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done(
        "messages.compact",
        "API 2.3",
        "The oldest messages of a window become a summary; the answer has the summary and the number of messages "
        "before and after.",
        "POST /v1/agents/{agent_id}/summarize",
    ),
    done(
        "messages.compact.settings",
        "RT 6.7",
        "Settings of the request take precedence over the agent's; another mode has its own prompt.",
    ),
    done("messages.compact.nothing", "API 2.3", "If the number of messages would not decrease, the answer is 400."),
    done("messages.compact.again", "RT 6.7", "If the window contains only a summary, the answer is that summary."),
    done(
        "messages.compact.failure",
        "API 2.3",
        "A failure of the summarizer's model is returned as the provider's error; nothing changes.",
    ),
    diverging(
        "messages.compact.busy",
        "API 2.3",
        "A request to compact a conversation with an open run is 409.",
        "V1 compacts, and the run then overwrites the window with its own.",
    ),
    done(
        "compaction.summary",
        "RT 6.4",
        "A summary follows the system message, as a system_alert with compaction_stats; lists have it as a user_message.",
    ),
    done(
        "compaction.modes",
        "RT 6.3",
        "The modes all, sliding_window and their self-compacting forms, and the fallback of each.",
    ),
    diverging(
        "compaction.never_fails",
        "RT 2.8",
        "If no summary can be produced, whole old turns are removed from the window and the run continues.",
        "V1 ends the run with the summarizer's error, or ignores it.",
    ),
    diverging(
        "compaction.input_stays",
        "RT 6.3",
        "The input of the open run stays in the window, and its newest step does too if it fits.",
        "V1's mode `all` summarizes them too.",
    ),
    diverging(
        "compaction.before_the_call",
        "RT 6.1",
        "Before each call the size is counted by a tokenizer and corrected by the provider's reported usage.",
        "V1 compares the provider's reported usage after each step, so that a long tool return or message is sent and "
        "refused first.",
    ),
    done(
        "compaction.cancel",
        "RT 2.10",
        "A cancel during a summary takes effect at once: the summarizer's call is closed and its output discarded.",
    ),
    diverging(
        "compaction.usage",
        "RT 13.3",
        "The tokens of summaries are reported apart from those of steps: `summaries` in GET /v1/runs/{id}/usage, "
        "`usage` in the answer of a compaction by request. `usage_statistics` and steps are as in V1.",
        "V1 reports steps only, and does not report the tokens of summaries.",
    ),
    done(
        "agents.context.exact",
        "API 4.12",
        "The overview covers what the next model call sends: system message, messages and tools.",
    ),
    diverging(
        "agents.context.frozen",
        "RT 4.2",
        "Clients read the system message with the current memory. The model is sent the system message of the window's "
        "start; a `<memory_update>` in a newer message has later changes. HIBERNAUT_SYSTEM_PROMPT=recompiled sends "
        "what clients read.",
        "V1 sends the recompiled text, so that an edit invalidates the provider's prompt cache.",
    ),
    diverging(
        "agents.context.plan",
        "API 4.12",
        "GET /v1/agents/{agent_id}/context/compaction shows what a compaction would drop now, and asks no model. The overview has `price` in "
        "USD for a million tokens of the prompt (null: unknown).",
        "V1 has neither; its clients ignore the additional field.",
    ),
)
