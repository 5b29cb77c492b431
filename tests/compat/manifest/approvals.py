"""Human approval, tools of the client, and what a busy or broken conversation does (digest 5.4, 7)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done(
        "approvals.request",
        "API 5.4",
        "A call that needs an approval ends its run with `requires_approval` and is shown in an approval_request_message.",
    ),
    done("approvals.pending", "API 5.4", "`include=agent.pending_approval` shows with the agent what it waits for."),
    done("approvals.by_agent", "API 2.6", "An agent may be told which of its tools need an approval."),
    done("approvals.by_default", "API 4.9", "A tool with `default_requires_approval` needs one wherever it is attached."),
    done(
        "approvals.approve",
        "API 5.4",
        "An approved call is run by the run of the answer; its return comes first and bears the step that made the call.",
    ),
    done("approvals.deny", "API 5.4", "A denied call returns an error that tells the model the reason."),
    done("approvals.mixed", "API 5.4", "Calls of the same reply that need no approval wait with the ones that do."),
    done("approvals.each", "API 5.4", "Each call that waits is answered by itself; the returns follow in one message."),
    done("approvals.ids", "API 5.4", "An answer that does not name exactly the calls that wait is 400 and names them."),
    done("approvals.further", "API 5.4", "Messages behind the answer are stored and given to the model in the next step."),
    done("approvals.legacy", "API 5.4", "`approve` with `approval_request_id` answers a single call."),
    diverging(
        "approvals.again",
        "API 5.4",
        "The same answer again attaches to the run that the first one started; the model is not asked again.",
        "V1 stores a keep-alive message and asks the model once more.",
    ),
    done(
        "approvals.cancelled_answer",
        "API 5.4",
        "The same answer again after the run that took it was cancelled goes on in a new run; the model reads that it may.",
    ),
    done("approvals.refused_message", "API 5.4", "A plain message while an approval waits is 409 with `PENDING_APPROVAL`."),
    done("approvals.refused_stream", "API 5.4", "On streaming routes it is a stream of a ping, the stop reason and the error."),
    diverging(
        "approvals.interrupt",
        "API 5.4",
        'With `"when_busy": "interrupt"` a plain message denies what waits and is answered.',
        "V1 has no such field; it always refuses.",
    ),
    diverging(
        "approvals.cancel",
        "API 5.4, 6.6",
        "Cancelling denies what waits and frees the agent; the run that asked keeps its terminal status.",
        "V1 turns the completed run into a cancelled one.",
    ),
    done("approvals.response_in_lists", "API 5.4", "The answer is listed as an approval_response_message."),
    diverging(
        "approvals.deadline",
        "API 5.4",
        "`approval_deadline` (seconds; of the agent, 7 days, or of the request) denies what nobody answers; null is for ever.",
        "In V1 an approval waits for ever.",
    ),
    done(
        "approvals.client_tools",
        "API 5.4",
        "A call of one of `client_tools` is handed to the client, whose result the model reads.",
    ),
    done("approvals.client_tools.mixed", "API 5.4", "Tools of the client and of the server may be called in one reply."),
    done("approvals.client_tools.images", "API 4.6", "A result of the client may hold text and images."),
    done(
        "approvals.client_tools.names",
        "API 5.4",
        "A client tool with the name of one of the agent's tools takes its place for that request: its calls are the client's.",
    ),
    diverging(
        "messages.when_busy",
        "API 7",
        "`when_busy` says what becomes of a message to a busy conversation: `queue`, `reject` or `interrupt`.",
        "V1 has no such field: agents routes let both run into each other, conversations routes reject.",
    ),
    diverging(
        "messages.repair",
        "API 7",
        "POST /v1/agents/{id}/messages/repair puts a conversation right that was left broken, and tells what it did.",
        "V1 has no such route: a broken conversation stays so.",
    ),
)
