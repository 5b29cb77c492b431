"""`hibernaut dev --profile aws-offline`: serves the deployed product on a port, with its schedules and its change stream.

Knows: the life of the process. Must not know: the command line.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.local.server import LocalServer, address, listening

ALARM_SECONDS = 1.0
"""Seconds between two looks at the schedules of agents."""


def serve(
    host: str,
    port: int,
    *,
    secrets: Mapping[str, str],
    variables: Mapping[str, str],
    ready: Callable[[str], None],
    data: Path | None = None,
) -> None:
    """Serve until Ctrl-C (KeyboardInterrupt). `ready` gets the address; `secrets` are the content of Parameter Store (the
    providers' keys and addresses, by variable name), `variables` further environment variables of the functions. `data`: the
    folder of the state (None: the state ends with the process).

    Raises: OSError (the port is taken), NotACheckout, SynthesisFailed, FolderInUse.
    """
    with OfflineAws(secrets=secrets, variables={"POWERTOOLS_LOG_LEVEL": "WARNING", **variables}, data=data) as aws:
        listener = listening(host, port)
        where, over = address(listener), threading.Event()
        clocks = [
            threading.Thread(
                target=_every, args=(seconds, partial(aws.fire_schedule, function), over), daemon=True, name="scheduler"
            )
            for function, seconds in aws.clocks().items()
        ]
        look = partial(_fire_alarms, aws)
        clocks.append(threading.Thread(target=_every, args=(ALARM_SECONDS, look, over), daemon=True, name="alarms"))
        aws.deliver_in_background()
        for clock in clocks:
            clock.start()
        try:
            LocalServer(aws.gateway, listener, ready=lambda: ready(where)).serve()
        finally:
            over.set()
            for clock in clocks:
                clock.join()


def _fire_alarms(aws: OfflineAws) -> None:
    aws.alarms.fire(datetime.now(UTC))


def _every(seconds: float, call: Callable[[], object], over: threading.Event) -> None:
    while not over.wait(seconds):
        call()
