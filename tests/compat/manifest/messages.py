"""Sending messages and reading them (API 2.3, 2.15, 5, 6)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done, out_of_reach

ROWS = (
    diverging(
        "messages.capture",
        "API 3",
        "Stores the user's messages of another system's turn and the reply in the log; the next run reads them; 409 while a run holds the "
        "conversation.",
        "V1 stores them outside of the window, starts sleep-time agents, and answers 500 without one.",
        "POST /v1/agents/{agent_id}/messages/capture",
    ),
    done(
        "messages.send",
        "API 2.3",
        "Sends messages and returns the agent's messages, the stop reason and the usage.",
        "POST /v1/agents/{agent_id}/messages",
    ),
    done("messages.send.exactly_one", "API 5.1", "A request has exactly one of `input` and `messages` (else 422)."),
    done("messages.send.empty", "API 5.1", 'An empty list of messages is 422 `{"detail":"Messages must not be empty"}`.'),
    done("messages.send.roles", "API 4.6", "Roles other than user, system and assistant are 422."),
    done("messages.send.streaming_options", "API 5.1", "Streaming options without `streaming` are 422."),
    done(
        "messages.send.streaming_clients", "API 1.4", "`streaming` on this path is for clients of the stable SDK only (else 422)."
    ),
    diverging(
        "messages.send.logprobs",
        "API 4.6",
        "`return_logprobs` and `top_logprobs` add the log probabilities of the last model call to the blocking reply. "
        "If the model has none, the run ends with `llm_api_error`.",
        "V1 ignores both fields.",
    ),
    diverging(
        "messages.send.token_ids",
        "API 4.6, 4.7",
        "`return_token_ids` is accepted, and `turns` of the reply is null, for every provider.",
        "V1 fills `turns` for models of SGLang, which it then asks by SGLang's own `/generate` instead of Chat Completions.",
    ),
    done("messages.send.unknown_agent", "API 1.6", "A message to an unknown agent is 404."),
    done("messages.send.no_echo", "API 5.1", "The reply does not repeat the input; lists have it."),
    done("messages.send.otid", "API 5.1", "The otid of a message is stored; the server generates a missing one."),
    done("messages.send.rows", "API 5.2", "The messages of one model reply have the same id, and the ids of their step and run."),
    done(
        "messages.send.otids",
        "API 5.2",
        "Generated messages have the row's uuid as otid, its low 7 bits counting the messages of the row.",
    ),
    done(
        "messages.send.parallel_calls",
        "API 5.2",
        "One tool_call_message has all calls of a reply, one tool_return_message all returns.",
    ),
    diverging(
        "messages.send.parallel_default",
        "API 5.2",
        "An agent that is created with a handle alone executes all calls of a reply; with parallel calls off only the first.",
        "V1 reports parallel calls as enabled for such an agent, and drops all calls but the first.",
    ),
    done("messages.send.arguments", "API 5.2", "The arguments of a call are JSON text in canonical form."),
    done("messages.send.tool_error", "API 5.2", "A failed tool has a return with the status `error`, and the run continues."),
    done(
        "messages.send.unknown_tool",
        "API 5.2",
        "A call of a tool that the agent does not have has an error return, and the run continues.",
    ),
    diverging(
        "messages.send.text_next_to_calls",
        "API 5.2",
        "Text next to tool calls is in the blocking reply, as it is in streams and lists.",
        "V1 drops it from blocking replies of models without reasoning.",
    ),
    done("messages.send.max_steps", "API 5.3", "After `max_steps` model calls the run stops with `max_steps`."),
    done("messages.send.types", "API 5.5", "`include_return_message_types` filters the reply, which may become empty."),
    done(
        "messages.send.legacy_text",
        "API 5.5",
        "A `send_message` call of a legacy agent is an assistant_message without a return; inner thoughts are a "
        "reasoning_message.",
    ),
    done(
        "messages.send.legacy_calls",
        "API 5.5",
        "With `use_assistant_message` false the call and its return are listed as such.",
    ),
    done("messages.send.override_model", "API 5.1", "`override_model` applies to this request only; an unknown handle is 404."),
    done(
        "messages.send.override_system",
        "API 4.6",
        "`override_system`, or `system`, replaces the instructions for this request only.",
    ),
    done("messages.send.no_approval", "API 5.4", "An approval answer without a pending approval is 400."),
    diverging(
        "messages.send.input_kept",
        "API 5.1",
        "If the provider fails, the message is kept, and the next message is processed.",
        "V1 stores the input with the first step that succeeds, and loses it if none does.",
    ),
    diverging(
        "messages.send.queue",
        "API 7",
        "A second message to a busy agent waits in the queue and is processed.",
        "In V1 the two interfere (documented as undefined).",
    ),
    diverging(
        "messages.send.resend",
        "API 7",
        "A request that the SDK retries attaches to the run of the first; so does one with the same otids and content, "
        "even after a changed setting. A used otid with other content is a new message. A mixture of used and new "
        "otids is 400.",
        "V1 processes it twice. Here a client that lost the reply gets it without a second turn.",
    ),
    diverging(
        "messages.send.slow",
        "API 5.7",
        "After 45 seconds without a reply the server sends white space to keep the connection open: status 200, valid "
        "JSON, with the run's id in its usage.",
        "V1 sends nothing until the end; the SDK times out after 60 seconds and sends the message again.",
    ),
    done("messages.send.curl", "API 1.4", "A plain HTTP client sends and reads messages without the SDK."),
    done(
        "messages.stream",
        "API 6.1",
        "Sends messages and streams the reply as server-sent events, up to `[DONE]`.",
        "POST /v1/agents/{agent_id}/messages/stream",
    ),
    done(
        "messages.stream.wire",
        "API 6.1",
        "A ping with the run's id is first, unless disabled; stop reason and usage have no id and no run id.",
    ),
    done("messages.stream.streaming", "API 2.3", "`streaming` on the blocking route returns the same stream."),
    done(
        "messages.stream.error",
        "API 6.2",
        "A failed run ends its stream with the stop reason, `event: error`, and `[DONE]`; the SDK raises the error.",
    ),
    done("messages.stream.refused", "API 6.2", "An error before the stream begins is an ordinary HTTP error."),
    done(
        "messages.stream.tokens",
        "API 6.3",
        "`stream_tokens` streams pieces of messages as the model produces them: text, reasoning, and calls by name and "
        "arguments.",
    ),
    done(
        "messages.stream.whole",
        "API 6.3",
        "A blocking request that attaches to a token stream gets whole messages; a resumed stream repeats the pieces.",
    ),
    done(
        "messages.stream.usage",
        "API 4.7",
        "Counts that the provider does not report are 0, and null in a token stream.",
    ),
    done(
        "messages.stream.numbers",
        "API 6.4",
        "Sequence numbers start at the ping (1), have no gaps, and are the same at every resume; stop reason, usage "
        "and `[DONE]` are counted but have no number.",
    ),
    diverging(
        "messages.list.envelopes",
        "RT 14.1",
        "Only an envelope that the server created (of `initial_message_sequence`) is unwrapped; a user's own JSON is "
        "returned unchanged.",
        "V1 unwraps any user text that is JSON of the type `user_message`, so that a list shows less than the model reads.",
    ),
    done(
        "messages.stream.compaction",
        "RT 6.4",
        "With `include_compaction_messages` a compaction is an event_message and a summary_message; else the summary "
        "is a user_message.",
    ),
    done(
        "messages.stream.background",
        "API 6.4",
        "The events of a background stream have sequence numbers from the ping (1); the stream can be resumed after any of them.",
    ),
    diverging(
        "messages.stream.broken_off",
        "API 6.1",
        "A stream that the server ends before its run (on AWS after 14 minutes) ends without `[DONE]` and can be resumed.",
        "V1 has no such limit.",
    ),
    done(
        "messages.async",
        "API 2.3",
        "Returns the run with the status `created`; the run continues in the background.",
        "POST /v1/agents/{agent_id}/messages/async",
    ),
    done(
        "messages.async.callback",
        "API 2.3",
        "`callback_url` is called once at the end of the run, and the run stores the outcome; only http and https (else 400).",
    ),
    diverging(
        "messages.async.callback.shown",
        "API 4.8",
        "Runs, jobs and batches show their `callback_url` without user, password and fragment, and its query without values: `https://host/x?token=***`. The whole address is called.",
        "V1 shows all of it to whoever may read the run.",
    ),
    diverging(
        "messages.async.client_tools",
        "API 5.4",
        "`client_tools` have effect here too: the run ends with `requires_approval`, and any later request may answer.",
        "V1 ignores them on this route.",
    ),
    done(
        "messages.cancel",
        "API 2.3",
        "Cancels runs and returns the outcome of each.",
        "POST /v1/agents/{agent_id}/messages/cancel",
    ),
    diverging(
        "messages.cancel.newest",
        "API 2.3",
        "Without `run_ids` it cancels the open runs of the default conversation, and the open ones among the agent's "
        "newest 10,000 runs.",
        "V1 reads all of the agent's runs.",
    ),
    done("messages.cancel.none", "API 2.3", "If no run is open, the answer is 409."),
    diverging(
        "messages.cancel.in_flight",
        "API 6.6",
        "A cancel takes effect within a second, between two tokens or before the first: the model's call is closed and "
        "its output discarded.",
        "V1 continues the call, and may store its output.",
    ),
    diverging(
        "messages.provider.retries",
        "API 5.3",
        "A call to a provider that is overloaded, limits the rate or cannot be reached is retried with backoff, until "
        "the first token.",
        "V1 leaves it to each provider's SDK, whose retries differ.",
    ),
    done(
        "messages.provider.broken_stream",
        "API 6.2",
        "A reply that is cut off ends its run with one error, after the streamed pieces; the log has none of them.",
    ),
    diverging(
        "messages.preview",
        "API 3",
        "Returns the provider's request body for the first step of a message; nothing is sent or stored. An approval "
        "answer is 400.",
        "V1 previews those too.",
        "POST /v1/agents/{agent_id}/messages/preview-raw-payload",
    ),
    diverging(
        "agents.generate",
        "API 3",
        "Asks the agent's model one question without its memory and tools; `response_schema` gives the answer its "
        "form. A provider's failure has the status and the body that it has everywhere.",
        "V1 answers every such failure with 502.",
        "POST /v1/agents/{agent_id}/generate",
    ),
    diverging(
        "chat_completions",
        "API 3",
        "Speaks OpenAI's format with an agent's id as the model, streamed and whole: the last user message is sent, "
        "the agent's text comes back.",
        "V1 refuses what is not streamed (400).",
        "POST /v1/chat/completions",
    ),
    done(
        "messages.update",
        "API 1.6",
        "405, as in V1: messages are immutable.",
        "PATCH /v1/agents/{agent_id}/messages/{message_id}",
    ),
    done("messages.list", "API 2.3", "Lists an agent's messages.", "GET /v1/agents/{agent_id}/messages"),
    done(
        "messages.list.order",
        "API 1.5",
        "A page is always ordered from old to new; `order` selects the end of the log that it is taken from.",
    ),
    done(
        "messages.list.cursors",
        "API 1.5",
        "Cursors are chronological: `after` is later, `before` is earlier, whatever the order.",
    ),
    done("messages.list.unknown_cursor", "API 1.5", "A cursor that is not a message of the agent is 404."),
    done("messages.list.limit", "API 1.5", "`limit` counts stored rows, and a row may be several messages."),
    done("messages.list.types", "API 5.5", "`include_return_message_types` filters the page after it is loaded."),
    done("messages.list.legacy", "API 5.5", "The parameters of legacy agent types apply to lists too."),
    done("messages.list.default", "API 2.3", "`conversation_id=default` lists the agent's own conversation."),
    done(
        "messages.list.conversations",
        "API 2.3",
        "Without `conversation_id` the rows of all conversations of the agent are listed, each once.",
    ),
    done("messages.all", "API 2.15", "Lists the messages of all agents, oldest first.", "GET /v1/messages/"),
    done(
        "messages.all.conversation",
        "API 2.15",
        "`conversation_id` selects the messages of one conversation; `default` those of default conversations.",
    ),
    diverging(
        "messages.retrieve",
        "API 2.15",
        "Returns a list of the messages of one row; text of letta_v1 agents is an assistant_message.",
        "V1 returns the text as a reasoning_message here, unlike in its lists.",
        "GET /v1/messages/{message_id}",
    ),
    done("messages.retrieve.missing", "API 2.15", "An unknown message is 404 with its id."),
    diverging(
        "messages.search",
        "API 2.15",
        "Searches messages by words, by meaning, or both.",
        "A self-hosted V1 answers 400 without a hosted vector database.",
        "POST /v1/messages/search",
    ),
    done("messages.search.filters", "RT 7.4", "Filters: agent, conversation (`default` is an agent's own), and dates."),
    done(
        "messages.search.forks",
        "RT 7.4",
        "A search of a fork covers the messages of its list, shared ones included, and no later messages of its parent.",
    ),
    done("messages.search.scores", "RT 7.4", "Modes `fts`, `vector` and `hybrid`; each hit has its score and ranks."),
    done(
        "messages.search.agents",
        "RT 7.4",
        "Searches messages, with filters by role, project and template too.",
        "POST /v1/agents/messages/search",
    ),
    diverging(
        "messages.search.tool",
        "RT 7.5",
        "`conversation_search` finds by words and meaning, with roles, dates and a limit, and returns the relevance of "
        "each result.",
        "A self-hosted V1 searches for the query as a substring and ignores the dates.",
    ),
    done("messages.search.tool.exclusions", "RT 7.5", "Its own calls and tool returns are never among the results."),
    out_of_reach(
        "messages.edit",
        "API 2.3",
        "Editing a stored message.",
        "Messages are immutable; the SDK has no call for it, and V1 answers 405.",
    ),
    diverging(
        "messages.approval_ids",
        "API 5.4",
        "In a token stream an approval request has its own id, which the log has as well.",
        "V1 decrements the text's id there; here the ids of a log increase.",
    ),
)
