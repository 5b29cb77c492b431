"""An index that shows late what was written, in memory: a double of a serverless collection for tests that need no node.

Passes the port's contract suite (`tests/contracts/memory_index`). What is visible stands in a SQLite index, which answers the
searches.
"""

from __future__ import annotations

import itertools
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.ports.memory.memory_index import IndexAsleep
from hibernaut.schemas.memory.search_index import IndexDocument, IndexedState, IndexFound, IndexQuery, Tombstone

Name = tuple[str, str]
"""Of a copy: its space, and what the collection calls it."""
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def one_at_a_time(
    method: Callable[Concatenate[LateMemoryIndex, Given], Answer],
) -> Callable[Concatenate[LateMemoryIndex, Given], Answer]:
    @wraps(method)
    def locked(self: LateMemoryIndex, *given: Given.args, **named: Given.kwargs) -> Answer:
        with self.turn:
            return method(self, *given, **named)

    return locked


class LateMemoryIndex:
    """`refresh()` shows what was written and deleted before; with `at_once` each write does. `asleep`: every call raises
    IndexAsleep. `calls` counts those that ask the collection, by name.
    """

    visible_after = 120.0

    def __init__(self, *, at_once: bool = False) -> None:
        self.at_once, self.asleep = at_once, False
        self.calls: list[str] = []
        self.turn = threading.RLock()
        self._folder = tempfile.TemporaryDirectory(prefix="hibernaut-late-")
        self._numbers = itertools.count()
        self._kept: dict[Name, IndexDocument] = {}
        self._shown: dict[Name, IndexDocument] = {}
        self._visible = self._empty()

    def close(self) -> None:
        self._visible.close()
        self._folder.cleanup()

    @one_at_a_time
    def refresh(self) -> None:
        self._visible.close()
        self._visible = self._empty()
        self._shown = dict(self._kept)
        for space in dict.fromkeys(space for space, _ in self._shown):
            self._visible.put(space, list(self._newest(space).values()))

    def copies(self) -> list[tuple[str, int]]:
        """Id and version of every copy that is kept, seen or not."""
        return sorted((each.id, each.version) for each in self._kept.values())

    @one_at_a_time
    def put(self, space: str, documents: Sequence[IndexDocument]) -> Sequence[str]:
        self._asked("put")
        self._visible.put(space, [each.model_copy(update={"id": "checked", "tenant": "checked"}) for each in documents])
        self._visible.remove(space, [Tombstone(id="checked", tenant="checked", version=10**9)])
        names = [f"copy-{next(self._numbers)}" for _ in documents]
        self._kept |= {(space, name): document for name, document in zip(names, documents, strict=True)}
        self._wrote()
        return names

    @one_at_a_time
    def remove(self, space: str, tombstones: Sequence[Tombstone]) -> None:
        self._asked("remove")
        versions = {(each.tenant, each.id): each.version for each in tombstones}
        for name, each in self._shown.items():
            if name[0] == space and each.version <= versions.get((each.tenant, each.id), -1):
                self._kept.pop(name, None)
        self._wrote()

    @one_at_a_time
    def discard(self, space: str, copies: Sequence[str]) -> None:
        if not copies:
            return
        self._asked("discard")
        for name in copies:
            self._kept.pop((space, name), None)
        self._wrote()

    @one_at_a_time
    def collect(self, space: str, tenant: str) -> int:
        self._asked("collect")
        newest = {id(each) for each in self._newest(space).values()}
        old = [name for name, each in self._shown.items() if (name[0], each.tenant) == (space, tenant) and id(each) not in newest]
        self.discard(space, [name for _, name in old])
        return len(old)

    def wake(self) -> None:
        self._asked("wake")

    @one_at_a_time
    def search(self, space: str, query: IndexQuery) -> IndexFound:
        self._asked("search")
        return self._visible.search(space, query)

    @one_at_a_time
    def states(self, space: str, tenant: str) -> Iterator[IndexedState]:
        self._asked("states")
        return self._visible.states(space, tenant)

    @one_at_a_time
    def spaces(self) -> list[str]:
        self._asked("spaces")
        return sorted({space for space, _ in self._kept} | set(self._visible.spaces()))

    @one_at_a_time
    def drop(self, space: str) -> None:
        self._asked("drop")
        for kept in (self._kept, self._shown):
            for name in [name for name in kept if name[0] == space]:
                del kept[name]
        self._visible.drop(space)

    def _newest(self, space: str) -> dict[tuple[str, str], IndexDocument]:
        found: dict[tuple[str, str], IndexDocument] = {}
        for (where, _), each in self._shown.items():
            known = found.get((each.tenant, each.id))
            if where == space and (known is None or known.version < each.version):
                found[each.tenant, each.id] = each
        return found

    def _empty(self) -> SqliteMemoryIndex:
        return SqliteMemoryIndex(Path(self._folder.name) / f"{next(self._numbers)}.db")

    def _asked(self, name: str) -> None:
        if self.asleep:
            raise IndexAsleep
        self.calls.append(name)

    def _wrote(self) -> None:
        if self.at_once:
            self.refresh()
