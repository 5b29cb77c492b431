"""`hibernaut dev --profile aws-offline`: the deployed product on a port, with a clock that fires its schedules.

Knows: the life of the process. Must not know: the command line.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.server import LocalServer, address, listening

MINUTE_S = 60.0
"""Every schedule of the stack is `rate(1 minute)`."""


def serve(
    host: str, port: int, *, secrets: Mapping[str, str], variables: Mapping[str, str], ready: Callable[[str], None]
) -> None:
    """Serve until Ctrl-C: KeyboardInterrupt. `ready` is told the address; `secrets` are what Parameter Store holds (the providers'
    keys and addresses, by their variables' names), `variables` the functions' further environment.

    Raises: OSError (the port is taken), NotACheckout, SynthesisFailed.
    """
    with OfflineAws(secrets=secrets, variables={"POWERTOOLS_LOG_LEVEL": "WARNING", **variables}) as aws:
        listener = listening(host, port)
        where, over = address(listener), threading.Event()
        clock = threading.Thread(target=_every_minute, args=(aws, over), daemon=True, name="scheduler")
        clock.start()
        try:
            LocalServer(aws.gateway, listener, ready=lambda: ready(where)).serve()
        finally:
            over.set()
            clock.join()


def _every_minute(aws: OfflineAws, over: threading.Event) -> None:
    while not over.wait(MINUTE_S):
        aws.fire_schedule()
