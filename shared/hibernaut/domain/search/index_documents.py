"""The index documents of messages and passages, and their names. Pure.

A document's name contains the place of its record: "<log>/<message>", "<archive>/<passage>", "<file>/<passage>".
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from hibernaut.domain.tools.tool_returns import as_text, json_object, unwrapped
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.memory.passage import Passage
from hibernaut.schemas.memory.search_index import IndexDocument, Reach, Stretch, Tombstone
from hibernaut.schemas.messages.message import Message

BY_WORDS, EMBEDDED, GONE = 1, 2, 3
"""The versions that a document goes through: found by its words, then by its meaning too, then not at all."""
OF_A_LIFE = 4
"""Versions of one life of a record: a passage that was deleted and brought back goes through them once more, above the earlier
ones.
"""
LAST_LIFE = 1 << 40
"""The life of a record that cannot come back: above all that it can have had."""
OF_WHAT_STANDS_BEFORE = 0.35
"""The weight of the vector of the text before, relative to a text's own."""
SPEAKING = "send_message"
_NOT_SAID = ("conversation_search",)


OWN_CONVERSATIONS = Reach(stretches=(Stretch(after="agent-", upto="agent-~"),))
"""The logs of agents' default conversations, which have the agents' ids."""


def name_of(container: str, record_id: str) -> str:
    """The id of a record's document. `container`: the id of the record's log, archive or file. The inverse of `place_of`."""
    return f"{container}/{record_id}"


def place_of(name: str) -> tuple[str, str]:
    """The container of a document's record, and the record's id."""
    container, _, record_id = name.partition("/")
    return container, record_id


def searchable_text(row: Message) -> str | None:
    """The searchable text of a row; None for rows that are no part of the conversation: prompts, notices, tools' returns,
    searches themselves (they would nest: RT 7.5)."""
    if row.role == "user" and row.step_id is None:
        return _typed(row) or None
    if row.role != "assistant" or any(call.function.name in _NOT_SAID for call in row.tool_calls or ()):
        return None
    texts = [row.text()]
    for call in row.tool_calls or ():
        if call.function.name == SPEAKING:
            texts.append(as_text((json_object(call.function.arguments) or {}).get("message", "")))
    return "\n".join(text for text in texts if text) or None


def _typed(row: Message) -> str:
    """The text of a user, without the envelope of an agent's first messages; empty for a login event."""
    envelope = json_object(row.text()) if row.wrapped else None
    return "" if envelope is not None and envelope.get("type") == "login" else unwrapped(row)


def of_message(tenant: str, log: str, row: Message) -> IndexDocument | None:
    """The document of a row, without a vector; None where recall does not look for it. `log`: where the row lies."""
    text = searchable_text(row)
    if text is None:
        return None
    return IndexDocument(
        id=name_of(log, row.id),
        kind="message",
        tenant=tenant,
        place=row.agent_id,
        conversation=log,
        role=row.role,
        created_at=row.created_at,
        text=text,
        version=BY_WORDS,
    )


def reach_of(head: Head) -> Reach:
    """The documents of a conversation's rows, wherever these lie: its own rows, and for a fork its parts of other logs."""
    shared = [
        Stretch(
            conversation=one.conversation,
            after=name_of(one.conversation, one.after) if one.after else None,
            upto=name_of(one.conversation, one.upto),
        )
        for one in head.segments
        if one.upto
    ]
    ids = [name_of(one.conversation, message_id) for one in head.segments for message_id in one.also]
    return Reach(stretches=(Stretch(conversation=head.id), *shared), ids=tuple(ids))


def of_passage(tenant: str, place: str, container: str, passage: Passage) -> IndexDocument:
    """The document of a passage, without a vector. `place`: its archive or folder; `container`: its archive or file."""
    return IndexDocument(
        id=name_of(container, passage.id),
        kind="file" if passage.file_id else "passage",
        tenant=tenant,
        place=place,
        file_id=passage.file_id or "",
        tags=tuple(passage.tags or ()),
        created_at=passage.created_at,
        text=passage.text,
        version=passage.life * OF_A_LIFE + BY_WORDS,
    )


def embedded(document: IndexDocument, vector: tuple[float, ...]) -> IndexDocument:
    """A document of its words with its vector."""
    return document.model_copy(update={"vector": vector, "version": document.version - BY_WORDS + EMBEDDED})


def in_context(document: IndexDocument, before: tuple[float, ...] | None) -> IndexDocument:
    """An embedded document with a little of the meaning of the text before it. `before`: the vector of that text, of unit norm.

    A question often contains words of the line before the answer. Figures: `benchmarks/README.md`, "Finding memory again".
    """
    if document.vector is None or before is None:
        return document
    mixed = [own + OF_WHAT_STANDS_BEFORE * other for own, other in zip(document.vector, before, strict=True)]
    length = math.hypot(*mixed)
    return document.model_copy(update={"vector": tuple([number / length for number in mixed])})


def cosine_in_context(own: float, before: float, between: float) -> float:
    """The cosine of a query with a text's vector `in_context`, from the cosines of the query with the text's own vector and with
    that of the text before, and from the cosine of these two."""
    length = math.sqrt(1.0 + OF_WHAT_STANDS_BEFORE * (OF_WHAT_STANDS_BEFORE + 2.0 * between))
    return (own + OF_WHAT_STANDS_BEFORE * before) / length


def linked(documents: Collection[IndexDocument]) -> list[IndexDocument]:
    """Documents of one log, archive or file, each with the id of the one before it among them, in the order in which they were.

    Those of an unbroken stretch get the ids that the index will have. What stands before the first is left open.
    """
    ids = sorted(document.id for document in documents)
    before = dict(zip(ids[1:], ids, strict=False))
    return [each.model_copy(update={"before": before.get(each.id, "")}) for each in documents]


def gone(tenant: str, container: str, ids: Collection[str], lives: Mapping[str, int]) -> list[Tombstone]:
    """The marks of deleted records. `lives`: the lives that ended, by id, where they are not the first."""
    return [Tombstone(id=name_of(container, one), tenant=tenant, version=lives.get(one, 0) * OF_A_LIFE + GONE) for one in ids]
