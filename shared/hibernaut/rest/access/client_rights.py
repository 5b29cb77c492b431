"""The requests that client tokens permit: the routes of each right, and the options of a body that a token for web pages permits.

A client token without a policy has the rights on messages for all its agents, and its bodies are not examined. A client-side
access token has the rights of its policy. Every reader of a web page has its token. Its bodies may therefore not contain anything
that reaches beyond the agent: tools that the client runs, answers to approvals, other models, callback addresses, or a system
message.

Knows the paths of the routes and the fields of bodies; must not know how a key is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from hibernaut.schemas.access.access_token import AccessRight
from hibernaut.schemas.access.api_key import Principal
from hibernaut.schemas.errors import ScopeTooNarrow

if TYPE_CHECKING:
    from pydantic import BaseModel

    from hibernaut.schemas.agents.agent import UpdateAgent
    from hibernaut.schemas.agents.conversation_record import CreateConversation
    from hibernaut.schemas.runs.send import LettaRequest

ROUTES: dict[tuple[str, str], AccessRight] = {
    ("GET", "/v1/agents/{agent_id}/messages"): "read_messages",
    ("POST", "/v1/agents/{agent_id}/messages"): "write_messages",
    ("POST", "/v1/agents/{agent_id}/messages/async"): "write_messages",
    ("POST", "/v1/agents/{agent_id}/messages/cancel"): "write_messages",
    ("POST", "/v1/agents/{agent_id}/messages/stream"): "write_messages",
    ("GET", "/v1/conversations"): "read_messages",
    ("POST", "/v1/conversations"): "write_messages",
    ("GET", "/v1/conversations/{conversation_id}"): "read_messages",
    ("POST", "/v1/conversations/{conversation_id}/cancel"): "write_messages",
    ("GET", "/v1/conversations/{conversation_id}/messages"): "read_messages",
    ("POST", "/v1/conversations/{conversation_id}/messages"): "write_messages",
    ("POST", "/v1/conversations/{conversation_id}/stream"): "read_messages",
    ("GET", "/v1/runs/{run_id}"): "read_messages",
    ("GET", "/v1/runs/{run_id}/messages"): "read_messages",
    ("POST", "/v1/runs/{run_id}/stream"): "read_messages",
    ("GET", "/v1/agents/{agent_id}"): "read_agent",
    ("GET", "/v1/agents/{agent_id}/core-memory"): "read_agent",
    ("GET", "/v1/agents/{agent_id}/core-memory/blocks"): "read_agent",
    ("GET", "/v1/agents/{agent_id}/core-memory/blocks/{block_label}"): "read_agent",
    ("PATCH", "/v1/agents/{agent_id}"): "write_agent",
}
"""The routes of client tokens, and the right that each needs. All others are refused."""
ON_MESSAGES = frozenset[AccessRight]({"read_messages", "write_messages"})
"""The rights of a client token without a policy."""

SENT = frozenset(
    {
        "messages",
        "input",
        "max_steps",
        "use_assistant_message",
        "assistant_message_tool_name",
        "assistant_message_tool_kwarg",
        "include_return_message_types",
        "include_compaction_messages",
        "enable_thinking",
        "when_busy",
        "streaming",
        "stream_tokens",
        "include_pings",
        "background",
    }
)
"""The options of a message that a web page may set."""
MESSAGE_FIELDS = frozenset({"type", "role", "content", "name", "otid"})
"""The fields of one of its messages."""
BEGUN = frozenset({"summary", "description"})
"""The fields of a conversation that a web page creates."""
CHANGED = frozenset({"name", "description", "metadata", "system", "timezone"})
"""The fields of an agent that a web page may change with the right write_agent."""


def granted(principal: Principal, method: str, path: str) -> Principal:
    """The holder of a client token with the agents for which the token permits the route. Raises: ScopeTooNarrow."""
    right = ROUTES.get((method, path))
    if right is None or (not principal.is_for_pages and right not in ON_MESSAGES):
        raise ScopeTooNarrow(f"FORBIDDEN: A client token may not call {method} {path}; it may talk to its agents only.")
    if not principal.is_for_pages:
        return principal
    agents = frozenset(agent_id for agent_id, agent_right in principal.grants if agent_right == right)
    if not agents:
        raise ScopeTooNarrow(f"FORBIDDEN: {method} {path} needs the right {right}; this token has it for no agent.")
    return replace(principal, agent_ids=agents)


def check_sent(principal: Principal, body: LettaRequest) -> None:
    """Check the body of a message. Raises: ScopeTooNarrow."""
    if principal.of_tool and any(message.type not in (None, "message") for message in body.messages or ()):
        raise ScopeTooNarrow("FORBIDDEN: A tool may send messages only; a person approves calls with a key of their own.")
    if not principal.is_for_pages:
        return
    _refuse(_beyond(body, SENT))
    most = type(body).model_fields["max_steps"].default
    if body.max_steps > most:
        raise ScopeTooNarrow(f"FORBIDDEN: With this token `max_steps` is at most {most}.")
    for message in body.messages or ():
        if message.type not in (None, "message"):
            raise ScopeTooNarrow(f"FORBIDDEN: This token may not send items of the type {message.type}; it answers no approvals.")
        _refuse(_beyond(message, MESSAGE_FIELDS))
        if getattr(message, "role", None) != "user":
            raise ScopeTooNarrow("FORBIDDEN: With this token a message has the role `user`.")


def check_begun(principal: Principal, body: CreateConversation) -> None:
    """Check the body of a new conversation. Raises: ScopeTooNarrow."""
    if principal.is_for_pages:
        _refuse(_beyond(body, BEGUN))


def check_changed(principal: Principal, body: UpdateAgent) -> None:
    """Check the body of a change of an agent. Raises: ScopeTooNarrow."""
    if principal.is_for_pages:
        _refuse(_beyond(body, CHANGED))


def _beyond(body: BaseModel, allowed: frozenset[str]) -> Iterator[str]:
    """The fields that a body sets to something other than their defaults, and that are not allowed."""
    fields = type(body).model_fields
    return (name for name in sorted(body.model_fields_set - allowed) if getattr(body, name) != fields[name].default)


def _refuse(names: Iterator[str]) -> None:
    for name in names:
        raise ScopeTooNarrow(f"FORBIDDEN: A token for web pages may not set `{name}`; a request with an API key may.")
