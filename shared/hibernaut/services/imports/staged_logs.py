"""The logs and archives of an import as the table takes them: heads, and pages of passages that one transaction holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.agents.staged_import import StagedAgent, StagedLog
from hibernaut.schemas.memory.passage import Passage
from hibernaut.store.memory.archives import tags_of
from hibernaut.store.table.bodies.codec import INLINE_BYTES

PASSAGES = 80
"""The largest number of passages with their distinct tags in one transaction."""
PASSAGE_BYTES = 2_000_000
"""The largest size of the texts of these passages in bytes, as far as they stay in the table."""


def logs_of(agents: Sequence[StagedAgent]) -> Iterator[tuple[Head, StagedLog]]:
    """The logs of an import in the order of its messages, each with the head under which they are written."""
    for staged in agents:
        yield Head(id=staged.agent.id, agent_id=staged.agent.id, created_at=staged.agent.created_at), staged
    for staged in agents:
        for one in staged.conversations:
            yield Head(id=one.record.id, agent_id=staged.agent.id, created_at=one.record.created_at), one


def head_of(head: Head, log: StagedLog) -> Head:
    """The head of a conversation whose messages are written."""
    fields = {"window": log.window, "version": 1, "last_message": log.last, "newest": log.newest}
    return head.model_copy(update={**fields, "messages": 1 + log.rows, "calls_open": False})


def page_of(passages: Iterable[Passage]) -> list[Passage]:
    """The first passages, as many as one transaction holds."""
    page, size = list[Passage](), 0
    for passage in passages:
        size += min(4 * len(passage.text), INLINE_BYTES)
        if page and (len(page) + 1 + len(tags_of([*page, passage])) > PASSAGES or size > PASSAGE_BYTES):
            return page
        page.append(passage)
    return page
