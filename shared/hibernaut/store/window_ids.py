"""The ids of the messages in a window, without the messages. AgentState shows them for every agent of a list.

A process caches the ids of a window and reads only the rows that were added since. The version of the head validates the cached
ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hibernaut.schemas.conversation import Head, Window
from hibernaut.store.conversations import ConversationStore
from hibernaut.store.lru_cache import LruCache, TenantCache

CACHED_IDS = 2_000_000
"""The size of the cache in a process: ids of all windows together."""
_APART = ("system", "summary")
"""The roles whose rows belong to a window only if they are pinned, or conversational (`store.logs.is_said`)."""


@dataclass(frozen=True, slots=True)
class WindowIdList:
    """The ids of one window at one version of its head. `newest`: the id of the last row that was read, None if there was
    none.
    """

    version: int
    window: Window
    ids: list[str]
    newest: str | None


def id_cache() -> LruCache[WindowIdList]:
    """A cache for the window ids of all tenants in a process."""
    return LruCache(CACHED_IDS, lambda found: len(found.ids))


class WindowIds:
    """The ids of the messages in a window. Reads raise StoreUnavailable (`store.retries`), and OSError if a blob cannot be
    read.
    """

    def __init__(self, conversations: ConversationStore, cache: TenantCache[WindowIdList]) -> None:
        self._conversations = conversations
        self._cache = cache
        conversations.also_forget(self._cache.forget)

    def of(self, head: Head) -> list[str]:
        """The ids in the order of the window, the pinned ones first. The list belongs to the cache: the caller must not change
        it.
        """
        cached = self._cache.get(head.id)
        if cached is not None and cached.version == head.version:
            return cached.ids
        if cached is None or cached.window != head.window or cached.version > head.version:
            cached = WindowIdList(-1, head.window, list(head.window.pinned), head.window.cut)
        seen = self._rows(head, after=cached.newest) if head.last_message != cached.newest else []
        newest = seen[-1][0] if seen else cached.newest
        found = WindowIdList(head.version, head.window, cached.ids + self._said(head, seen), newest)
        # The rows of a transaction may become visible one by one: only a complete list is cached.
        if newest == head.last_message and {row for row in head.newest if row > (cached.newest or "")} <= {
            row for row, _ in seen
        }:
            self._cache.keep(head.id, found)
        return found.ids

    def _rows(self, head: Head, *, after: str | None) -> list[tuple[str, str]]:
        """The ids and roles of the rows after an id, up to the head's last row: later rows are newer than this head."""
        seen = self._conversations.logs.roles(head.id, head.segments, after)
        return [(row_id, role) for row_id, role in seen if head.last_message is not None and row_id <= head.last_message]

    def _said(self, head: Head, rows: Sequence[tuple[str, str]]) -> list[str]:
        """The ids of the conversational rows among these that are not pinned. A system row with an otid is conversational."""
        pinned = set(head.window.pinned)
        apart = [row_id for row_id, role in rows if role in _APART and row_id not in pinned]
        said = (
            {row.id for row in self._conversations.messages(head.id, apart) if row.role == "system" and row.otid}
            if apart
            else set()
        )
        left_out = pinned.union(row_id for row_id in apart if row_id not in said)
        return [row_id for row_id, _ in rows if row_id not in left_out]
