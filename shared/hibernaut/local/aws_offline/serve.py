"""`hibernaut dev --profile aws-offline`: the deployed product on a port, with a clock that fires its schedules.

Knows: the life of the process. Must not know: the command line.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.aws_offline.server import Server

MINUTE_S = 60.0
"""Every schedule of the stack is `rate(1 minute)`."""


def serve(
    host: str, port: int, *, secrets: Mapping[str, str], variables: Mapping[str, str], ready: Callable[[str], None]
) -> None:
    """Serve until Ctrl-C; `ready` is told the address. `secrets` are provider keys, `variables` the functions' further environment.

    Raises: OSError (the port is taken), NotACheckout, SynthesisFailed.
    """
    with OfflineAws(secrets=secrets, variables={"POWERTOOLS_LOG_LEVEL": "WARNING", **variables}) as aws:
        server = Server(aws.gateway, host, port)
        over = threading.Event()
        clock = threading.Thread(target=_every_minute, args=(aws, over), daemon=True, name="scheduler")
        try:
            ready(server.start())
            clock.start()
            over.wait()
        except KeyboardInterrupt:
            pass
        finally:
            over.set()
            server.stop()


def _every_minute(aws: OfflineAws, over: threading.Event) -> None:
    while not over.wait(MINUTE_S):
        aws.fire_schedule()
