"""Sending messages and reading them (digest 2.3, 2.15, 5, 6)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done, out_of_reach

ROWS = (
    done(
        "messages.send",
        "API 2.3",
        "A message is answered with messages, stop reason and usage.",
        "POST /v1/agents/{agent_id}/messages",
    ),
    done("messages.send.exactly_one", "API 5.1", "Exactly one of `input` and `messages` must be given (else 422)."),
    done("messages.send.empty", "API 5.1", 'No message at all is 422 `{"detail":"Messages must not be empty"}`.'),
    done("messages.send.roles", "API 4.6", "Roles other than user, system and assistant are 422."),
    done("messages.send.streaming_options", "API 5.1", "Options of streaming without `streaming` are 422."),
    done(
        "messages.send.streaming_clients", "API 1.4", "`streaming` on this path is for clients of the stable SDK only (else 422)."
    ),
    diverging(
        "messages.send.logprobs",
        "API 4.6",
        "`return_logprobs` and `top_logprobs` bring the log probabilities of the last model call into the blocking reply. A model that has "
        "none ends the run with `llm_api_error`.",
        "V1 ignores the request there.",
    ),
    done("messages.send.unknown_agent", "API 1.6", "A message to an unknown agent is 404."),
    done("messages.send.no_echo", "API 5.1", "The input is not in the reply; lists show it."),
    done("messages.send.otid", "API 5.1", "A caller's otid is kept with his message; one is made where he gives none."),
    done("messages.send.rows", "API 5.2", "What one model reply gives shares an id, and bears its step and its run."),
    done(
        "messages.send.otids",
        "API 5.2",
        "Generated messages have the row's uuid as otid, its low 7 bits counting the messages of the row.",
    ),
    done(
        "messages.send.parallel_calls",
        "API 5.2",
        "All calls of a reply stand in one tool_call_message, all returns in one tool_return_message.",
    ),
    diverging(
        "messages.send.parallel_default",
        "API 5.2",
        "An agent made from a bare handle runs all calls of a reply, as its settings show; with parallel calls off only the first counts.",
        "V1 shows parallel calls as on for such an agent, and drops all calls but the first.",
    ),
    done("messages.send.arguments", "API 5.2", "The arguments of a call are a JSON text, written anew."),
    done("messages.send.tool_error", "API 5.2", "A tool that fails gives a return with the status `error`, and the run goes on."),
    done(
        "messages.send.unknown_tool",
        "API 5.2",
        "A call of a tool that the agent does not have gives an error return, and the run goes on.",
    ),
    diverging(
        "messages.send.text_next_to_calls",
        "API 5.2",
        "Text next to tool calls is in the blocking reply, as it is in streams and lists.",
        "V1 loses it in blocking replies of models without reasoning.",
    ),
    done("messages.send.max_steps", "API 5.3", "After `max_steps` model calls the run stops with `max_steps`."),
    done("messages.send.types", "API 5.5", "`include_return_message_types` filters the reply; nothing left is fine."),
    done(
        "messages.send.legacy_text",
        "API 5.5",
        "An older agent's send_message is shown as assistant_message, its return is not; inner thoughts are reasoning.",
    ),
    done(
        "messages.send.legacy_calls",
        "API 5.5",
        "With `use_assistant_message` false the call and its return are shown as they are.",
    ),
    done("messages.send.override_model", "API 5.1", "`override_model` answers this request only; an unknown handle is 404."),
    done(
        "messages.send.override_system",
        "API 4.6",
        "`override_system`, or `system`, replaces the instructions for this request only.",
    ),
    done("messages.send.no_approval", "API 5.4", "An approval with nothing pending is 400."),
    diverging(
        "messages.send.input_kept",
        "API 5.1",
        "When the provider fails, the caller's message is kept, and the next message works.",
        "V1 stores the input with the first step that succeeds, and loses it when none does.",
    ),
    diverging(
        "messages.send.queue",
        "API 7",
        "A second message to a busy agent waits its turn, and is answered.",
        "V1 lets both run into each other (documented there as undefined).",
    ),
    diverging(
        "messages.send.resend",
        "API 7",
        "A request that the SDK sends again attaches to the run of the first; so does one with the same otids and the same content, also "
        "after a changed setting. A used otid with other content is a new message. Some otids old, some new: 400.",
        "V1 processes it twice. A client that lost the reply gets it here instead of a second turn.",
    ),
    diverging(
        "messages.send.slow",
        "API 5.7",
        "A reply that takes longer than 45 seconds is held open by white space: status 200, always valid, with the run's id in its usage.",
        "V1 is silent until the end, and the SDK gives up after 60 seconds and sends the message again.",
    ),
    done("messages.send.curl", "API 1.4", "A plain HTTP client sends and reads messages without the SDK."),
    done(
        "messages.stream",
        "API 6.1",
        "The answer as server-sent events, up to `[DONE]`.",
        "POST /v1/agents/{agent_id}/messages/stream",
    ),
    done(
        "messages.stream.wire",
        "API 6.1",
        "A ping with the run's id comes first (unless unwanted); stop reason and usage bear no id and no run.",
    ),
    done("messages.stream.streaming", "API 2.3", "`streaming` on the blocking path gives the same stream."),
    done(
        "messages.stream.error",
        "API 6.2",
        "A failed run ends its stream with the stop reason, `event: error`, and `[DONE]`; the SDK raises it.",
    ),
    done("messages.stream.refused", "API 6.2", "What is wrong before the stream begins is an ordinary HTTP error."),
    done(
        "messages.stream.tokens",
        "API 6.3",
        "`stream_tokens` gives pieces of messages as the model writes them: text, reasoning, and calls by name and arguments.",
    ),
    done(
        "messages.stream.whole",
        "API 6.3",
        "Blocking requests that attach to a stream of tokens get whole messages; who resumes it sees the pieces again.",
    ),
    done(
        "messages.stream.usage",
        "API 4.7",
        "Figures that the provider does not report are 0, and null in a stream of tokens.",
    ),
    done(
        "messages.stream.numbers",
        "API 6.4",
        "Numbers count the events that the stream shows, from the ping (1), without gaps and the same at every resume; "
        "stop reason, usage and `[DONE]` count and show no number.",
    ),
    diverging(
        "messages.list.envelopes",
        "RT 14.1",
        "Only an envelope that the server made (of `initial_message_sequence`) is unwrapped; a user's own JSON is shown as written.",
        "V1 shows the `message` of any user text that is JSON of the type `user_message`, less than the model reads.",
    ),
    done(
        "messages.stream.compaction",
        "RT 6.4",
        "With `include_compaction_messages` a compaction is an event_message and a summary_message; else the summary is a user_message.",
    ),
    done(
        "messages.stream.background",
        "API 6.4",
        "The events of a background stream are numbered, the first ping is 1; they may be resumed after any number.",
    ),
    diverging(
        "messages.stream.broken_off",
        "API 6.1",
        "A stream that the server must end before its run (on AWS after 14 minutes) ends without `[DONE]`, and is resumed.",
        "V1 streams for as long as the connection holds.",
    ),
    done(
        "messages.async",
        "API 2.3",
        "Answers the run at once, with the status `created`; the work goes on.",
        "POST /v1/agents/{agent_id}/messages/async",
    ),
    done(
        "messages.async.callback",
        "API 2.3",
        "`callback_url` is called once at the end of the run, and the run keeps what came of it; only http and https (else 400).",
    ),
    diverging(
        "messages.async.client_tools",
        "API 5.4",
        "`client_tools` count here too: the run ends with `requires_approval`, and any later request may answer.",
        "V1 forgets them on this route.",
    ),
    done(
        "messages.cancel",
        "API 2.3",
        "Ends runs, and says of each whether it is cancelled.",
        "POST /v1/agents/{agent_id}/messages/cancel",
    ),
    diverging(
        "messages.cancel.newest",
        "API 2.3",
        "Without `run_ids`, all that its own conversation is at, and what is open among the agent's newest 10,000 runs.",
        "V1 looks through all of the agent's runs.",
    ),
    done("messages.cancel.none", "API 2.3", "With nothing to cancel the answer is 409."),
    diverging(
        "messages.cancel.in_flight",
        "API 6.6",
        "A cancel takes effect within a second, between two tokens or while the model is silent: its call is closed, nothing of it kept.",
        "V1 lets the call go on, and may store what it said.",
    ),
    diverging(
        "messages.provider.retries",
        "API 5.3",
        "A provider that is overloaded, limits us or cannot be reached is asked again, with growing waits, until its first word has come.",
        "V1 leaves it to each provider's SDK, whose retries differ.",
    ),
    done(
        "messages.provider.broken_stream",
        "API 6.2",
        "A reply that breaks off ends its run with one error, after what was heard of it; nothing of it stands in the log.",
    ),
    diverging(
        "messages.preview",
        "API 3",
        "The provider's request body of the first step that a message would lead to; nothing is sent or stored. An answer to an approval "
        "is 400.",
        "V1 previews those too.",
        "POST /v1/agents/{agent_id}/messages/preview-raw-payload",
    ),
    diverging(
        "agents.generate",
        "API 3",
        "Asks the agent's model one question without its memory and tools; `response_schema` gives the answer its form. A provider's "
        "failure has the status and the body that it has everywhere.",
        "V1 answers every such failure with 502.",
        "POST /v1/agents/{agent_id}/generate",
    ),
    diverging(
        "chat_completions",
        "API 3",
        "Speaks OpenAI's format with an agent's id as the model, streamed and whole: the last user message is sent, the agent's text comes back.",
        "V1 refuses what is not streamed (400).",
        "POST /v1/chat/completions",
    ),
    done(
        "messages.update",
        "API 1.6",
        "405, as in V1: what was said is never changed.",
        "PATCH /v1/agents/{agent_id}/messages/{message_id}",
    ),
    done("messages.list", "API 2.3", "An agent's messages, each row as what it shows.", "GET /v1/agents/{agent_id}/messages"),
    done(
        "messages.list.order",
        "API 1.5",
        "A page is always ordered from old to new; `order` only says which end it is taken from.",
    ),
    done(
        "messages.list.cursors",
        "API 1.5",
        "Cursors are chronological: `after` is later, `before` is earlier, whatever the order.",
    ),
    done("messages.list.unknown_cursor", "API 1.5", "A cursor that is no message of the agent is 404."),
    done("messages.list.limit", "API 1.5", "`limit` counts stored rows, so a page may show more messages than that."),
    done("messages.list.types", "API 5.5", "`include_return_message_types` filters the page after it is loaded."),
    done("messages.list.legacy", "API 5.5", "The switches of the older agent types work for lists too."),
    done("messages.list.default", "API 2.3", "`conversation_id=default` lists the agent's own conversation."),
    done(
        "messages.list.conversations",
        "API 2.3",
        "Without `conversation_id` the rows of all conversations of the agent are listed, each once; with it those of that one.",
    ),
    done("messages.all", "API 2.15", "The messages of all agents, from old to new.", "GET /v1/messages/"),
    done(
        "messages.all.conversation", "API 2.15", "`conversation_id` leaves those of one conversation; `default`: those of none."
    ),
    diverging(
        "messages.retrieve",
        "API 2.15",
        "One row by its id, as the list of what it shows; text of letta_v1 agents is an assistant_message.",
        "V1 shows the text as a reasoning_message here, unlike in its lists.",
        "GET /v1/messages/{message_id}",
    ),
    done("messages.retrieve.missing", "API 2.15", "An unknown message is 404 with its id."),
    diverging(
        "messages.search",
        "API 2.15",
        "Searches what was said by words, by meaning, or both.",
        "V1 at home answers 400: it needs a vector database of a provider.",
        "POST /v1/messages/search",
    ),
    done("messages.search.filters", "RT 7.4", "By agent, conversation (`default` is an agent's own), and dates."),
    done(
        "messages.search.forks",
        "RT 7.4",
        "In a fork it finds all that its list shows, what it shares with others included, and nothing of what these said later.",
    ),
    done("messages.search.scores", "RT 7.4", "Modes `fts`, `vector` and `hybrid`; each hit has its score and ranks."),
    done(
        "messages.search.agents",
        "RT 7.4",
        "`POST /v1/agents/messages/search` finds rows, by role, project and template too.",
        "POST /v1/agents/messages/search",
    ),
    diverging(
        "messages.search.tool",
        "RT 7.5",
        "`conversation_search` finds by words and meaning, with roles, dates and a limit, and says how relevant each result is.",
        "V1 at home looks for the query as one substring and ignores the dates.",
    ),
    done("messages.search.tool.exclusions", "RT 7.5", "Its own calls and all returns of tools are never among the results."),
    out_of_reach(
        "messages.edit",
        "API 2.3",
        "Editing a stored message.",
        "Messages are immutable; the SDK has no call for it, and V1 answers 405.",
    ),
    diverging(
        "messages.approval_ids",
        "API 5.4",
        "In a stream of tokens an approval request has an id of its own, and stands under it in the log.",
        "V1 lowers the text's id by one there; ids of one log are increasing here.",
    ),
)
