"""Windows that are compacted, by themselves and by request (digest 2.3, 5.3; run-time digest 6)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done(
        "messages.compact",
        "API 2.3",
        "The oldest messages of a window become a summary; the answer has it, and how many messages there were and are.",
        "POST /v1/agents/{agent_id}/summarize",
    ),
    done(
        "messages.compact.settings",
        "RT 6.7",
        "What the request sets counts over the agent's settings; another mode has its own prompt.",
    ),
    done("messages.compact.nothing", "API 2.3", "Where there would not be fewer messages the answer is 400."),
    done("messages.compact.again", "RT 6.7", "A window of nothing but a summary answers with that summary."),
    done("messages.compact.failure", "API 2.3", "A summariser's failure is answered as the provider's, and nothing has changed."),
    diverging(
        "messages.compact.busy",
        "API 2.3",
        "A conversation that a run holds is not compacted by request: 409.",
        "V1 compacts under the run, which then writes its own window back.",
    ),
    done(
        "compaction.summary",
        "RT 6.4",
        "A summary stands behind the system message, as a system_alert with its compaction_stats; lists show it as the user's.",
    ),
    done(
        "compaction.modes",
        "RT 6.3",
        "The modes all, sliding_window and their self-compacting forms, and what each falls back on.",
    ),
    diverging(
        "compaction.never_fails",
        "RT 2.8",
        "Where no summary can be had, whole old turns leave the window, and the run goes on.",
        "V1 ends the run with the summariser's error, or swallows it.",
    ),
    diverging(
        "compaction.input_stays",
        "RT 6.3",
        "What the run under way was sent stays in the window, and so does its newest step where there is room.",
        "V1's mode `all` summarises them too.",
    ),
    diverging(
        "compaction.before_the_call",
        "RT 6.1",
        "The size is counted by a tokenizer and corrected by what the provider reported, before each call.",
        "V1 looks after each step at what the provider reported, so a long return or message is sent first and refused.",
    ),
    done(
        "compaction.cancel",
        "RT 2.10",
        "A run whose window is being summarised is cancelled at once: the summariser's call is closed, nothing of the summary is kept.",
    ),
    diverging(
        "compaction.usage",
        "RT 13.3",
        "The tokens of summaries stand beside those of the steps: `summaries` in GET /v1/runs/{id}/usage, `usage` in the answer of a "
        "compaction by request. `usage_statistics` and steps are as in V1.",
        "V1 sums up the steps alone, and shows nowhere what its summaries used.",
    ),
    done(
        "agents.context.exact",
        "API 4.12",
        "The overview holds what the next run is sent: system message, rows, and tools as they are offered.",
    ),
    diverging(
        "agents.context.frozen",
        "RT 4.2",
        "Clients are shown the system message with the current memory. The model is sent the text of the window's beginning, and what "
        "changed since as a `<memory_update>` in a newer message; HIBERNAUT_SYSTEM_PROMPT=recompiled sends what clients are shown.",
        "V1 sends the recompiled text, so that after an edit no provider has cached the prompt.",
    ),
)
