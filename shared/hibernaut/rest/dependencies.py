"""The dependencies of a route: the use cases and the caller.

The functions are `async` although they do no I/O: FastAPI would run a plain function on a thread, at each request.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from hibernaut.rest.access.authentication import PRINCIPAL
from hibernaut.rest.http.async_bridge import ThreadPools
from hibernaut.schemas.access.api_key import Principal
from hibernaut.schemas.access.scope import Scope
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.ids import DEFAULT_USER, is_id
from hibernaut.schemas.immutable import immutable
from hibernaut.services.access.api_keys import ApiKeys
from hibernaut.services.budgets.administration import Budgets

if TYPE_CHECKING:
    from hibernaut.services.access.agent_access import AgentAccess
    from hibernaut.services.agent_documents.agent_documents import AgentDocuments
    from hibernaut.services.agents.agent_forks import AgentForks
    from hibernaut.services.agents.agent_history import AgentHistory
    from hibernaut.services.agents.agent_pauses import AgentPauses
    from hibernaut.services.agents.agents import Agents
    from hibernaut.services.agents.identities import Identities
    from hibernaut.services.conversations.conversations import Conversations
    from hibernaut.services.erasures.erasures import Erasures
    from hibernaut.services.events.webhooks import Webhooks
    from hibernaut.services.files.agent_files import AgentFiles
    from hibernaut.services.files.files import Files
    from hibernaut.services.files.folders import Folders
    from hibernaut.services.files.upload_tickets import UploadTickets
    from hibernaut.services.groups.group_messages import GroupMessages
    from hibernaut.services.groups.groups import Groups
    from hibernaut.services.logs.messages import MessageLists
    from hibernaut.services.logs.run_follower import RunFollower
    from hibernaut.services.memory.archives import Archives
    from hibernaut.services.memory.audit_pages import AuditPages
    from hibernaut.services.memory.block_history import BlockHistory
    from hibernaut.services.memory.blocks import Blocks
    from hibernaut.services.memory.passage_history import PassageHistory
    from hibernaut.services.memory.passages import Passages
    from hibernaut.services.memory.run_versions import RunVersions
    from hibernaut.services.models.model_list import ModelList
    from hibernaut.services.models.providers import Providers
    from hibernaut.services.per_tenant import PerTenant
    from hibernaut.services.prompt.system_messages import SystemMessages
    from hibernaut.services.runs.cancellation import Cancellation
    from hibernaut.services.runs.jobs import Jobs
    from hibernaut.services.runs.repairs import Repairs
    from hibernaut.services.runs.run_continuations import RunContinuations
    from hibernaut.services.runs.runs import Runs
    from hibernaut.services.runs.steps import Steps
    from hibernaut.services.schedules.schedules import Schedules
    from hibernaut.services.search.search_api import SearchApi
    from hibernaut.services.sending.batches import Batches
    from hibernaut.services.sending.captures import Captures
    from hibernaut.services.sending.direct_calls import DirectCalls
    from hibernaut.services.sending.sending import Sending
    from hibernaut.services.templates.templates import Templates
    from hibernaut.services.tools.mcp_connections import McpConnections
    from hibernaut.services.tools.mcp_servers import McpServers
    from hibernaut.services.tools.named_mcp_servers import NamedMcpServers
    from hibernaut.services.tools.sandboxes import Sandboxes
    from hibernaut.services.tools.tool_generation import ToolGeneration
    from hibernaut.services.tools.tool_policies import ToolPolicies
    from hibernaut.services.tools.tools import Tools
    from hibernaut.services.turns.compaction import Compaction
    from hibernaut.services.turns.run_termination import RunTermination

LETTA_CODE = "letta-code"
"""What Letta Code names as its source."""
_STABLE_CLIENT = re.compile(r"@?(?:letta-ai/)?letta-client/1\.")


@immutable
class Services:
    """The use cases that the routes call, for one tenant. The composition root builds them."""

    agent_access: AgentAccess
    agents: Agents
    agent_documents: AgentDocuments
    agent_pauses: AgentPauses
    agent_history: AgentHistory
    agent_forks: AgentForks
    templates: Templates
    blocks: Blocks
    groups: Groups
    group_messages: GroupMessages
    identities: Identities
    erasures: Erasures
    audits: AuditPages
    block_history: BlockHistory
    run_versions: RunVersions
    tools: Tools
    mcp_servers: McpServers
    named_mcp_servers: NamedMcpServers
    mcp_connections: McpConnections
    models: ModelList
    providers: Providers
    prompts: SystemMessages
    sending: Sending
    batches: Batches
    captures: Captures
    run_follower: RunFollower
    messages: MessageLists
    runs: Runs
    jobs: Jobs
    direct_calls: DirectCalls
    tool_generation: ToolGeneration
    steps: Steps
    termination: RunTermination
    repairs: Repairs
    cancelling: Cancellation
    continuations: RunContinuations
    conversations: Conversations
    compactions: Compaction
    folders: Folders
    files: Files
    upload_tickets: UploadTickets
    agent_files: AgentFiles
    archives: Archives
    passages: Passages
    passage_history: PassageHistory
    searches: SearchApi
    webhooks: Webhooks
    schedules: Schedules
    tool_policies: ToolPolicies
    sandboxes: Sandboxes


@immutable
class Caller:
    """The caller of a request. `is_1_0_client`: a client of the stable SDK, whose replies have fewer relations by default (Letta
    V1 API, API 1.4). `writes_back`: a client that reads the lists of an agent without `include`, and writes them back.

    `reads_secrets`: whether replies may contain the values of secrets. With keys, the key needs the scope admin; without keys,
    the caller must be on the server's own machine. `key_id`: the API key, if the server has keys. `of_tool`: the caller is a
    running tool.
    """

    tenant: str
    user_id: str
    is_1_0_client: bool
    writes_back: bool = False
    reads_secrets: bool = False
    key_id: str | None = None
    of_tool: bool = False


async def pools(request: Request) -> ThreadPools:
    """The thread pools of the app."""
    found: ThreadPools = request.app.state.pools
    return found


async def caller(request: Request) -> Caller:
    """The caller. Its tenant comes from its API key alone (`rest/access/authentication.py`); without keys there is one tenant,
    and any `Authorization` is accepted.

    The header `user_id` must be well formed; every user counts as the default one (API 1.2). Raises: InvalidArgument.
    """
    user = request.headers.get("user_id")
    if user is not None and not is_id(user, "user"):
        raise InvalidArgument(f"INVALID_ARGUMENT: Invalid user ID format: {user}. Expected format: 'user-<uuid4>'")
    principal = principal_of(request)
    return Caller(
        tenant=principal.tenant,
        user_id=DEFAULT_USER,
        is_1_0_client=is_1_0_client(request),
        writes_back=request.headers.get("x-letta-source") == LETTA_CODE,
        reads_secrets=_on_this_machine(request) if principal.key_id is None else principal.scope is Scope.ADMIN,
        key_id=principal.key_id,
        of_tool=principal.of_tool,
    )


def principal_of(request: Request) -> Principal:
    """The principal of a request, as `Authenticated` found it."""
    found: Principal = request.scope["state"][PRINCIPAL]
    return found


def _on_this_machine(request: Request) -> bool:
    try:
        return request.client is not None and ip_address(request.client.host).is_loopback
    except ValueError:
        return False


def is_1_0_client(request: Request) -> bool:
    """Whether the request comes from the stable SDK, or has no User-Agent (API 1.4)."""
    agent = request.headers.get("user-agent")
    return "x-stainless-package-version" in request.headers or agent is None or _STABLE_CLIENT.match(agent) is not None


async def principal(request: Request) -> Principal:
    """The principal of a request."""
    return principal_of(request)


ThePrincipal = Annotated[Principal, Depends(principal)]
TheThreadPools = Annotated[ThreadPools, Depends(pools)]
TheCaller = Annotated[Caller, Depends(caller)]


async def services(request: Request, caller: TheCaller) -> Services:
    """The use cases of the caller's tenant. Only this function of `rest` names a tenant."""
    found: PerTenant[Services] = request.app.state.services
    return found.of(caller.tenant)


TheServices = Annotated[Services, Depends(services)]


async def api_keys(request: Request, caller: TheCaller) -> ApiKeys:
    """The administration of the API keys of the caller's tenant."""
    keys: ApiKeys = request.app.state.access.keys_of(caller.tenant)
    return keys


TheApiKeys = Annotated[ApiKeys, Depends(api_keys)]


async def budgets(request: Request, caller: TheCaller) -> Budgets:
    """The administration of the budgets of the caller's tenant."""
    found: Budgets = request.app.state.access.budgets_of(caller.tenant)
    return found


TheBudgets = Annotated[Budgets, Depends(budgets)]
