"""Human approval, tools of the client, and what a busy or broken conversation does (API 5.4, 7)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done(
        "approvals.request",
        "API 5.4",
        "A call that needs an approval ends its run with `requires_approval` and is shown in an approval_request_message.",
    ),
    done("approvals.pending", "API 5.4", "`include=agent.pending_approval` adds the pending approval to the agent."),
    done("approvals.by_agent", "API 2.6", "An agent can require approval for any of its tools."),
    done(
        "approvals.by_default",
        "API 4.9",
        "A tool with `default_requires_approval` requires approval on every agent that it is attached to.",
    ),
    done(
        "approvals.approve",
        "API 5.4",
        "The run of the answer executes an approved call. The tool return comes first, with the id of the step that "
        "made the call.",
    ),
    done("approvals.deny", "API 5.4", "A denied call has an error return with the reason."),
    done("approvals.mixed", "API 5.4", "Calls of the same reply that need no approval wait as well."),
    done("approvals.each", "API 5.4", "Each pending call has its own answer; one message has all returns."),
    done("approvals.ids", "API 5.4", "An answer must name exactly the pending calls. Otherwise it is 400, which lists them."),
    done("approvals.further", "API 5.4", "Messages after the answer are stored and sent to the model in the next step."),
    done("approvals.legacy", "API 5.4", "`approve` with `approval_request_id` answers a single call."),
    diverging(
        "approvals.again",
        "API 5.4",
        "A repeated answer attaches to the run of the first; the model is not called again.",
        "V1 stores a keep-alive message and calls the model again.",
    ),
    done(
        "approvals.cancelled_answer",
        "API 5.4",
        "A repeated answer whose run was cancelled starts a new run, which continues; a keep-alive message of the user tells "
        "the model that the call was answered.",
    ),
    done(
        "approvals.refused_message",
        "API 5.4",
        "A message without an answer to a pending approval is 409 with `PENDING_APPROVAL`.",
    ),
    done(
        "approvals.refused_stream", "API 5.4", "A streaming route answers such a message with a stream: ping, stop reason, error."
    ),
    diverging(
        "approvals.interrupt",
        "API 5.4",
        'With `"when_busy": "interrupt"` such a message denies the pending calls and is processed.',
        "V1 has no such field; it refuses every such message.",
    ),
    diverging(
        "approvals.cancel",
        "API 5.4, 6.6",
        "A cancel denies the pending calls and releases the conversation; the run that requested approval keeps its status.",
        "V1 turns the completed run into a cancelled one.",
    ),
    done("approvals.response_in_lists", "API 5.4", "The answer is listed as an approval_response_message."),
    diverging(
        "approvals.deadline",
        "API 5.4",
        "`approval_deadline` (seconds; of the agent, 7 days, or of the request) is the time after which pending calls "
        "are denied; null means never.",
        "In V1 an approval has no deadline.",
    ),
    diverging(
        "approvals.of_run",
        "API 5.4",
        "GET /v1/runs/{id}/approval returns the calls for which the run asked for answers, those of the client's tools marked, their deadline, and the answering run; 404 if it asked for none.",
        "V1 has no such route; its request does not say who runs a call, nor until when it waits.",
    ),
    diverging(
        "approvals.waiting",
        "API 5.4",
        "GET /v1/runs/approvals lists what waits for answers in all conversations, of one agent or of all, in pages by the runs that asked; what is answered or cancelled leaves it.",
        "V1 has no such route; it shows the pending approval of an agent's own conversation.",
    ),
    done(
        "approvals.client_tools",
        "API 5.4",
        "The client executes calls of its `client_tools` and sends the results, which the model reads.",
    ),
    done("approvals.client_tools.mixed", "API 5.4", "One reply may call tools of the client and of the server."),
    done("approvals.client_tools.images", "API 4.6", "A result of the client may contain text and images."),
    done(
        "approvals.client_tools.names",
        "API 5.4",
        "A client tool with the name of one of the agent's tools replaces it for that request: the client executes its calls.",
    ),
    diverging(
        "messages.when_busy",
        "API 7",
        "`when_busy` selects what happens to a message to a busy conversation: `queue`, `reject` or `interrupt`.",
        "V1 has no such field: on agents' routes two runs interfere, conversations' routes reject.",
    ),
    diverging(
        "messages.repair",
        "API 7",
        "POST /v1/agents/{id}/messages/repair repairs an inconsistent conversation and reports the repairs.",
        "V1 has no such route.",
    ),
)
