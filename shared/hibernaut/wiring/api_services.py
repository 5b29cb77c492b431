"""Composes the use cases that the API calls, in the same way for every profile. Must not import an engine."""

from __future__ import annotations

from hibernaut.domain.models.prices import PriceList
from hibernaut.ports.storage.uploads import Uploads
from hibernaut.rest.dependencies import Services
from hibernaut.services.access.agent_access import AgentAccess
from hibernaut.services.agent_documents.agent_documents import AgentDocuments
from hibernaut.services.agents.agent_creation import AgentCreation
from hibernaut.services.agents.agent_deletion import AgentDeletion
from hibernaut.services.agents.agent_forks import AgentForks
from hibernaut.services.agents.agent_history import AgentHistory
from hibernaut.services.agents.agent_pauses import AgentPauses
from hibernaut.services.agents.agent_updates import AgentUpdates
from hibernaut.services.agents.agent_windows import AgentWindows
from hibernaut.services.agents.agents import Agents
from hibernaut.services.agents.identities import Identities
from hibernaut.services.agents.identity_links import IdentityLinks
from hibernaut.services.conversations.conversation_creation import ConversationCreation
from hibernaut.services.conversations.conversation_deletion import ConversationDeletion
from hibernaut.services.conversations.conversations import Conversations
from hibernaut.services.files.agent_files import AgentFiles
from hibernaut.services.files.files import DEFAULT_LIMIT, Files
from hibernaut.services.files.folders import Folders
from hibernaut.services.files.upload_tickets import UploadTickets
from hibernaut.services.groups.group_messages import GroupMessages
from hibernaut.services.groups.groups import Groups
from hibernaut.services.host import Host
from hibernaut.services.imports.import_writer import ImportWriter
from hibernaut.services.logs.messages import MessageLists
from hibernaut.services.logs.run_follower import RunFollower
from hibernaut.services.memory.archives import Archives
from hibernaut.services.memory.audit_pages import AuditPages
from hibernaut.services.memory.block_history import BlockHistory
from hibernaut.services.memory.blocks import Blocks
from hibernaut.services.memory.passage_history import PassageHistory
from hibernaut.services.memory.passages import Passages
from hibernaut.services.memory.run_versions import RunVersions
from hibernaut.services.models.model_list import ModelList as ModelLists
from hibernaut.services.models.providers import Providers
from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.prompt.file_views import FileViews
from hibernaut.services.records import records_over
from hibernaut.services.runs.cancellation import Cancellation
from hibernaut.services.runs.jobs import Jobs
from hibernaut.services.runs.run_continuations import RunContinuations
from hibernaut.services.runs.runs import Runs
from hibernaut.services.runs.steps import Steps
from hibernaut.services.search.search_api import SearchApi
from hibernaut.services.sending.captures import Captures
from hibernaut.services.sending.direct_calls import DirectCalls
from hibernaut.services.templates.templates import templates_over
from hibernaut.services.tools.adhoc_tool_runs import AdhocToolRuns
from hibernaut.services.tools.named_mcp_servers import NamedMcpServers
from hibernaut.services.tools.sandboxes import Sandboxes
from hibernaut.services.tools.tool_generation import ToolGeneration
from hibernaut.services.tools.tool_packages import ToolPackages
from hibernaut.services.tools.tool_policies import ToolPolicies
from hibernaut.services.tools.tools import Tools
from hibernaut.store.stores import Stores, TenantStores
from hibernaut.wiring.run_engine import RunEngine, RunEngines


def services_of(
    stores: Stores,
    host: Host,
    engines: RunEngines,
    *,
    upload_limit: int = DEFAULT_LIMIT,
    uploads: Uploads | None = None,
) -> PerTenant[Services]:
    """The use cases that the API calls, for each tenant. A request selects those of its tenant."""
    return PerTenant(
        lambda tenant: services_over(stores.of(tenant), host, engines.of(tenant), upload_limit=upload_limit, uploads=uploads)
    )


def _price_list() -> PriceList:
    """The list of this release, imported at the first use."""
    from hibernaut.adapters.model.prices.price_list import price_list

    return price_list()


def services_over(
    stores: TenantStores,
    host: Host,
    chain: RunEngine,
    *,
    upload_limit: int = DEFAULT_LIMIT,
    uploads: Uploads | None = None,
) -> Services:
    """The use cases of one tenant.

    `chain` advances the runs that `sending` accepts, in this process or in another. `upload_limit`: bytes of an uploaded file.
    `uploads` issues addresses to which clients upload large files directly; None: all files go through the API.
    """
    records, models = records_over(stores, host.clock, host.ids), chain.models
    windows = AgentWindows(records, models=models, prompts=chain.prompts, prices=_price_list)
    tool_runs = AdhocToolRuns(stores, host, records, loader=chain.loader, calls=chain.calls, runner=chain.runner)
    messages = MessageLists(
        agents=stores.agents, conversations=stores.conversations, agent_logs=stores.agent_logs, log=stores.messages
    )
    runs = Runs(
        runs=stores.runs,
        steps=stores.steps,
        messages=messages,
        approvals=stores.approvals,
        conversations=stores.conversations,
        deletion=stores.deletion,
    )
    creation = AgentCreation(records, models=models, prompts=chain.prompts)
    updates = AgentUpdates(records, models=models, windows=windows, creation=creation)
    views = FileViews(stores)
    history = AgentHistory(stores, records)
    ends = ConversationDeletion(records, termination=chain.termination, threads=host.threads)
    agents = Agents(
        records,
        views,
        creation=creation,
        updates=updates,
        windows=windows,
        deletion=AgentDeletion(records, ends),
    )
    blocks, groups = Blocks(records), Groups(records, ends)
    archives = Archives(stores, records, models=models, agents=agents)
    files = Files(records, stores.passages, views, host.ingest, limit=upload_limit, threads=host.threads)
    tools = Tools(records, runs=tool_runs, packages=ToolPackages(stores.tenant, host.packages))
    mcp = chain.mcp(tools)
    documents = AgentDocuments(
        stores, records, models=models, writer=ImportWriter(stores, host), packages=host.packages, uploads=uploads
    )
    return Services(
        agent_access=AgentAccess(stores),
        files=files,
        upload_tickets=UploadTickets(files, stores.files, uploads),
        folders=Folders(records, models=models, files=files, agents=updates),
        agent_documents=documents,
        templates=templates_over(stores, records, documents, migration=chain.template_migration),
        agent_files=AgentFiles(records, views),
        agents=agents,
        agent_pauses=AgentPauses(records, stores.pauses),
        agent_history=history,
        agent_forks=AgentForks(records, history, creation=creation, prompts=chain.prompts),
        archives=archives,
        passages=Passages(stores, records, archives),
        passage_history=PassageHistory(stores, records, archives),
        searches=SearchApi(stores, chain.search),
        blocks=blocks,
        block_history=BlockHistory(records, blocks),
        run_versions=RunVersions(stores, records),
        groups=groups,
        group_messages=GroupMessages(records, groups, prompts=chain.prompts, messages=messages, windows=windows),
        erasures=chain.erasures,
        audits=AuditPages(stores),
        identities=Identities(records, IdentityLinks(records, updates)),
        tools=tools,
        mcp_servers=mcp.servers,
        mcp_connections=mcp.connections,
        named_mcp_servers=NamedMcpServers(mcp.servers),
        models=ModelLists(models),
        providers=Providers(records, stores.providers, chain.own_providers, models),
        prompts=chain.prompts,
        termination=chain.termination,
        sending=chain.sending,
        batches=chain.batches,
        captures=Captures(stores, host),
        repairs=chain.repairs,
        cancelling=Cancellation(stores, chain.termination),
        continuations=RunContinuations(stores),
        conversations=Conversations(
            records,
            prompts=chain.prompts,
            models=models,
            openings=ConversationCreation(records, prompts=chain.prompts, models=models),
            ends=ends,
        ),
        run_follower=RunFollower(stores, host),
        messages=messages,
        runs=runs,
        direct_calls=DirectCalls(records, host, models, chain.loader, chain.budgets),
        tool_generation=ToolGeneration(host, models, chain.budgets),
        jobs=Jobs(runs=runs, termination=chain.termination),
        compactions=chain.compactions,
        steps=Steps(steps=stores.steps, messages=messages, writer=stores.writer, traces=stores.traces),
        webhooks=chain.webhooks,
        schedules=chain.schedules,
        tool_policies=ToolPolicies(stores, host),
        sandboxes=Sandboxes(stores, host),
    )
