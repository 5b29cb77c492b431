"""Recompiles the system message of a conversation on request, before the next run would."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.services.prompt.system_messages import CompiledMessage, SystemMessages, system_row
from hibernaut.services.records import Records
from hibernaut.store.conversations.conversations import LoadedConversation


@immutable
class PromptSubject:
    """The inputs of a recompilation: the agent with the conversation's overrides, and the blocks visible in it."""

    agent: StoredAgent
    blocks: Sequence[StoredBlock]


class Recompilation:
    """Compiles a conversation's system message on request."""

    def __init__(self, records: Records, prompts: SystemMessages) -> None:
        self._records = records
        self._prompts = prompts

    def recompile(
        self,
        conversation: str,
        see: Callable[[], PromptSubject],
        *,
        update_time: bool = False,
        dry_run: bool = False,
    ) -> str:
        """The system message compiled from the current memory; `see` reads its inputs.

        It is stored, and sent from the next run on, unless `dry_run` or a run owns the conversation: the prompt of a run stays as
        it is. `update_time` off keeps the time of the last compilation. Raises: NotFound, Conflict.
        """

        def attempt() -> str:
            subject, conversation_now = see(), self._records.conversations.load(conversation)
            if conversation_now is None:
                raise NotFound(f"Agent with ID {subject.agent.id} not found")
            in_window = len(conversation_now.messages)
            compiled = self._prompts.compiled(
                subject.agent, conversation_now.head, blocks=subject.blocks, in_window=in_window, update_time=update_time
            )
            if not dry_run and conversation_now.head.owner is None:
                self._store(subject.agent, conversation_now, compiled)
            return compiled.text

        return self._records.until_settled(attempt)

    def _store(self, agent: StoredAgent, conversation: LoadedConversation, compiled: CompiledMessage) -> None:
        old, head = conversation.messages[0], conversation.head
        if old.text() == compiled.text and not compiled.changed and not (old.frozen and old.frozen.text):
            return
        conversations, token = self._records.conversations, self._records.ids.token()
        row = system_row(old.id, agent, compiled, old.created_at, old.conversation_id)
        after = head.model_copy(update={"compiled": compiled.source, "version": head.version + 1})
        self._records.writer.write(
            conversations.change_head(head, after, token),
            conversations.put_message(head.id, row, rewrite=True),
            token=token,
        )
        conversations.keep(LoadedConversation(after, (row, *conversation.messages[1:])))
