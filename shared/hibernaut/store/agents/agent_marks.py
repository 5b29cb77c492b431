"""The marks of agents: rows by which lists find the agents of a name, a tag, a project, a template or an identity.

A mark's key is a facet, a text and the agent's id, so the marks of one text are a list of agents in the order of their creation,
and the marks of all tags are the tags in alphabetical order. Nothing counts tags: a list of them skips from one tag to the next,
so no two requests write the same counter.

The transaction that writes an agent writes its marks. Where more of them change than a transaction takes, the agent changes in
several steps (`between`), each of which is a transaction with its marks. So the marks are those of the agent at any time, and the
engine may count them. A reader of rows still compares each mark with the agent's list row, which is authoritative: it reads the
two one after the other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Literal

from hibernaut.domain.wire.listing import Page, no_entry
from hibernaut.ports.storage.table import Delete, Item, Put, Query, Update, Value
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.immutable import immutable
from hibernaut.store.agents import agent_mark_keys
from hibernaut.store.table import keys
from hibernaut.store.table.lists.row_lists import MOST_AT_ONCE, RowList
from hibernaut.store.table.tenant_table import TenantTable

Facet = Literal["NAME", "TAG", "PROJECT", "TEMPLATE", "BASE", "IDENTITY"]
MARKS_AT_ONCE = 60
"""The largest number of marks that one transaction changes, in addition to the agent and its other items."""
CONCEALED = "concealed"
"""The attribute that only the rows and marks of hidden agents have. The engine counts by it."""
RowsOf = Callable[[Sequence[str]], Mapping[str, Item]]
"""Returns the list rows of agents by id."""


@immutable
class MarkBuild:
    """How far the marks of older data are written. `after`: the agent up to which this round came; "": the round begins anew."""

    complete: bool = False
    after: str = ""


class AgentMarks:
    """The marks of a tenant's agents. `rows_of` returns the list rows that decide whether a mark holds."""

    def __init__(self, table: TenantTable, rows_of: RowsOf) -> None:
        self._table = table
        self._tenant = table.tenant
        self._rows_of = rows_of
        self._pk = agent_mark_keys.agent_mark_build(table.tenant).pk

    def put(self, agent: StoredAgent) -> list[Put]:
        """The changes that write all marks of an agent."""
        concealed: dict[str, Value] = {CONCEALED: True} if agent.hidden else {}
        return [Put({**self._place(facet, text, agent.id), "text": text, **concealed}) for facet, text in _facets(agent)]

    def change(self, before: StoredAgent, after: StoredAgent) -> tuple[list[Put], list[Delete]]:
        """The marks that an agent gains, and those that it loses."""
        before_facets, after_facets = _facets(before), _facets(after)
        new = [
            one for one in self.put(after) if bool(before.hidden) is not bool(after.hidden) or _facet_of(one) not in before_facets
        ]
        lost_keys = [
            agent_mark_keys.agent_mark(self._tenant, facet, text, after.id)
            for facet, text in before_facets
            if (facet, text) not in after_facets
        ]
        return new, [Delete(key) for key in lost_keys]

    def between(self, before: StoredAgent, after: StoredAgent) -> StoredAgent | None:
        """The next agent on the way to `after` whose tags, identities or visibility differ from those of `before` by no more
        marks than a transaction takes. None: `after` itself.
        """
        new, former = self.change(before, after)
        if len(new) + len(former) <= MARKS_AT_ONCE:
            return None
        current, target = _several(before), _several(after)
        if before.hidden != after.hidden and len(current) > MARKS_AT_ONCE // 2:
            return _with(before, current[MARKS_AT_ONCE:])
        if before.hidden != after.hidden:
            return before.model_copy(update={"hidden": after.hidden})
        removed = [one for one in current if one not in target][:MARKS_AT_ONCE]
        added = [one for one in target if one not in current][: MARKS_AT_ONCE - len(removed)]
        return _with(before, [*(one for one in current if one not in removed), *added])

    def first(self, agent: StoredAgent) -> StoredAgent:
        """A new agent with as many of its tags and identities as its first transaction takes."""
        pairs = _several(agent)
        return agent if len(pairs) <= MARKS_AT_ONCE else _with(agent, pairs[:MARKS_AT_ONCE])

    def delete(self, agent: StoredAgent) -> list[Delete]:
        """The changes that delete all marks of an agent."""
        return [Delete(agent_mark_keys.agent_mark(self._tenant, facet, text, agent.id)) for facet, text in _facets(agent)]

    def bearers(self, facet: Facet, texts: Sequence[str]) -> RowList:
        """The marks of these texts; an agent that bears several of them is there once."""
        return RowList(self._table, self._pk, *(agent_mark_keys.agent_marks(facet, text) for text in dict.fromkeys(texts)))

    def agents_of(self, facet: Facet, texts: Sequence[str]) -> dict[str, list[str]]:
        """The ids of the agents that bear each of these texts, oldest first."""
        found = self._table.query_many([Query(self._pk, prefix=agent_mark_keys.agent_marks(facet, text)) for text in texts])
        return {text: [keys.last_part(str(mark["sk"])) for mark in marks] for text, marks in zip(texts, found, strict=True)}

    def next_agents(self, facet: Facet, text: str, after: str, limit: int) -> list[str]:
        """The ids of the next agents that bear a text, behind the id `after` ("": from the first), oldest first."""
        prefix = agent_mark_keys.agent_marks(facet, text)
        marks = self._table.query(self._pk, prefix=prefix, after=prefix + after if after else None, limit=limit)
        return [keys.last_part(str(mark["sk"])) for mark in marks]

    def count(self, facet: Facet, text: str, *, hidden: bool) -> int:
        """The number of agents that bear a text, with or without the hidden ones. The engine counts."""
        prefix = agent_mark_keys.agent_marks(facet, text)
        total = self._table.count(self._pk, prefix=prefix)
        return total if hidden else total - self._table.count(self._pk, prefix=prefix, having=CONCEALED)

    # tags

    def tags(self, request: Page, admits: Callable[[str], bool]) -> list[str]:
        """A page of the tags that agents bear, in alphabetical order. A tag is its own cursor.

        Raises: NotFound for a cursor that no agent bears or that `admits` rejects.
        """
        cursors = [cursor for cursor in (request.after, request.before) if cursor is not None]
        unknown = {cursor for cursor in cursors if not admits(cursor) or not self._is_borne(cursor)}
        if request.lost == "refused":
            for cursor in unknown:
                raise no_entry(cursor)
        after, before = (None if cursor in unknown else cursor for cursor in (request.after, request.before))
        backwards = before is not None and after is None and request.limit is not None
        low, high = (before, after) if request.descending else (after, before)
        found = self._distinct(low, high, admits, descending=request.descending is not backwards, first=request.limit)
        tags: list[str] = []
        # islice ends at once where the page is full.
        while marks := list(islice(found, None if request.limit is None else request.limit - len(tags))):
            tags += self._borne(marks)
        return tags[::-1] if backwards else tags

    def _borne(self, marks: Sequence[Item]) -> list[str]:
        """The tags of these marks that agents bear. One read decides for most of them."""
        rows = self._rows_of([keys.last_part(str(mark["sk"])) for mark in marks])
        texts = [(str(mark["text"]), rows.get(keys.last_part(str(mark["sk"])))) for mark in marks]
        return [tag for tag, row in texts if _bears(row, tag) or self._is_borne(tag)]

    def _distinct(
        self, low: str | None, high: str | None, admits: Callable[[str], bool], *, descending: bool, first: int | None
    ) -> Iterator[Item]:
        """One mark of each tag between two others. Reads a few marks of each tag, however many agents bear it."""
        after = None if low is None else _behind(low)
        before = None if high is None else agent_mark_keys.agent_marks("TAG", high)
        size = min(max(first or MOST_AT_ONCE, 1), MOST_AT_ONCE)
        while True:
            marks = self._table.query(
                self._pk, prefix="TAG#", after=after, before=before, limit=size, descending=descending, names=("text",)
            )
            first_marks = [next(same) for _, same in groupby(marks, key=lambda mark: str(mark["text"]))]
            yield from (mark for mark in first_marks if admits(str(mark["text"])))
            if len(marks) < size:
                return
            last = str(marks[-1]["text"])
            after, before = (after, agent_mark_keys.agent_marks("TAG", last)) if descending else (_behind(last), before)
            size = min(max(2 * len(first_marks), 4), MOST_AT_ONCE)

    def _is_borne(self, tag: str) -> bool:
        def holding(marks: Sequence[Item]) -> list[Item]:
            rows = self._rows_of([keys.last_part(str(mark["sk"])) for mark in marks])
            return [mark for mark in marks if _bears(rows.get(keys.last_part(str(mark["sk"]))), tag)]

        return bool(self.bearers("TAG", [tag]).page(Page(limit=1), holding))

    # marks of data that was written before there were any

    def build(self) -> MarkBuild:
        """How far the marks of older data are written."""
        item = self._table.get(agent_mark_keys.agent_mark_build(self._tenant))
        return MarkBuild(bool(item["complete"]), str(item["after"])) if item else MarkBuild()

    def built(self, build: MarkBuild, due_ms: int) -> Update:
        """The change that records how far the marks are written. The sweep continues at `due_ms`."""
        key = agent_mark_keys.agent_mark_build(self._tenant)
        return Update(key, set={"complete": build.complete, "after": build.after, **keys.due(self._tenant, due_ms)})

    def _place(self, facet: Facet, text: str, agent_id: str) -> dict[str, Value]:
        key = agent_mark_keys.agent_mark(self._tenant, facet, text, agent_id)
        return {"pk": key.pk, "sk": key.sk}


def _facets(agent: StoredAgent) -> dict[tuple[Facet, str], None]:
    """The facets of an agent with their texts, in a stable order. A missing text has no mark."""
    found: list[tuple[Facet, str | None]] = [
        ("NAME", agent.name),
        ("PROJECT", agent.project_id),
        ("TEMPLATE", agent.template_id),
        ("BASE", agent.base_template_id),
        *(("IDENTITY", identity) for identity in agent.identity_ids),
        *(("TAG", tag) for tag in agent.tags),
    ]
    return {(facet, text): None for facet, text in found if text is not None}


def _several(agent: StoredAgent) -> list[tuple[Facet, str]]:
    """The facets of which an agent may have any number."""
    return [(facet, text) for facet, text in _facets(agent) if facet in ("TAG", "IDENTITY")]


def _with(agent: StoredAgent, pairs: Sequence[tuple[Facet, str]]) -> StoredAgent:
    """The agent with other tags and identities."""
    tags = [text for facet, text in pairs if facet == "TAG"]
    return agent.model_copy(update={"tags": tags, "identity_ids": [text for facet, text in pairs if facet == "IDENTITY"]})


def _facet_of(mark: Put) -> tuple[str, str]:
    return str(mark.item["sk"]).partition("#")[0], str(mark.item["text"])


def _behind(tag: str) -> str:
    """A sort key behind all marks of a tag, and before those of the next one."""
    return f"{agent_mark_keys.agent_marks('TAG', tag)}~"


def _bears(row: Item | None, tag: str) -> bool:
    return row is not None and "name" in row and tag in json.loads(str(row["tags"]))
