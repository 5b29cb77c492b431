"""The other threads of a handler that has died: on Lambda they stop with it, so an emulation must hold them."""

from __future__ import annotations

import threading

from hibernaut.local.aws_offline.lambdas import abandon, is_abandoned


def freeze_if_dead() -> None:
    """Hold the calling thread if its handler has died: until the end of the emulation, or for ever if nobody joins the thread."""
    if not is_abandoned():
        return
    if threading.current_thread().daemon:
        threading.Event().wait()
    abandon()
