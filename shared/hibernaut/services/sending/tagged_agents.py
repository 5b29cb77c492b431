"""Finds the agents that a message by tags is for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from hibernaut.ports.storage.table import Item
from hibernaut.store.agents.agents import tags_of
from hibernaut.store.stores import TenantStores

PAGE = 100
"""Rows of the first read."""


class TaggedAgents:
    """The agents of one tenant by their tags."""

    def __init__(self, stores: TenantStores) -> None:
        self._agents = stores.agents
        self._marks = stores.agent_marks

    def ids(self, match_all: Sequence[str], match_some: Sequence[str], *, most: int) -> list[str]:
        """The ids of the first `most` agents, oldest first, that have all tags of `match_all` and one of `match_some`; an empty
        list is no condition. Hidden agents are left out.
        """
        required, any_of = set(match_all), set(match_some)

        def admits(row: Item) -> bool:
            tags = tags_of(row)
            return not row["hidden"] and required <= tags and (not any_of or not tags.isdisjoint(any_of))

        return [str(row["sk"]) for row in islice(filter(admits, self._rows(match_all, match_some)), most)]

    def _rows(self, match_all: Sequence[str], match_some: Sequence[str]) -> Iterable[Item]:
        """The list rows of all agents that may have the tags."""
        texts = match_all[:1] or match_some
        if not texts or not self._marks.build().complete:
            return self._agents.listed().walk(first=PAGE)
        return self._marked(texts)

    def _marked(self, texts: Sequence[str]) -> Iterator[Item]:
        marks = self._marks.bearers("TAG", texts).walk(first=PAGE)
        while page := list(islice(marks, PAGE)):
            yield from self._agents.rows_marked(page)
