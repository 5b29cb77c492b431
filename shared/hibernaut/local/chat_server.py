"""The process that a chat starts for its own server (`local.chat.own_server`)."""

from __future__ import annotations

import os
import signal
import sys
import threading

from hibernaut.local.command import main


def serve_for_chat() -> None:
    """Run the command line until the standard input, which the chat holds open, is closed."""

    def watch() -> None:
        sys.stdin.buffer.read()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True, name="chat").start()
    sys.exit(main(sys.argv[1:]))
