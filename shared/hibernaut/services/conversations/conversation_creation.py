"""Creates a conversation: empty, with private copies of blocks on request, or as a fork of another conversation."""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.window import forks
from hibernaut.ports.model import Models
from hibernaut.ports.storage.table import Change
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.conversation import Head, Segment, Window
from hibernaut.schemas.agents.conversation_record import CreateConversation, StoredConversation
from hibernaut.schemas.errors import InvalidArgument, NotFound
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.block import StoredBlock
from hibernaut.schemas.memory.version import Author
from hibernaut.schemas.messages.message import Message
from hibernaut.services.models.conversation_model import agent_in
from hibernaut.services.prompt.system_messages import SystemMessages, system_row
from hibernaut.services.records import Records, no_conversation
from hibernaut.store.conversations.conversations import LoadedConversation
from hibernaut.store.versions.version_store import Edit

MOST_SOURCES = 50
"""The largest number of logs that a fork may share rows of: each needs a mark in the same transaction."""


@immutable
class _SharedRows:
    """The initial rows of a conversation besides its system message: rows of other logs, and the segments that hold them.

    `source` is the forked conversation, which must still exist, and `last` its newest message.
    """

    rows: Sequence[Message] = ()
    segments: Sequence[Segment] = ()
    pinned: Sequence[str] = ()
    cut: str | None = None
    last: str | None = None
    source: str | None = None


class ConversationCreation:
    """Creates conversations, empty or as forks."""

    def __init__(self, records: Records, *, prompts: SystemMessages, models: Models) -> None:
        self._records = records
        self._prompts = prompts
        self._models = models

    def create(self, agent_id: str, request: CreateConversation, *, user: str | None = None) -> StoredConversation:
        """Create an empty conversation. Raises: NotFound (the agent or a model's handle), InvalidArgument (a block's label),
        Conflict.
        """

        def attempt() -> StoredConversation:
            agent = self._records.agent(agent_id)
            originals = self._named(agent, request.isolated_block_labels or ())
            copies = [self._copy(block) for block in originals]
            record = self._record(agent, user).model_copy(
                update={name: getattr(request, name) for name in _CHOSEN}
                | {"isolated": {block.id: copy.id for block, copy in zip(originals, copies, strict=True)}}
            )
            self._open(agent, record, copies, _SharedRows())
            return record

        return self._records.until_settled(attempt)

    def fork(
        self,
        source: str,
        *,
        parent: StoredConversation | None = None,
        message_id: str | None = None,
        hidden: bool = False,
        user: str | None = None,
    ) -> StoredConversation:
        """Create a conversation that begins with the window of another one, up to and including `message_id` if given.

        `source` is the id of the other conversation's head and `parent` its record, if it has one. Private blocks are not copied,
        as in Letta V1. Raises: NotFound (the conversation or the message), InvalidArgument (too many sources), Conflict.
        """

        def attempt() -> StoredConversation:
            conversation = self._records.conversations.load(source)
            if conversation is None:
                raise no_conversation(source)
            agent = self._records.agent(conversation.head.agent_id)
            record = self._record(agent, user).model_copy(update={"hidden": hidden})
            if parent is not None:
                record = record.model_copy(update={name: getattr(parent, name) for name in _INHERITED})
            self._open(agent, record, [], _shared(conversation, message_id))
            return record

        return self._records.until_settled(attempt)

    def _named(self, agent: StoredAgent, labels: Sequence[str]) -> list[StoredBlock]:
        blocks = {block.label: block for block in self._records.blocks_of(agent)}
        for label in labels:
            if label not in blocks:
                raise InvalidArgument(
                    f"INVALID_ARGUMENT: `isolated_block_labels` has '{label}', which is no label of a block of agent '{agent.id}'."
                )
        return [blocks[label] for label in dict.fromkeys(labels)]

    def _copy(self, block: StoredBlock) -> StoredBlock:
        now = self._records.clock.now()
        changes = {"id": self._records.ids.new("block"), "version": 1, "created_at": now, "updated_at": now}
        return block.model_copy(update=changes, deep=True)

    def _record(self, agent: StoredAgent, user: str | None) -> StoredConversation:
        now = self._records.clock.now()
        return StoredConversation(
            id=self._records.ids.new("conv"),
            agent_id=agent.id,
            created_at=now,
            updated_at=now,
            created_by_id=user,
            last_updated_by_id=user,
        )

    def _open(self, agent: StoredAgent, record: StoredConversation, copies: Sequence[StoredBlock], shared: _SharedRows) -> None:
        records, token = self._records, self._records.ids.token()
        effective = agent_in(agent, record, self._models)
        own = {copy.id: copy for copy in copies}
        originals = {block.id: block for block in records.blocks_of(agent)}
        blocks = [own.get(record.isolated.get(block_id, ""), block) for block_id, block in originals.items()]
        system_id = records.ids.new("message", after=shared.last)
        head = Head(
            id=record.id,
            agent_id=agent.id,
            window=Window(pinned=[system_id, *shared.pinned], cut=shared.cut if shared.rows else system_id),
            version=1,
            last_message=system_id,
            newest=[system_id],
            messages=1 + len(shared.rows),
            segments=list(shared.segments),
            created_at=record.created_at,
        )
        compiled = self._prompts.compiled(effective, head, blocks=blocks, in_window=head.messages)
        head = head.model_copy(update={"compiled": compiled.source})
        system = system_row(system_id, effective, compiled, record.created_at, record.id)
        children = [
            change
            for copy in copies
            for change in records.blocks.create(copy, token, Edit(Author(source="api", agent_id=agent.id)))
        ]
        parents = self._parents(record, head, system, token)
        exists = [records.conversations.must_exist(shared.source)] if shared.source else []
        records.write(children, [*parents, *exists], token)
        records.conversations.keep(LoadedConversation(head, (system, *shared.rows)))

    def _parents(self, record: StoredConversation, head: Head, system: Message, token: str) -> list[Change]:
        """The changes that make the conversation visible, with the marks on the logs that it shares. Raises: InvalidArgument."""
        conversations = self._records.conversations
        sources = list(dict.fromkeys(one.conversation for one in head.segments))
        if len(sources) > MOST_SOURCES:
            raise InvalidArgument(
                f"INVALID_ARGUMENT: A fork may share parts of at most {MOST_SOURCES} conversations, not {len(sources)}."
            )
        return [
            *self._records.conversation_records.create(record, token),
            conversations.create_head(head, token),
            conversations.put_message(head.id, system),
            *(conversations.share(source, record.id) for source in sources),
        ]


_CHOSEN = ("summary", "description", "model", "model_settings", "context_window_limit", "hidden")
_INHERITED = ("model", "model_settings", "context_window_limit")


def _shared(conversation: LoadedConversation, message_id: str | None) -> _SharedRows:
    rows = conversation.messages[1:]
    if message_id is not None and message_id not in {row.id for row in conversation.messages}:
        raise NotFound(f"Message with id {message_id} not found in the context of conversation {conversation.head.id}.")
    shared = forks.shared(rows, message_id)
    return _SharedRows(
        rows=shared,
        segments=forks.segments(conversation.head, shared),
        pinned=[row.id for row in shared if row.id in set(conversation.head.window.pinned)],
        cut=conversation.head.window.cut,
        last=conversation.head.last_message,
        source=conversation.head.id,
    )
