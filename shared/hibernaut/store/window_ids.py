"""The ids of the messages in a window, without the messages: what AgentState shows for every agent of a list.

A warm worker keeps the ids that it found last and reads only what was added since; the head's version says whether they still hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hibernaut.schemas.conversation import Head, Window
from hibernaut.store.conversations import ConversationStore
from hibernaut.store.lru_cache import LruCache, TenantCache

KEPT_IDS = 2_000_000
"""Ids that a worker keeps, of all windows together."""
_APART = ("system", "summary")


@dataclass(frozen=True, slots=True)
class WindowIdList:
    """The ids of one window as its head stood; `newest` is the last row that was looked at."""

    version: int
    window: Window
    ids: list[str]
    newest: str | None


def id_cache() -> LruCache[WindowIdList]:
    """The ids that a process keeps, of all tenants."""
    return LruCache(KEPT_IDS, lambda found: len(found.ids))


class WindowIds:
    """The ids of the messages in a window."""

    def __init__(self, conversations: ConversationStore, kept: TenantCache[WindowIdList]) -> None:
        self._conversations = conversations
        self._kept = kept
        conversations.also_forget(self._kept.forget)

    def of(self, head: Head) -> list[str]:
        """In order, the pinned ones first. The list is kept here: copy it before changing it."""
        kept = self._kept.get(head.id)
        if kept is not None and kept.version == head.version:
            return kept.ids
        if kept is None or kept.window != head.window or kept.version > head.version:
            kept = WindowIdList(-1, head.window, list(head.window.pinned), head.window.cut)
        seen = self._rows(head, after=kept.newest) if head.last_message != kept.newest else []
        newest = seen[-1][0] if seen else kept.newest
        found = WindowIdList(head.version, head.window, kept.ids + self._said(head, seen), newest)
        # A transaction's rows may come into sight one by one: only what is all there is kept.
        if newest == head.last_message and {row for row in head.newest if row > (kept.newest or "")} <= {row for row, _ in seen}:
            self._kept.keep(head.id, found)
        return found.ids

    def _rows(self, head: Head, *, after: str | None) -> list[tuple[str, str]]:
        """Ids and roles of the rows after an id, as far as the head goes: what was said after it was read is left for the next look."""
        seen = self._conversations.logs.roles(head.id, head.segments, after)
        return [(row_id, role) for row_id, role in seen if head.last_message is not None and row_id <= head.last_message]

    def _said(self, head: Head, rows: Sequence[tuple[str, str]]) -> list[str]:
        """The rows that belong to the window without being pinned: all but prompts and summaries. A system row with an otid was said."""
        pinned = set(head.window.pinned)
        apart = [row_id for row_id, role in rows if role in _APART and row_id not in pinned]
        said = (
            {row.id for row in self._conversations.messages(head.id, apart) if row.role == "system" and row.otid}
            if apart
            else set()
        )
        left_out = pinned.union(row_id for row_id in apart if row_id not in said)
        return [row_id for row_id, _ in rows if row_id not in left_out]
