"""The system message: compiled from an agent's system text, blocks, files and tool rules, and reused while those stay.

Within a window a model is sent the first compilation, and later changes of memory as updates in newer messages (invariant 10,
decision 23); clients are shown the newest compilation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from hibernaut.domain.agents.agent_types import spec_of
from hibernaut.domain.memory import memory_updates, system_prompt
from hibernaut.domain.memory.memory_updates import UpdatePlace
from hibernaut.domain.memory.system_prompt import PromptInputs
from hibernaut.domain.tools import tool_rules
from hibernaut.domain.window import window
from hibernaut.ports.clock import Clock
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.conversation import CompiledFrom, Head
from hibernaut.schemas.agents.conversation_record import StoredConversation
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.messages.frozen_prompt import PromptMode
from hibernaut.schemas.messages.message import Message
from hibernaut.services.prompt.file_views import FileViews
from hibernaut.store.conversations.conversations import LoadedConversation, prompt_hash, text_hash
from hibernaut.store.stores import TenantStores

_DEFAULT = "default"


@immutable
class CompiledMessage:
    """The text and the sources of a system message. `changed`: the sources differ from those recorded in the head."""

    text: str
    source: CompiledFrom
    changed: bool
    inputs: PromptInputs

    @property
    def at(self) -> datetime:
        return self.source.compiled_at


@immutable
class PromptSources:
    """The sources of a system message beside the agent and its blocks: the stamp of archival memory, and the section
    `<directories>`, which names each file of the agent's folders.
    """

    archival_stamp: str
    directories: str | None


class SystemMessages:
    """Compiles system messages and detects stale ones."""

    def __init__(self, stores: TenantStores, clock: Clock, mode: PromptMode = "frozen") -> None:
        self._mode = mode
        self._blocks = stores.blocks
        self._archives = stores.archives
        self._files = FileViews(stores)
        self._clock = clock

    def blocks_of(self, agent: StoredAgent, record: StoredConversation | None = None) -> list[StoredBlock]:
        """The agent's blocks in the order of attachment. In a conversation (`record`), private copies replace their originals."""
        ids = overlaid(agent.block_ids, record.isolated if record else {})
        found = self._blocks.get_many(ids)
        return [found[block_id] for block_id in ids if block_id in found]

    def compiled(
        self,
        agent: StoredAgent,
        head: Head,
        *,
        blocks: Sequence[StoredBlock] | None = None,
        in_window: int = 1,
        update_time: bool = True,
        sources: PromptSources | None = None,
    ) -> CompiledMessage:
        """Compile the system message from the current state. If only time and counters would change, `is_changed` is False.

        `in_window`: number of messages in the window; the other messages of the log are "previous messages". `update_time` off
        keeps the time of the last compilation. `blocks` and `sources`: the agent's, if the caller has read them already.
        """
        blocks = self.blocks_of(agent) if blocks is None else blocks
        at = self._clock.now() if update_time or head.compiled is None else head.compiled.compiled_at
        # Its stamp is read before the count: the next run sees a change in between.
        sources = self.sources(agent, blocks) if sources is None else sources
        inputs = self._inputs(agent, head, blocks, sources, at, in_window)
        digest = system_prompt.digest(self._sourced(agent, head, blocks, sources))
        versions = {block.id: block.version for block in blocks}
        text = system_prompt.compile_prompt(inputs)
        source = CompiledFrom(digest=digest, text=text_hash(text), block_versions=versions, compiled_at=at)
        is_changed = head.compiled is None or head.compiled.digest != digest
        return CompiledMessage(text, source, is_changed, inputs)

    def sources(
        self, agent: StoredAgent, blocks: Sequence[StoredBlock], archive_ids: Sequence[str] | None = None
    ) -> PromptSources:
        """What a system message is compiled from beside the agent and its blocks. `archive_ids`: the agent's, if the caller has
        read them already.
        """
        archive_ids = self._archives.of_agent(agent.id) if archive_ids is None else archive_ids
        return PromptSources(self._archives.stamp(archive_ids), self._files.section(agent, [block.label for block in blocks]))

    def outdated(
        self, agent: StoredAgent, before: LoadedConversation, blocks: Sequence[StoredBlock], sources: PromptSources
    ) -> bool:
        """Whether a run must compile the system message of this conversation before it calls its model: the sources differ from
        those recorded in the head, or `thawed`. Cheaper than `compiled`.
        """
        compiled = before.head.compiled
        if compiled is None or self.thawed(before):
            return True
        return system_prompt.digest(self._sourced(agent, before.head, blocks, sources)) != compiled.digest

    def thawed(self, before: LoadedConversation) -> bool:
        """Whether the system message is frozen, and this deployment freezes none."""
        frozen = before.messages[0].frozen
        return self._mode != "frozen" and frozen is not None and bool(frozen.text)

    def succeeding(
        self, before: LoadedConversation, agent: StoredAgent, compiled: CompiledMessage, carrier: Message | None
    ) -> tuple[CompiledFrom, Message]:
        """The sources and the row of a system message that was compiled because memory changed. Its model is sent the frozen text
        as before, and the changes in the message `carrier`, unless the text must be frozen anew.
        """
        old, head = before.messages[0], before.head
        row = system_row(old.id, agent, compiled, compiled.at, old.conversation_id)
        if self._mode != "frozen" or head.compiled is None or old.frozen is None:
            return compiled.source, row
        at = carrier.created_at if carrier else compiled.at
        place = UpdatePlace(carrier.id if carrier else None, at, window.tokens(before.messages))
        frozen = memory_updates.continued(old.frozen, compiled.inputs, place)
        if frozen is None:
            return compiled.source, row
        if not frozen.text:
            frozen = frozen.model_copy(update={"text": old.text(), "tokens": window.tokens_of(old)})
        row.frozen = frozen
        return compiled.source.model_copy(update={"text": prompt_hash(row)}), row

    def _fixed_inputs(self, agent: StoredAgent, head: Head, blocks: Sequence[StoredBlock]) -> PromptInputs:
        spec = spec_of(agent.agent_type)
        compiled_at = head.compiled.compiled_at if head.compiled else agent.created_at
        return PromptInputs(
            agent_id=agent.id,
            conversation=_DEFAULT if head.id == agent.id else head.id,
            system=agent.system,
            blocks=blocks,
            rules_section=tool_rules.prompt_section(agent.tool_rules or [], [block.label for block in blocks]),
            directories=None,
            shows_memory=spec.shows_memory,
            numbers_lines=spec.numbers_lines and agent.llm_config.model_endpoint_type == "anthropic",
            timezone=agent.timezone,
            compiled_at=compiled_at,
            previous_messages=0,
            archival_memories=0,
            archival_tags=(),
        )

    def _sourced(self, agent: StoredAgent, head: Head, blocks: Sequence[StoredBlock], sources: PromptSources) -> PromptInputs:
        fixed = self._fixed_inputs(agent, head, blocks)
        return replace(fixed, archival_stamp=sources.archival_stamp, directories=sources.directories)

    def _inputs(
        self,
        agent: StoredAgent,
        head: Head,
        blocks: Sequence[StoredBlock],
        sources: PromptSources,
        at: datetime,
        in_window: int,
    ) -> PromptInputs:
        archival = self._archives.totals(agent.id)
        return replace(
            self._fixed_inputs(agent, head, blocks),
            directories=sources.directories,
            compiled_at=at,
            previous_messages=max(0, head.messages - in_window),
            archival_memories=archival.count,
            archival_tags=archival.tags,
        )


def overlaid(block_ids: Sequence[str], isolated: Mapping[str, str]) -> list[str]:
    """The ids of the blocks of a conversation, private copies in place of their originals.

    A private copy whose original is detached from the agent comes last.
    """
    ids = [isolated.get(block_id, block_id) for block_id in block_ids]
    return [block_id for block_id in (*ids, *(copy for copy in isolated.values() if copy not in ids)) if block_id]


def system_row(
    message_id: str, agent: StoredAgent, compiled: CompiledMessage, at: datetime, conversation_id: str | None = None
) -> Message:
    """The system message as a row of the log, frozen as it was compiled. It has no otid: an otid marks a message of a client."""
    return Message(
        id=message_id,
        role="system",
        content=[TextContent(text=compiled.text)],
        agent_id=agent.id,
        conversation_id=conversation_id,
        model=agent.llm_config.model,
        created_at=at,
        frozen=memory_updates.frozen_prompt(compiled.inputs),
    )
