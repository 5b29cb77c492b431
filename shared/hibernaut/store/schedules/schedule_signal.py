"""Notifies the clock of this process of the schedules that it has written. On AWS there is no such clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hibernaut.ports.storage.table import Change, Key, Put, Update
from hibernaut.store.schedules.schedule_keys import is_schedule


class ScheduleSignal:
    """Passes the places and times of the schedules that this process has written, of all tenants, to one `listener`, after each
    successful write.
    """

    def __init__(self) -> None:
        self.listener: Callable[[Key, int], None] | None = None

    def written(self, changes: Sequence[Change]) -> None:
        """Pass the schedules with a next time among the written changes to the listener."""
        if self.listener is None:
            return
        for change in changes:
            if isinstance(change, Put | Update) and is_schedule(change.key):
                at = (change.item if isinstance(change, Put) else change.set).get("due_sk")
                if at is not None:
                    self.listener(change.key, int(str(at).partition("#")[0]))
