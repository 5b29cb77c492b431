"""The Lambda functions of a stack by their names, and the groups of them that have something in common."""

from __future__ import annotations

from dataclasses import dataclass, fields

from infra.constructs.functions import OurFunction


@dataclass(frozen=True, slots=True)
class Functions:
    """The Lambda functions of the stack."""

    api: OurFunction
    stream: OurFunction
    advance_turn: OurFunction
    summarize: OurFunction
    request_approval: OurFunction
    close_run: OurFunction
    run_node: OurFunction
    run_tool: OurFunction
    sweep_runs: OurFunction
    ingest_file: OurFunction
    deliver_events: OurFunction
    fire_schedule: OurFunction
    build_packages: OurFunction
    index_memory: OurFunction | None
    """None: memory is not indexed."""
    socket: OurFunction | None = None
    """None: there is no WebSocket API."""

    @property
    def waiting(self) -> list[OurFunction]:
        """The functions that drive the runs of waiting callers."""
        return [self.stream] if self.socket is None else [self.stream, self.socket]

    def by_name(self) -> dict[str, OurFunction]:
        """The existing functions, by folder."""
        each = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: function for name, function in each.items() if function is not None}

    @property
    def knowing(self) -> list[OurFunction]:
        """The functions that serve tenants' records: all but the sandboxes and the builder of their packages."""
        return [function for name, function in self.by_name().items() if name not in (*CAGED, "build_packages")]


CAGED = ("run_tool", "run_node")
"""The sandboxes: their roles deny their code everything."""
UNAWAITED = ("sweep_runs", "ingest_file", "deliver_events", "fire_schedule")
"""The functions with asynchronous invocations: a failed one becomes a dead letter."""
NEAR_THE_INDEX = ("api", "stream", "socket", "advance_turn", "index_memory")
"""The functions that use the memory index, and so run in its VPC if it has one. With a VPC of its own setting all functions do
but the sandbox, whose code must not reach what is in it.
"""
TASKS = ("advance_turn", "summarize", "request_approval", "close_run")
"""The functions that the state machine calls."""
