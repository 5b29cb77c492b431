"""The other threads of a handler that has died: on Lambda they stop with it, so an emulation must hold them."""

from __future__ import annotations

import threading
from concurrent.futures import thread as pools

from hibernaut.local.aws_offline.lambdas import abandon, is_abandoned


def freeze_if_dead() -> None:
    """Hold the calling thread if its handler has died: until the end of the emulation, or for ever if nobody joins the thread.
    The interpreter joins the threads of every pool at its own end, whoever has started them.
    """
    if not is_abandoned():
        return
    thread = threading.current_thread()
    if thread.daemon and getattr(thread, "_target", None) is not pools._worker:
        threading.Event().wait()
    abandon()
