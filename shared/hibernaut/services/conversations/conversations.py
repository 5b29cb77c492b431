"""Conversations: threads of an agent besides its default one, each with its own log and window over the agent's memory.

Sources: Letta V1 API, API 2.16; RT 15. `conversation_creation` creates them, `conversation_deletion` deletes
them.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from datetime import datetime
from itertools import islice

from hibernaut.ports.model import Models
from hibernaut.ports.storage.table import Item
from hibernaut.schemas.agents.conversation_record import Conversation, StoredConversation, UpdateConversation
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.immutable import immutable
from hibernaut.services.conversations.conversation_creation import ConversationCreation
from hibernaut.services.conversations.conversation_deletion import ConversationDeletion
from hibernaut.services.conversations.conversation_lists import ConversationLists, ConversationQuery
from hibernaut.services.models.conversation_model import agent_in, chosen
from hibernaut.services.prompt.recompilation import PromptSubject, Recompilation
from hibernaut.services.prompt.system_messages import SystemMessages
from hibernaut.services.records import Records, no_conversation
from hibernaut.store.table import keys

DEFAULT = "default"
_SHARED = [name for name in Conversation.model_fields if name in StoredConversation.model_fields]


@immutable
class ConversationTarget:
    """The conversation that a route addresses: one with a record, or (`record` None) the agent's default conversation."""

    agent_id: str
    record: StoredConversation | None = None

    @property
    def head_id(self) -> str:
        return self.record.id if self.record else self.agent_id


class Conversations:
    """The use cases of conversations. `openings` creates conversations, `ends` deletes them."""

    def __init__(
        self,
        records: Records,
        *,
        prompts: SystemMessages,
        models: Models,
        openings: ConversationCreation,
        ends: ConversationDeletion,
    ) -> None:
        self._records = records
        self._lists = ConversationLists(records)
        self._prompts = prompts
        self._models = models
        self.openings = openings
        self.ends = ends

    def target(self, conversation_id: str, agent_id: str | None) -> ConversationTarget:
        """The target of a conversation id: `conv-…`, or `default` with an agent's id, or an agent's id itself. Raises:
        NotFound.
        """
        if conversation_id.startswith("conv-"):
            record = self._records.conversation(conversation_id)
            return ConversationTarget(record.agent_id, record)
        direct = agent_id if conversation_id == DEFAULT else conversation_id
        if direct is None:
            raise no_conversation(conversation_id)
        return ConversationTarget(self._records.agent(direct).id)

    def retrieve(self, conversation_id: str) -> Conversation:
        """The conversation as the API shows it. Raises: NotFound."""
        return self.shown(self._records.conversation(conversation_id))

    def shown(self, record: StoredConversation) -> Conversation:
        """A stored conversation as the API shows it."""
        row = self._records.conversation_records.row(record)
        head = self._records.conversations.head(record.id)
        window = self._records.window_ids.of([head])[record.id] if head else []
        return self._shown(record, row, window, self._copies([record]))

    def _shown(self, record: StoredConversation, row: Item, window: list[str], copies: Container[str]) -> Conversation:
        """Render a conversation. `window`: the ids of its messages. `copies`: the ids of the existing private blocks."""
        fields = {name: getattr(record, name) for name in _SHARED}
        last = str(row.get("last_message_at", ""))
        return Conversation.model_construct(
            **fields,
            in_context_message_ids=window,
            isolated_block_ids=[copy for copy in record.isolated_block_ids if copy in copies],
            last_message_at=datetime.fromisoformat(last) if last else None,
        )

    def list(self, query: ConversationQuery) -> Sequence[Conversation]:
        """A page of conversations. Those without a value in the field of the order come last. Raises: NotFound for the cursor."""
        page = list(islice(filter(query.admits, self._lists.rows(query)), query.limit))
        found = self._records.conversation_records.get_many([_id(row) for row in page])
        windows = self._records.window_ids.of(list(self._records.conversations.heads(list(found)).values()))
        copies = self._copies(list(found.values()))
        return [self._shown(found[_id(row)], row, windows.get(_id(row), []), copies) for row in page if _id(row) in found]

    def _copies(self, records: Sequence[StoredConversation]) -> Container[str]:
        """The existing private blocks of conversations, by id."""
        ids = [copy for record in records for copy in record.isolated_block_ids]
        return self._records.blocks.get_many(ids) if ids else ()

    def update(self, conversation_id: str, request: UpdateConversation, *, user: str | None = None) -> Conversation:
        """Set the fields that the request names; null clears a field.

        Raises: NotFound (the conversation or a model's handle), InvalidArgument, Conflict.
        """
        changes: JsonObject = {
            name: getattr(request, name) for name in request.model_fields_set & set(StoredConversation.model_fields)
        }

        def attempt() -> StoredConversation:
            before = self._records.conversation(conversation_id)
            now, token = self._records.clock.now(), self._records.ids.token()
            after = before.model_copy(
                update={**changes, "updated_at": now, "last_updated_by_id": user or before.last_updated_by_id}
            )
            after.archived = bool(after.archived)
            if after.archived != before.archived:
                after.archived_at = now if after.archived else None
            chosen(self._records.agent(after.agent_id), after, self._models)
            last_message_at = [request.last_message_at] if "last_message_at" in request.model_fields_set else []
            change = self._records.conversation_records.change(before, after, token, last_message_at=last_message_at)
            self._records.writer.write(*change, token=token)
            return after

        return self.shown(self._records.until_settled(attempt))

    def recompile(self, target: ConversationTarget, *, dry_run: bool = False) -> str:
        """The system message compiled from the current memory and the conversation's private blocks.

        It is stored unless `dry_run` or a run owns the conversation. Raises: NotFound, Conflict.
        """

        def see() -> PromptSubject:
            agent = self._records.agent(target.agent_id)
            record = self._records.conversation(target.record.id) if target.record else None
            return PromptSubject(agent_in(agent, record, self._models), self._prompts.blocks_of(agent, record))

        recompiling = Recompilation(self._records, self._prompts)
        return recompiling.recompile(target.head_id, see, update_time=True, dry_run=dry_run)

    def delete(self, conversation_id: str) -> None:
        """End the runs, delete the conversation and the messages that no existing fork refers to.

        A second call resumes an interrupted deletion. Raises: NotFound, Conflict.
        """
        if not self.ends.go_on(conversation_id):
            self.ends.delete(self._records.conversation(conversation_id))


def _id(row: Item) -> str:
    return keys.last_part(str(row["sk"]))
