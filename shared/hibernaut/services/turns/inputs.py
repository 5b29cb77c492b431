"""Validation of a request's input: messages, or the answer to a pending approval followed by messages."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from hibernaut.domain.agents.agent_calls import group_of
from hibernaut.schemas.content import Part, TextContent
from hibernaut.schemas.errors import InvalidArgument, Unprocessable
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.run import InputDigest, StoredRun
from hibernaut.schemas.runs.send import ApprovalCreate, LettaRequest, MessageCreate, ToolReturnCreate
from hibernaut.store.runs.transaction_values import INPUT_PAGE

MOST_MESSAGES = 1_000
"""The maximum number of messages in one request."""
_ONE_ANSWER_FIRST = "The answer to an approval must be the first message of its request, and the only answer in it."


@immutable
class RequestInputs:
    """The validated input of a request. The `answer` to an approval, if there is one, precedes the messages."""

    messages: Sequence[MessageCreate]
    answer: ApprovalCreate | ToolReturnCreate | None = None

    @property
    def otids(self) -> list[str | None]:
        """The otids by which a re-sent request is looked up: one entry for each input, None for an input without an otid."""
        return [*([self.answer.otid] if self.answer else []), *(one.otid for one in self.messages)]

    @property
    def first(self) -> int:
        """The number of inputs whose otids are marked when the request is accepted: the answer and the first page. Later messages
        get their marks when they enter the log.
        """
        return INPUT_PAGE + (self.answer is not None)

    def digest(self) -> InputDigest:
        """The digest of everything that the inputs say, which tells a repeated request from another one with its otids."""
        hashed = hashlib.sha256()
        for one in [*([self.answer] if self.answer else []), *self.messages]:
            fields = one.model_dump(mode="json", exclude={"batch_item_id", "group_id"}, exclude_none=True)
            if isinstance(one, MessageCreate):
                content = [part.model_dump(mode="json", exclude_none=True) for part in content_of(one)]
                fields |= {"type": "message", "content": content}
            hashed.update(json.dumps(fields, sort_keys=True).encode() + b"\n")
        return InputDigest(count=len(self.messages) + (self.answer is not None), sha256=hashed.hexdigest())


def inputs_of(body: LettaRequest, now: datetime) -> RequestInputs:
    """The validated input of a request.

    Raises: Unprocessable if there is no input, both forms of it, or too many messages; InvalidArgument for a malformed otid, a
    deadline in the past, or an approval's answer in the wrong place.
    """
    if (body.messages is None) == (body.input is None):
        raise Unprocessable("Exactly one of 'input' or 'messages' must be given.")
    _check_deadline(body, now)
    if body.input is not None:
        return RequestInputs([MessageCreate(role="user", content=body.input)])
    if not body.messages:
        raise Unprocessable("Messages must not be empty")
    if len(body.messages) > MOST_MESSAGES:
        raise Unprocessable(f"At most {MOST_MESSAGES} messages can be sent at once")
    for one in body.messages:
        _check_otid(one.otid)
    first, remaining = body.messages[0], body.messages
    answer = None
    if not isinstance(first, MessageCreate):
        answer, remaining = first, body.messages[1:]
    plain = [one for one in remaining if isinstance(one, MessageCreate)]
    if len(plain) < len(remaining):
        raise InvalidArgument(_ONE_ANSWER_FIRST)
    return RequestInputs(plain, answer)


def _check_otid(otid: str | None) -> None:
    if otid is None:
        return
    if not otid.strip() or not otid.isprintable():
        raise InvalidArgument("INVALID_ARGUMENT: An otid must be made of printable characters, best a UUID; this one is not.")


def _check_deadline(body: LettaRequest, now: datetime) -> None:
    deadline = body.approval_deadline
    past = deadline <= 0 if isinstance(deadline, int) else deadline is not None and deadline <= now
    if past:
        raise InvalidArgument(
            "INVALID_ARGUMENT: approval_deadline must lie in the future: a number of seconds above 0, a later moment, or null for none."
        )


def row_of(one: MessageCreate, message_id: str, run: StoredRun, now: datetime) -> Message:
    """A caller's message as a row of the log. Without an otid of the caller, the row's otid is the uuid in its id."""
    content = content_of(one)
    return Message(
        id=message_id,
        role=one.role,
        content=content,
        agent_id=run.agent_id,
        conversation_id=run.conversation_id,
        run_id=run.id,
        name=one.name,
        otid=one.otid or str(UUID(message_id[-36:])),
        sender_id=one.sender_id,
        group_id=one.group_id or group_of(run),
        batch_item_id=one.batch_item_id,
        created_at=now,
    )


def content_of(one: MessageCreate) -> list[Part]:
    """The content of a caller's message as parts."""
    return [TextContent(text=one.content)] if isinstance(one.content, str) else list(one.content)
