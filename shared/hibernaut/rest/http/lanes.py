"""Lanes: the kinds of blocking requests. Each has its own thread pool with a bounded queue.

No kind can therefore starve another: reads are answered while tools run, and a cancel waits for neither. If the queue of a lane
is full, the server refuses the request at once (503 with Retry-After). Knows paths; must not know what the routes do.
"""

from __future__ import annotations

from collections.abc import Collection

from hibernaut.schemas.immutable import immutable


@immutable
class Lane:
    """A thread pool: at most `threads` requests run at the same time, and at most `waiting` more are in the queue."""

    name: str
    threads: int
    waiting: int


READS = Lane("reads", 32, 1000)
WRITES = Lane("writes", 16, 500)
CONTROL = Lane("control", 8, 500)
"""Cancels: short requests that end the work of other lanes."""
DELETIONS = Lane("deletions", 4, 200)
SEARCHES = Lane("searches", 8, 200)
TOOL_SOURCES = Lane("tool sources", 12, 100)
"""Parsing of tool sources, which takes CPU time, and the installation of their packages."""
TOOL_RUNS = Lane("tool runs", 16, 32)
"""Each request waits for a child process, a Lambda function or an MCP server, up to the tool's time limit."""
UPLOADS = Lane("uploads", 4, 32)
SUMMARIES = Lane("summaries", 16, 64)
"""Each request waits for a model."""
PROVIDERS = Lane("providers", 16, 200)
"""Each request may wait for a provider's list of models, which a server that does not answer delays for seconds."""
TURNS = Lane("turns", 200, 200)
"""The routes that return the reply to a message, whole or as a stream: a thread of the request executes the steps of the run."""
ADMISSIONS = Lane("admissions", 32, 1000)
"""Acceptance of messages, which start runs."""
BODIES = Lane("bodies", 2, 500)
"""The reading of large bodies, which takes CPU time: more threads would read none of them earlier."""
DOCUMENTATION = Lane("documentation", 1, 100)
"""`/docs` and `/openapi.json`: the first request builds the description of the API, which takes seconds of CPU time."""
LOOKS = Lane("looks", 16, 100_000)
"""Short reads for the followers of runs, of which there may be many."""

ACCESS = Lane("access", 8, 1000)
"""Short reads before a request is routed: its key, and the agents that the key reaches."""

BY_ENDING = {
    "/cancel": CONTROL,
    "/upload": UPLOADS,
    "/import": UPLOADS,
    "/summarize": SUMMARIES,
    "/compact": SUMMARIES,
    "/generate": SUMMARIES,
    "/generate-tool": SUMMARIES,
    "/search": SEARCHES,
    "/run": TOOL_RUNS,
}
"""The lane by the last segment of a path, for every method."""

ASKING_PROVIDERS = frozenset(
    (
        "/v1/models",
        "/v1/models/embedding",
        "/v1/providers/check",
        "/v1/providers/{provider_id}/check",
        "/v1/providers/{provider_id}/refresh",
    )
)
"""The routes that ask providers for their models."""
MCP = ("/v1/mcp-servers", "/v1/tools/mcp/")
"""The prefixes of the routes whose changes send requests to an MCP server."""
MCP_LISTING = "/v1/tools/mcp/servers/{mcp_server_name}/tools"
"""The route that asks one in order to read."""


def lane_of(path: str, methods: Collection[str]) -> Lane:
    """The lane of a route, by its declared path and its methods."""
    ending = BY_ENDING.get(path[path.rindex("/") :])
    if ending is not None and (ending is not TOOL_RUNS or "/tools/" in path):  # a schedule is run too, by accepting a message
        return ending
    if path in ASKING_PROVIDERS:
        return PROVIDERS
    if path == MCP_LISTING:
        return TOOL_RUNS
    if "GET" in methods:
        return READS
    if "DELETE" in methods:
        return DELETIONS
    if path.startswith(MCP):
        return TOOL_RUNS
    return TOOL_SOURCES if path.startswith("/v1/tools") else WRITES
