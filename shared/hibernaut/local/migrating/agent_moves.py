"""Moves agents with the logs of all their conversations. An agent is one import, so what is moved of it comes at once or not at
all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from hibernaut.domain.agent_files.notes import ImportNotes
from hibernaut.local.migrating.digests import LogDigest, digest, log_digest
from hibernaut.local.migrating.report import MigrationReport
from hibernaut.local.migrating.sources.source import MigrationSource, SourceAgent, SourceConversation, SourceLog
from hibernaut.local.migrating.state import MigrationState
from hibernaut.local.migrating.target import Target
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import HibernautError
from hibernaut.schemas.immutable import immutable

LARGEST_LOG = 48_000_000
"""The size in bytes of the messages of an agent's own conversation that are moved: an import takes 50 MB. Of a longer log the
newest are moved.
"""


@immutable
class AgentMoves:
    """Moves agents one by one. `load` imports a document, reports its notes, and returns whether it is imported. It reports the
    named record as lost if the target refuses it; "" names none.
    """

    source: MigrationSource
    target: Target
    state: MigrationState
    report: MigrationReport
    load: Callable[[JsonObject, str], bool]

    def move(self, agent: SourceAgent) -> bool:
        """Move an agent; returns whether it is on the target. Raises: RequestRefused, CannotServe."""
        whole, conversations = self.source.log(agent), list(self.source.conversations(agent))
        log = newest_part(whole)
        try:
            read, *others = [self._read(agent, one) for one in (log, *(each.log for each in conversations))]
        except HibernautError as error:
            self.report.found("lost", agent.id, f"Its messages cannot be read: {error}")
            return False
        if omitted := len(whole.messages) - len(log.messages):
            why = f"An import takes {LARGEST_LOG // 1_000_000} MB of messages: the oldest ones of the agent stay at the source."
            self.report.note("lost", f"{agent.id} ({omitted} messages)", why)
        if not self.target.has("agents", agent.id) and not self._load(agent, log, conversations):
            return False
        for identity in agent.identity_ids:
            identity_record = self.state.moved("identities", identity)
            if identity_record is not None:
                self.target.attach("identities", identity_record["new"], to=f"agents/{agent.id}")
        for one, its_rows in zip(conversations, others, strict=True):
            if self.target.has("conversations", one.id):
                self.state.add("conversations", one.id, agent=agent.id, rows=len(its_rows.rows), digest=its_rows.whole)
            else:
                self.report.found("lost", one.id, f"The target does not take over this conversation of {agent.id}.")
        self.state.add(
            "agents",
            agent.id,
            name=agent.name,
            rows=len(read.rows),
            digest=read.whole,
            mark=mark_of(agent),
            blocks=sorted(str(one["id"]) for one in agent.blocks),
            tools=sorted(str(one.get("name")) for one in agent.tools),
        )
        return True

    def _load(self, agent: SourceAgent, log: SourceLog, conversations: Sequence[SourceConversation]) -> bool:
        """Import an agent; without its further conversations if the target refuses them."""
        if conversations and self.load(_document(agent, log, conversations), ""):
            return True
        return self.load(_document(agent, log, ()), agent.id)

    def _read(self, agent: SourceAgent, log: SourceLog) -> LogDigest:
        """The digest of a log. What an import will repair is reported. Raises: InvalidArgument."""
        notes = ImportNotes()
        read = log_digest(log.messages, log.in_context, notes, str(agent.entry.get("timezone") or "UTC"))
        for note in notes.all():
            self.report.note(note.kind, agent.id, note.detail)
        return read


def newest_part(log: SourceLog, largest: int = LARGEST_LOG) -> SourceLog:
    """The log if it is not too large; else its system message and its newest messages, beginning with a message of the user."""
    sizes = [len(json.dumps(one)) for one in log.messages]  # as it is sent
    if sum(sizes) <= largest:
        return log
    first, room = len(sizes), largest - (sizes[0] if sizes else 0)
    while first > 1 and room >= sizes[first - 1]:
        first -= 1
        room -= sizes[first]
    begins = next((place for place in range(first, len(sizes)) if log.messages[place].get("role") == "user"), len(sizes))
    messages = [*(one for one in log.messages[:1] if one.get("role") == "system"), *log.messages[max(begins, 1) :]]
    there = {str(one.get("id")) for one in messages}
    return SourceLog(messages, [one for one in log.in_context if one in there])


def mark_of(agent: SourceAgent) -> str:
    """Something that changes when the agent does at the source."""
    return digest([agent.entry.get("updated_at"), agent.entry.get("message_ids")])


def _document(agent: SourceAgent, log: SourceLog, conversations: Sequence[SourceConversation]) -> JsonObject:
    """The file of an agent."""
    further = {"conversations": [one.entry(agent) for one in conversations]}
    return {
        "agents": [{**agent.entry, "messages": list(log.messages), "in_context_message_ids": list(log.in_context)}],
        "blocks": list(agent.blocks),
        "tools": list(agent.tools),
        "sources": list(agent.folders),
        "files": _open(agent),
        **({"hibernaut": {"agents": {agent.id: further}}} if conversations else {}),
    }


def _open(agent: SourceAgent) -> list[JsonObject]:
    """The files that the agent's desk names, without their texts: they are on the target."""
    named = {str(one["file_id"]): one for one in agent.entry.get("files_agents") or ()}
    return [{"id": file_id, "source_id": one.get("source_id") or one.get("folder_id")} for file_id, one in named.items()]
