"""Forks equal naive copies: whatever is said, compacted, forked and deleted, in any order.

The model beside the table is a list of ids per conversation, copied at each fork.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hibernaut.schemas.agents.conversation_record import CreateConversation
from hibernaut.services.logs.conversation_pages import ConversationPages
from hibernaut.store.conversations.window_ids import WindowIds, id_cache
from hibernaut.store.table.lists.logs import IdRange
from tests.support.conversations import append, choose, compact, conversations_of, row, talk, window_of
from tests.support.scripted_model import says
from tests.support.world import TENANT, World, data_in

MOST = 8
WHICH = st.integers(0, MOST)


@dataclass
class Copy:
    """What a conversation holds if forks copy: its log in order, and its window; the system message is in both."""

    log: list[str] = field(default_factory=list)
    window: list[str] = field(default_factory=list)

    def say(self, ids: list[str]) -> None:
        self.log += ids
        self.window += ids


class Forks(RuleBasedStateMachine):
    indexed = False

    @initialize()
    def opens(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.world = World(data_in(Path(self.folder.name), lambda *_: says("done")), indexed=self.indexed)
        self.conversations = conversations_of(self.world)
        self.agent = self.world.make_agent()
        self.copies: dict[str, Copy] = {}
        self._known(self.agent, [])
        self.seen: set[str] = set()

    def _known(self, conversation: str, shared: list[str]) -> None:
        """A new conversation: its system message comes after what it shares, by id, and first in its window."""
        system = self.world.head(conversation).window.pinned[0]
        self.copies[conversation] = Copy(sorted([*shared, system]), [system, *shared])

    def _one(self, which: int) -> str:
        return list(self.copies)[which % len(self.copies)]

    @rule(which=WHICH, calls=st.lists(st.booleans(), min_size=1, max_size=3))
    def talks(self, which: int, calls: list[bool]) -> None:
        conversation = self._one(which)
        for called in calls:
            self.copies[conversation].say(talk(self.world, conversation, calls=called))

    @rule(which=WHICH)
    def is_told_by_the_system(self, which: int) -> None:
        """A system row that a caller sent was said; it bears an otid."""
        conversation = self._one(which)
        said = row(self.world, conversation, "system", otid="otid-1")
        append(self.world, conversation, [said])
        self.copies[conversation].say([said.id])

    @rule(which=WHICH, keep=st.integers(0, 5))
    def is_compacted(self, which: int, keep: int) -> None:
        conversation = self._one(which)
        copy = self.copies[conversation]
        kept = copy.window[max(1, len(copy.window) - keep) :]
        summary = compact(self.world, conversation, keep)
        copy.log.append(summary)
        copy.window = [copy.window[0], summary, *kept]

    @rule(which=WHICH, places=st.sets(st.integers(0, 20), max_size=4))
    def has_its_window_set(self, which: int, places: set[int]) -> None:
        """To rows of its log that call nothing and answer nothing."""
        conversation = self._one(which)
        plain = [one.id for one in self.world.log(conversation) if one.role in ("user", "assistant") and not one.tool_calls]
        chosen = [message_id for place, message_id in enumerate(plain) if place in places]
        choose(self.world, conversation, chosen)
        self.copies[conversation].window = [self.copies[conversation].window[0], *chosen]

    @precondition(lambda self: len(self.copies) < MOST)
    @rule()
    def begins_another(self) -> None:
        made = self.conversations.openings.create(self.agent, CreateConversation())
        self._known(made.id, [])

    @precondition(lambda self: len(self.copies) < MOST)
    @rule(which=WHICH, place=st.none() | st.integers(0, 20))
    def is_forked(self, which: int, place: int | None) -> None:
        conversation = self._one(which)
        shared = self.copies[conversation].window[1:]
        at = None if place is None or not shared else shared[place % len(shared)]
        made = self.conversations.openings.fork(conversation, message_id=at)
        head = self.world.head(made.id)
        wanted = shared if at is None else shared[: shared.index(at) + 1]
        if wanted and self._calls(conversation, wanted[-1]):
            wanted = wanted[:-1]
        self._known(made.id, wanted)
        assert head.messages == 1 + len(wanted)

    @precondition(lambda self: len(self.copies) + 1 < MOST)
    @rule(which=WHICH, keep=st.integers(0, 5))
    def has_a_compacted_fork_that_is_forked(self, which: int, keep: int) -> None:
        """What rarely comes about by chance."""
        self.is_forked(which, None)
        newest = len(self.copies) - 1
        self.is_compacted(newest, keep)
        self.is_forked(newest, None)

    def _calls(self, conversation: str, message_id: str) -> bool:
        found = self.world.stores.conversations.message(conversation, message_id)
        assert found is not None
        return bool(found.tool_calls)

    @precondition(lambda self: len(self.copies) > 1)
    @rule(which=WHICH)
    def is_deleted(self, which: int) -> None:
        conversation = list(self.copies)[1 + which % (len(self.copies) - 1)]
        self.conversations.delete(conversation)
        self.seen.add(conversation)
        del self.copies[conversation]

    @rule(which=WHICH, places=st.tuples(*[st.none() | st.integers(0, 40)] * 2), limit=st.integers(1, 6), descending=st.booleans())
    def is_listed(self, which: int, places: tuple[int | None, int | None], limit: int, descending: bool) -> None:
        """From any cursor to any other: a slice of its list, in which the system message stands first."""
        conversation = self._one(which)
        system = self.world.head(conversation).window.pinned[0]
        whole = [system, *(one for one in self.copies[conversation].log if one != system)]
        after, before = (None if place is None else whole[place % len(whole)] for place in places)
        within = whole[whole.index(after) + 1 if after else 0 : whole.index(before) if before else len(whole)]
        wanted = within[-limit:] if descending else within[:limit]
        pages = ConversationPages(self.world.stores.conversations)
        found = pages.page(conversation, IdRange(after, before), limit=limit, descending=descending)
        assert [one.id for one in found] == wanted

    @invariant()
    def logs_and_windows_are_those_of_copies(self) -> None:
        ids = WindowIds(self.world.stores.conversations, id_cache().of(TENANT))
        for conversation, copy in self.copies.items():
            head = self.world.head(conversation)
            assert [one.id for one in self.world.log(conversation)] == copy.log
            assert window_of(self.world, conversation) == copy.window, "to a worker that was there"
            assert window_of(self.world, conversation, fresh=True) == copy.window
            assert self.world.stores.window_ids.of([head]) == ids.of([head]) == {head.id: copy.window}

    @invariant()
    def rows_are_left_as_long_as_somebody_needs_them(self) -> None:
        """And not longer: a dead log holds what living ones share of it."""
        living = {message_id for copy in self.copies.values() for message_id in copy.log}
        for conversation in self.seen:
            left = self.world.stores.conversations.logs.rows(conversation, [], IdRange())
            assert {one.id for one in left} <= living

    @rule(which=WHICH, low=st.integers(-1, 20), high=st.integers(-1, 20), limit=st.integers(0, 9), descending=st.booleans())
    def is_read_page_by_page(self, which: int, low: int, high: int, limit: int, descending: bool) -> None:
        conversation = self._one(which)
        log = self.copies[conversation].log
        after, before = (log[place % len(log)] if place >= 0 else None for place in (low, high))
        found = self.world.stores.conversations.page(conversation, after=after, before=before, limit=limit, descending=descending)
        between = [one for one in log if (after is None or one > after) and (before is None or one < before)]
        assert [one.id for one in found] == (between[::-1] if descending else between)[:limit]
        whole = self.world.stores.agent_logs.page(self.agent, IdRange(after, before), limit=limit, descending=descending)
        every = sorted({one for copy in self.copies.values() for one in copy.log})
        between = [one for one in every if (after is None or one > after) and (before is None or one < before)]
        assert [one.id for one in whole] == (between[::-1] if descending else between)[:limit]

    @rule(which=WHICH, other=WHICH)
    def is_asked_for_single_rows(self, which: int, other: int) -> None:
        mine, theirs = self.copies[self._one(which)].log, self.copies[self._one(other)].log
        asked = list(dict.fromkeys([*mine, *theirs]))
        found = self.world.stores.conversations.messages(self._one(which), asked)
        assert [one.id for one in found] == mine
        last = theirs[-1]
        assert self.world.stores.agent_logs.message(self.agent, last) is not None

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        for conversation in list(self.copies)[1:]:
            self.conversations.delete(conversation)
            self.seen.add(conversation)
        for conversation in self.seen:
            pk = f"{TENANT}#CONV#{conversation}"
            assert self.world.data.table.query(pk) == [], "nothing is left of the dead"
        own = f"{TENANT}#CONV#{self.agent}"
        assert self.world.data.table.query(own, prefix="FORK#") == []
        self.folder.cleanup()


TestForks = Forks.TestCase
TestForks.settings = settings(max_examples=40, stateful_step_count=25)
