"""Composes the use cases that erase a person. They are imported at their first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hibernaut.services.agents.agent_deletion import AgentDeletion
from hibernaut.services.conversations.conversation_deletion import ConversationDeletion
from hibernaut.services.erasures.erasure_parts import ErasureParts
from hibernaut.services.erasures.erasures import Erasures
from hibernaut.services.files.files import Files
from hibernaut.services.prompt.file_views import FileViews
from hibernaut.services.records import records_over

if TYPE_CHECKING:
    from hibernaut.services.prompt.system_messages import SystemMessages
    from hibernaut.services.turns.run_termination import RunTermination
    from hibernaut.store.stores import TenantStores
    from hibernaut.wiring.run_resources import RunResources


def erasures_of(stores: TenantStores, shared: RunResources, *, prompts: SystemMessages, termination: RunTermination) -> Erasures:
    """The erasures of one tenant."""
    host, records = shared.host, records_over(stores, shared.host.clock, shared.host.ids)
    parts = ErasureParts(
        stores=stores,
        records=records,
        blobs=shared.stores.blob_collector,
        host=host,
        deletion=AgentDeletion(records, ConversationDeletion(records, termination=termination, threads=host.threads)),
        termination=termination,
        prompts=prompts,
        files=Files(records, stores.passages, FileViews(stores), host.ingest, threads=host.threads),
        index=shared.search.index,
    )
    return Erasures(parts)
