"""The ids of the messages in a window, without the messages. AgentState shows them for every agent of a list.

A process caches the ids of a window and reads only the rows that were added since. The version of the head validates the cached
ids.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.schemas.agents.conversation import Head, Window
from hibernaut.schemas.immutable import immutable
from hibernaut.store.conversations.conversations import ConversationStore
from hibernaut.store.table.lists.logs import LogEnd
from hibernaut.store.table.lru_cache import LruCache, TenantCache

CACHED_IDS = 2_000_000
"""The size of the cache in a process: ids of all windows together."""
_APART = ("system", "summary")
"""The roles whose rows belong to a window only if they are pinned, or conversational (`store.logs.is_conversational`)."""


@immutable
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
    """The ids of the messages in a window. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be
    read.
    """

    def __init__(self, conversations: ConversationStore, cache: TenantCache[WindowIdList]) -> None:
        self._conversations = conversations
        self._cache = cache
        conversations.also_forget(self._cache.forget)

    def of(self, heads: Sequence[Head]) -> dict[str, list[str]]:
        """The ids in the order of each window, the pinned ones first, by the head's id. All windows are read together. The lists
        belong to the cache: the caller must not change them.
        """
        found = {head.id: self._begun(head) for head in heads}
        stale = [head for head in heads if found[head.id].version != head.version]
        with_new_rows = [head for head in stale if head.last_message != found[head.id].newest]
        ends = [LogEnd(head.id, head.segments, found[head.id].newest) for head in with_new_rows]
        roles = self._conversations.logs.roles(ends) if ends else []
        new_rows = {head.id: rows for head, rows in zip(with_new_rows, roles, strict=True)}
        for head in stale:
            found[head.id] = self._extended(head, found[head.id], new_rows.get(head.id, []))
        return {head_id: ids.ids for head_id, ids in found.items()}

    def _begun(self, head: Head) -> WindowIdList:
        """What the cache has of this window; else its pinned ids."""
        cached = self._cache.get(head.id)
        if cached is None or (cached.version != head.version and (cached.window != head.window or cached.version > head.version)):
            return WindowIdList(-1, head.window, list(head.window.pinned), head.window.cut)
        return cached

    def _extended(self, head: Head, start: WindowIdList, new_rows: Sequence[tuple[str, str]]) -> WindowIdList:
        """The list with the rows that were added since, up to the head's last row: later rows are newer than this head."""
        rows = [(row_id, role) for row_id, role in new_rows if head.last_message is not None and row_id <= head.last_message]
        newest = rows[-1][0] if rows else start.newest
        found = WindowIdList(head.version, head.window, start.ids + self._conversational_ids(head, rows), newest)
        # The rows of a transaction may become visible one by one: only a complete list is cached.
        if newest == head.last_message and {row for row in head.newest if row > (start.newest or "")} <= {row for row, _ in rows}:
            self._cache.keep(head.id, found)
        return found

    def _conversational_ids(self, head: Head, rows: Sequence[tuple[str, str]]) -> list[str]:
        """The ids of the conversational rows among these that are not pinned. A system row with an otid is conversational."""
        pinned = set(head.window.pinned)
        unclear = [row_id for row_id, role in rows if role in _APART and row_id not in pinned]
        conversational = (
            {row.id for row in self._conversations.messages(head.id, unclear) if row.role == "system" and row.otid}
            if unclear
            else set()
        )
        left_out = pinned.union(row_id for row_id in unclear if row_id not in conversational)
        return [row_id for row_id, _ in rows if row_id not in left_out]
