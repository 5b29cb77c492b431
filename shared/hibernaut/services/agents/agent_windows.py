"""The context window of an agent, changed and measured by the API: reset, explicit window, recompiled system message.

While a run owns the conversation, or waits for an approval in it, a reset or an explicit window is refused (Busy). Knows only the
default conversations of agents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hibernaut.domain.agents.agent_types import spec_of
from hibernaut.domain.agents.first_messages import boot_sequence
from hibernaut.domain.models.prices import PriceList
from hibernaut.ports.model import Models
from hibernaut.ports.storage.table import Change
from hibernaut.schemas.agents.agent import ContextWindowOverview, StoredAgent
from hibernaut.schemas.agents.conversation import Head, Window
from hibernaut.schemas.errors import Busy, InvalidArgument, NotFound
from hibernaut.schemas.ids import is_id
from hibernaut.services.agents.agent_parts import opening_of
from hibernaut.services.models.served_windows import window_note
from hibernaut.services.prompt.recompilation import PromptSubject, Recompilation
from hibernaut.services.prompt.system_messages import SystemMessages, system_row
from hibernaut.services.prompt.window_overviews import WindowOverviews, prompt_price
from hibernaut.services.records import Records
from hibernaut.store.conversations.conversations import LoadedConversation, explicit_window


class AgentWindows:
    """Resets, replaces and measures an agent's window."""

    def __init__(
        self, records: Records, *, models: Models, prompts: SystemMessages, prices: Callable[[], PriceList] | None = None
    ) -> None:
        """`prices` returns the list that an overview shows prices by; None: it shows none."""
        self._records = records
        self._models = models
        self._prompts = prompts
        self._prices = prices

    def reset(self, agent_id: str, *, opening: bool = False) -> StoredAgent:
        """Reduce the window of an agent, or of a group, to a new system message, with `opening` also to the first messages of the
        agent's type.

        The messages stay in the log. Raises: NotFound, Busy, Conflict.
        """
        return self._records.until_settled(lambda: self._reset(agent_id, opening))

    def _reset(self, agent_id: str, opening: bool) -> StoredAgent:
        records = self._records
        agent, head = records.agent_or_group(agent_id), self._free(agent_id)
        system_id, token = records.ids.new("message", after=head.last_message), records.ids.token()
        initial = (
            boot_sequence(opening_of(records, agent, system_id)) if opening and spec_of(agent.agent_type).boot_sequence else []
        )
        after = head.model_copy(
            update={
                "window": Window(pinned=[system_id], cut=system_id),
                "version": head.version + 1,
                "last_message": initial[-1].id if initial else system_id,
                "newest": [system_id, *(row.id for row in initial)],
                "messages": head.messages + len(initial),
            }
        )
        compiled = self._prompts.compiled(agent, after, in_window=1 + len(initial))
        after = after.model_copy(update={"compiled": compiled.source})
        rows = [system_row(system_id, agent, compiled, compiled.source.compiled_at), *initial]
        records.writer.write(
            records.conversations.change_head(head, after, token),
            records.deletion.message(head.id, head.window.pinned[0]),
            *records.conversations.put_rows(head, rows),
            token=token,
        )
        records.conversations.keep(LoadedConversation(after, tuple(rows)))
        return agent

    def set_window(self, agent: StoredAgent, message_ids: Sequence[str]) -> list[Change]:
        """The change that makes exactly these messages of the log the window. Raises: NotFound, InvalidArgument, Busy."""
        head = self._free(agent.id)
        ids = list(dict.fromkeys(message_ids))
        if not ids:
            raise InvalidArgument("INVALID_ARGUMENT: message_ids must name at least the system message.")
        well_formed = [message_id for message_id in ids if is_id(message_id, "message")]
        found = self._records.conversations.messages(head.id, well_formed)
        if missing := set(ids) - {row.id for row in found}:
            raise NotFound(f"No message found with id '{min(missing)}' for agent '{agent.id}'.")
        if found[0].role != "system" or found[0].otid is not None:
            raise InvalidArgument("INVALID_ARGUMENT: The first of message_ids must be the agent's system message.")
        # The next run compiles a system message anew that is not the head's, or whose updates stand in messages that may be left
        # out.
        has_updates = found[0].frozen is not None and bool(found[0].frozen.updates)
        compiled = head.compiled if ids[0] == head.window.pinned[0] and not has_updates else None
        changes = {"window": explicit_window(ids, head), "version": head.version + 1, "compiled": compiled}
        after = head.model_copy(update=changes)
        return [self._records.conversations.change_head(head, after, self._records.ids.token())]

    def recompile(self, agent_id: str, *, update_time: bool = False, dry_run: bool = False) -> str:
        """The system message compiled from the current memory; stored unless `dry_run` or a run owns the conversation.

        Raises: NotFound, Conflict.
        """

        def see() -> PromptSubject:
            agent = self._records.agent(agent_id)
            return PromptSubject(agent, self._prompts.blocks_of(agent))

        recompiling = Recompilation(self._records, self._prompts)
        return recompiling.recompile(agent_id, see, update_time=update_time, dry_run=dry_run)

    def overview(self, agent_id: str) -> ContextWindowOverview:
        """The sizes of the parts of the context window, in tokens. Raises: NotFound."""
        agent, conversation = self._records.agent(agent_id), self._loaded(agent_id)
        overview = WindowOverviews(self._records, self._prompts).of(agent, conversation)
        overview.context_window_note = window_note(agent.llm_config, self._models)
        if self._prices is not None:
            now = self._records.clock.now()
            overview.price = prompt_price(self._prices(), agent.llm_config, overview.context_window_size_current, now)
        return overview

    def _loaded(self, agent_id: str) -> LoadedConversation:
        conversation = self._records.conversations.load(agent_id)
        if conversation is None:
            raise NotFound(f"Agent with ID {agent_id} not found")
        return conversation

    def _free(self, agent_id: str) -> Head:
        """The head of the default conversation, if no run owns it and none waits for an approval. Raises: NotFound, Busy."""
        head = self._records.head(agent_id)
        holder = head.owner or head.pending
        if holder is not None:
            raise Busy(
                f"CONFLICT: Cannot change the messages in context: Another request (run_id={holder}) is currently being "
                "processed for this conversation. Please wait for it to complete.",
                holder,
            )
        return head
