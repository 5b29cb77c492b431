"""The process environment of a use case: clock, ids, the process's identity, and the ports that drive and follow runs."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from hibernaut.ports.clock import Clock, Ids
from hibernaut.ports.events.event_delivery import NO_EVENT_DELIVERY, EventDelivery
from hibernaut.ports.memory.file_reader import NO_READER, FileReader
from hibernaut.ports.memory.ingest import NO_INGEST, Ingest
from hibernaut.ports.meter import NO_METER, Meter
from hibernaut.ports.runs.schedules import NO_SCHEDULE_WORKERS, NO_SCHEDULER, Scheduler, ScheduleWorkers
from hibernaut.ports.runs.signal import RunSignal
from hibernaut.ports.runs.workflow import Workflow
from hibernaut.ports.storage.cipher import NO_CIPHER, Cipher
from hibernaut.ports.tools.mcp import NO_MCP, Mcp
from hibernaut.ports.tools.oauth import NO_OAUTH, OAuthHttp
from hibernaut.ports.tools.packages import NO_PACKAGES, PackageInstaller
from hibernaut.ports.tools.tool_access import NO_TOOL_ACCESS, ToolAccess
from hibernaut.ports.tools.web import NO_WEB, Web
from hibernaut.ports.tools.web_search import NO_WEB_SEARCH, WebSearch
from hibernaut.ports.tracing import NO_TRACER, Tracer
from hibernaut.schemas.access.budget import SetBudget
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.frozen_prompt import PromptMode


@immutable
class Retention:
    """The treatment of messages and runs after a time: their bodies go to packs in the blobs, or they are deleted."""

    after: timedelta
    mode: Literal["archive", "delete"]


TraceMode = Literal["off", "redacted", "on"]
"""What a trace stores: nothing; the bodies with each text replaced by its length; or the bodies without the configured secrets.
"""


@immutable
class Host:
    """The process that use cases run in, and its ports.

    `holder` names this process on leases and claims. `alone`: no other process can hold a lease, so a lease of another holder is
    dead. `lease`: seconds of a lease that its worker renews, on a host whose death is not reported (None: a lease lasts as long
    as its worker has time). `gather`: seconds for which the chunks of a reply are buffered into one write. `look`: seconds
    between the checks of a worker that waits for its model and must notice that it has lost the run. `traces`: what is stored of
    the exchanges with model providers. `system_prompt`: the treatment of the system message when memory has changed.
    `threads`: the number of due items that a sweep handles at once, and of files or conversations that a deletion does.
    `cipher`: seals stored secrets. `public_only`: webhooks are sent to the public internet only. `event_delivery`: starts the
    workers that pass events on.
    `tenant_budget`: the budget of a tenant for which none is set; None: it has none. `meter` counts what an invocation uses of
    AWS. `tracer` records spans of runs, steps, model calls and tool calls. `schedule_workers` fire schedules that are due;
    `scheduler` invokes them at their times, from outside the process.
    `rest_after`: the time after which an idle agent is put to rest; None: never. `retention`: the treatment of old messages and
    runs; None: they stay. `tool_access`: the tokens of running tools. `packages` installs the packages of tools.
    """

    clock: Clock
    ids: Ids
    workflow: Workflow
    signal: RunSignal
    holder: str
    alone: bool = False
    lease: float | None = None
    gather: float = 0.02
    look: float = 0.5
    traces: TraceMode = "off"
    system_prompt: PromptMode = "frozen"
    threads: int = 1
    web: Web = NO_WEB
    web_search: WebSearch = NO_WEB_SEARCH
    mcp: Mcp = NO_MCP
    oauth: OAuthHttp = NO_OAUTH
    reader: FileReader = NO_READER
    ingest: Ingest = NO_INGEST
    cipher: Cipher = NO_CIPHER
    public_only: bool = False
    event_delivery: EventDelivery = NO_EVENT_DELIVERY
    tenant_budget: SetBudget | None = None
    meter: Meter = NO_METER
    tracer: Tracer = NO_TRACER
    schedule_workers: ScheduleWorkers = NO_SCHEDULE_WORKERS
    scheduler: Scheduler = NO_SCHEDULER
    rest_after: timedelta | None = None
    retention: Retention | None = None
    tool_access: ToolAccess = NO_TOOL_ACCESS
    packages: PackageInstaller = NO_PACKAGES
