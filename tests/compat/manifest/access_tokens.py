"""Client-side access tokens (API 2.17)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done(
        "tokens.create",
        "API 2.17",
        "Creates a token for web pages: rights on agents, a host, and an expiry, by default after 5 minutes and at most after 30 days; "
        "needs a key of the scope `admin`.",
        "POST /v1/client-side-access-tokens",
    ),
    diverging(
        "tokens.list",
        "API 2.17",
        "Lists the tokens that can be used, also by agent. `token` is the id of a token.",
        "Letta's cloud shows the tokens themselves; here they are stored as keyed hashes.",
        "GET /v1/client-side-access-tokens",
    ),
    done(
        "tokens.delete",
        "API 2.17",
        "Deletes a token, by its id or by itself; 204.",
        "DELETE /v1/client-side-access-tokens/{token}",
    ),
    done(
        "tokens.rights", "API 2.17", "A token has the rights of its policy on the agents of its policy; everything else is 403."
    ),
    done("tokens.hosts", "API 2.17", "A token serves requests whose `Origin` is its host; others are 403."),
    done(
        "tokens.options",
        "API 2.17",
        "With a token a message has text, images and how to stream; client tools, answers to approvals, other models, system messages "
        "and callbacks are 403, as are tools, blocks, tags, secrets and models of an agent.",
    ),
)
