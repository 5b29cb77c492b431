"""What an API key permits: the scope that each route needs, and the routes that a restricted key or a client token reaches.

A restricted key reaches what can be attributed to its agents by the path or the query; bodies are not examined. Everything else
answers 403, and so does a record that does not exist. The conversation `default` belongs to the agent that a body may name, so a
restricted key names it by the agent's id instead. A restricted key uses agents. It neither configures nor deletes them, and it
attaches nothing to them. `rest.access.client_rights` has the routes of client tokens.

Knows the paths of the routes; must not know how a record is stored.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qs

from starlette.types import Scope as AsgiScope

from hibernaut.rest.access.authentication import CALLBACK, HEALTH, PRINCIPAL
from hibernaut.rest.access.client_rights import granted
from hibernaut.rest.http.lanes import ACCESS
from hibernaut.schemas.access.api_key import Principal
from hibernaut.schemas.access.scope import Scope
from hibernaut.schemas.errors import NoKeysConfigured, ScopeTooNarrow

if TYPE_CHECKING:
    from hibernaut.rest.http.async_bridge import ThreadPools
    from hibernaut.services.access.agent_access import AgentAccess, RecordKind

READING = frozenset({"GET", "HEAD", "OPTIONS"})
READING_POSTS = frozenset(
    {
        "/v1/agents/messages/search",
        "/v1/agents/{agent_id}/export",
        "/v1/conversations/{conversation_id}/stream",
        "/v1/messages/search",
        "/v1/passages/search",
        "/v1/runs/{run_id}/stream",
        "/v1/tools/search",
    }
)
"""POST routes that change nothing: searches, streams of runs that exist, and exports."""
MCP = "/mcp"
"""The MCP endpoint. Each of its tools is checked as the route that does the same (`rest.mcp.tool`)."""
CHANGING_GETS = frozenset({"/v1/mcp-servers/connect/{mcp_server_id}"})
"""GET routes that change something, as in V1: a connection stores the server's tools."""
WEBHOOKS = "/v1/webhooks"
ERASURES = "/v1/erasures"
ERASE = "/v1/identities/{identity_id}/erase"
TOOL_POLICIES, TOOL_CALLS, ADMIN, AUDIT = "/v1/tool-policies", "/v1/tool-calls", "/v1/admin", "/v1/audit"
ADMINISTRATION = (
    "/v1/api-keys",
    "/v1/budgets",
    "/v1/client-side-access-tokens",
    WEBHOOKS,
    ERASURES,
    ERASE,
    TOOL_POLICIES,
    TOOL_CALLS,
    ADMIN,
    AUDIT,
)
"""The prefixes of the routes that need the scope admin."""
WITHOUT_KEYS = (WEBHOOKS, ERASURES, ERASE, TOOL_POLICIES, TOOL_CALLS, ADMIN, AUDIT)
"""The prefixes of the routes that also work on a server without keys. The callers of such a server are on its own machine."""

OF_EVERYONE = frozenset({*HEALTH, "/v1/models", "/v1/models/embedding"})
"""Routes without data of a tenant."""
BY_PATH: dict[str, RecordKind] = {
    "agent_id": "agent",
    "conversation_id": "conversation",
    "run_id": "run",
    "job_id": "job",
    "step_id": "step",
    "message_id": "message",
    "block_id": "block",
}
"""The first parameter of a path, and the kind of record that it names."""
BY_AGENT = frozenset(
    {"/v1/archives", "/v1/conversations", "/v1/runs", "/v1/runs/active", "/v1/runs/approvals", "/v1/steps", "/v1/usage"}
)
"""Lists that `agent_id` in the query restricts to one agent."""
BY_CONVERSATION = frozenset({"/v1/messages"})
"""Lists that `conversation_id` in the query restricts to one conversation."""
CONFIGURING = frozenset(
    {
        ("PATCH", "/v1/agents/{agent_id}"),
        ("DELETE", "/v1/agents/{agent_id}"),
        ("POST", "/v1/agents/{agent_id}/fork"),
        ("GET", "/v1/agents/{agent_id}/past"),
        ("GET", "/v1/agents/{agent_id}/versions"),
        ("GET", "/v1/agents/{agent_id}/versions/{version}"),
        ("GET", "/v1/agents/{agent_id}/versions/{version}/diff"),
        ("POST", "/v1/agents/{agent_id}/pause"),
        ("POST", "/v1/agents/{agent_id}/resume"),
        ("POST", "/v1/archives"),
        ("DELETE", "/v1/blocks/{block_id}"),
        ("GET", "/v1/blocks/{block_id}/agents"),
        ("GET", "/v1/blocks/{block_id}/versions"),
        ("GET", "/v1/blocks/{block_id}/versions/{version}"),
        ("GET", "/v1/blocks/{block_id}/versions/{version}/diff"),
        ("POST", "/v1/blocks/{block_id}/rollback"),
        ("PATCH", "/v1/agents/{agent_id}/tools/approval/{tool_name}"),
        ("PATCH", "/v1/agents/{agent_id}/identities/detach/{identity_id}"),
        ("PATCH", "/v1/blocks/{block_id}/identities/detach/{identity_id}"),
    }
)
"""Routes about agents that restricted keys do not reach: they configure agents, or tell of others."""
NOT_OF_TOOLS = frozenset({("POST", "/v1/agents/{agent_id}/tools/{tool_name}/run")})
"""Routes that a running tool does not reach: another tool may need an approval, which nobody would give here."""
ATTACHING = "/attach/"


def scope_of(method: str, path: str) -> Scope:
    """The scope that a route needs; `path` as the route declares it."""
    if path.startswith(ADMINISTRATION):
        return Scope.ADMIN
    if path in CHANGING_GETS:
        return Scope.WRITE
    return Scope.READ if method in READING or (method == "POST" and path in READING_POSTS) else Scope.WRITE


async def check(asgi: AsgiScope, path: str) -> None:
    """Check a request to a route. Raises: ScopeTooNarrow, NoKeysConfigured; ServerBusy, and what keeps the table from being
    read.
    """
    if path in (MCP, CALLBACK):
        return
    principal: Principal = asgi["state"][PRINCIPAL]
    method, needed = asgi["method"], scope_of(asgi["method"], path)
    if principal.key_id is None and path.startswith(WITHOUT_KEYS):
        return
    if needed is Scope.ADMIN and principal.key_id is None:
        raise NoKeysConfigured(
            "NO_KEYS: This server has no API keys. The command `hibernaut keys create --scope admin` creates the first one."
        )
    if not principal.scope.includes(needed):
        raise ScopeTooNarrow(
            f"FORBIDDEN: {method} {path} needs an API key of the scope {needed}; this key has the scope {principal.scope}."
        )
    if principal.of_tool and (method, path) in NOT_OF_TOOLS:
        raise ScopeTooNarrow(
            f"FORBIDDEN: A tool may not call {method} {path}: tools are called by agents, which ask for approvals."
        )
    if principal.kind == "client":
        principal = granted(principal, method, path)
    if principal.restricted and path not in OF_EVERYONE:
        named = _named(asgi, path, configures=principal.is_for_pages)
        state = asgi["app"].state
        access: AgentAccess = state.services.of(principal.tenant).agent_access
        changing = needed is not Scope.READ
        pools = cast("ThreadPools", state.pools)
        if not named or not await pools.run(ACCESS, partial(_reaches_all, access, principal, named, changing=changing)):
            raise ScopeTooNarrow(
                f"FORBIDDEN: This API key is restricted to some agents, and {method} {path} cannot be attributed to one of them."
            )


def _reaches_all(access: AgentAccess, principal: Principal, named: list[tuple[RecordKind, str]], *, changing: bool) -> bool:
    return all(access.reaches(principal, kind, identifier, changing=changing) for kind, identifier in named)


def _named(asgi: AsgiScope, path: str, *, configures: bool) -> list[tuple[RecordKind, str]]:
    """The records to which a request must be attributed; none if it cannot be attributed. `configures`: the key has a right to
    each route that it reaches.
    """
    method = asgi["method"]
    if not configures and ((method, path) in CONFIGURING or ATTACHING in path):
        return []
    query = parse_qs(asgi["query_string"].decode("latin-1"), keep_blank_values=True)
    agents = [("agent", each) for name in ("agent_id", "agent_ids") for each in query.get(name, ())]
    conversations = [("conversation", each) for each in query.get("conversation_id", ())]
    found = cast("list[tuple[RecordKind, str]]", [*agents, *conversations])
    first = next(iter(asgi["path_params"].items()), None)
    if first is not None:
        kind = BY_PATH.get(first[0])
        return [(kind, first[1]), *found] if kind is not None else []
    if path in BY_AGENT:
        return found if "agent_id" in query else []
    return found if path in BY_CONVERSATION and conversations else []
