"""Writes a planned import into the table, so that a crash at any point leaves it to be completed, and nothing half-made.

The plan is stored first: a blob with all records, and an item in the index DUE that names it. From then on the import will be
completed, by the request or by the sweep. Steps in their order:

1. the messages, in transactions that also count them;
2. the tools, each looked up by its name: another request may have made it meanwhile;
3. folders, files, blocks, archives with their passages (counted as messages are), identities and groups, as far as they do not
   exist yet;
4. of each agent its links, then the agent with its conversation, in one transaction that makes it visible, then its further
   conversations;
5. the end: the item is deleted, then its blob.

All ids are in the plan. Each transaction has the condition that this worker's attempt is the newest, so two workers never write
one import, and a repeated step finds what an earlier one wrote (decision 42).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import islice

from hibernaut.domain.tools.mcp.mcp_tools import is_same
from hibernaut.ports.storage.table import MAX_BYTES, MAX_CHANGES, Change, ConditionFailed
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.agents.identity import StoredIdentity
from hibernaut.schemas.agents.staged_import import AgentSkills, StagedAgent
from hibernaut.schemas.base import wire_time
from hibernaut.schemas.errors import Conflict, ImportContinues
from hibernaut.schemas.memory.file import Desk
from hibernaut.schemas.memory.folder import StoredFolder
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.tools.tool import StoredTool
from hibernaut.services.host import Host
from hibernaut.services.imports.import_lines import ImportLines
from hibernaut.services.imports.staged_logs import head_of, logs_of, page_of
from hibernaut.services.prompt.system_messages import SystemMessages, system_row
from hibernaut.services.records import by_key, records_over, size_of_change
from hibernaut.store.memory.archives import in_archive
from hibernaut.store.stores import TenantStores
from hibernaut.store.templates.imports import ImportMark, ImportState
from hibernaut.store.versions.version_store import Edit

LEASE_MS = 60_000
"""Milliseconds after the last transaction of a worker from which the sweep continues its import."""
MOST_ATTEMPTS = 50
"""Attempts after which an import is given up."""
ROWS = 90
"""The largest number of messages in one transaction."""
ROOM = MAX_CHANGES - 2
_OF_A_TOOL = ("created_at", "created_by_id", "last_updated_by_id", "id", "version")
"""The fields that an overwritten tool keeps."""
logger = logging.getLogger(__name__)


class _TakenOver(Exception):
    """Another worker has taken the import."""


@dataclass(slots=True)
class _Progress:
    state: ImportState
    lines: ImportLines

    @property
    def agents(self) -> list[StagedAgent]:
        return self.lines.staged.agents

    @property
    def edit(self) -> Edit:
        """The author of the first versions of the records: the importing user."""
        return by_key(self.lines.staged.key_id)


class ImportWriter:
    """Writes the imports of one tenant."""

    def __init__(self, stores: TenantStores, host: Host) -> None:
        self._stores = stores
        self._host = host
        self._imports = stores.imports
        self._records = records_over(stores, host.clock, host.ids)
        self._prompts = SystemMessages(stores, host.clock, host.system_prompt)

    def begin(self, data: bytes, agent_ids: Sequence[str], digest: str, reserved: Sequence[str] = ()) -> None:
        """Store a plan (`import_lines.joined`) and carry it out. `digest`: that of the request; "": it cannot be repeated.
        `reserved`: the agents whose ids are kept: no other import may write them.

        Raises: OSError, StoreUnavailable, Conflict (another import has reserved such an agent). Once the plan is stored, the
        sweep completes an import that fails. ImportContinues if it has taken it over.
        """
        import_id, token = self._host.ids.new("import"), self._host.ids.token()
        state, change = self._imports.create(import_id, data, self._due_ms(), token)
        mark = self._imports.mark(ImportMark(digest, import_id, tuple(agent_ids)), self._host.clock.now())
        reservations = [each for agent_id in reserved for each in self._imports.reserve(agent_id, import_id)]
        try:
            self._stores.writer.write(change, *([mark] if digest else []), *reservations, token=token)
        except ConditionFailed:
            raise Conflict(
                f"CONFLICT: Another import writes {', '.join(reserved)} at this moment, or deleted agents of these ids are still being removed; try again."
            ) from None
        try:
            self._carry_out(_Progress(state, ImportLines.of(data)))
        except _TakenOver:
            if self._imports.get(import_id) is None:
                return  # another worker has completed it
            raise ImportContinues(
                "CONFLICT: The import takes long and continues in the background; its agents appear at its end. Do not repeat it."
            ) from None

    def repeated(self, digest: str) -> tuple[str, ...]:
        """The agents of the import that a request with this digest began within the last minutes, and completed now; none if
        there was none.
        """
        mark = self._imports.marked(digest, self._host.clock.now())
        if mark is None:
            return ()
        self.go_on(mark.import_id)
        return mark.agent_ids

    def complete_reserved(self, agent_ids: Sequence[str]) -> None:
        """Complete the imports that have reserved these agents. Raises: OSError, StoreUnavailable."""
        for import_id in self._imports.reserved_by(agent_ids):
            self.go_on(import_id)

    def go_on(self, import_id: str) -> None:
        """Continue an import that its worker has left. Raises: OSError, StoreUnavailable; the sweep comes again then."""
        before = self._imports.get(import_id)
        if before is None:
            return
        token = self._host.ids.token()
        state, change = self._imports.take(before, self._due_ms(), token)
        with suppress(_TakenOver, ConditionFailed):
            self._stores.writer.write(change, token=token)
            if state.attempt > MOST_ATTEMPTS:
                logger.error("import given up", extra={"import_id": import_id, "attempt": state.attempt})
                self._stores.writer.write(self._imports.complete(state))
                return
            self._carry_out(_Progress(state, ImportLines.of(self._imports.data(state))))
            logger.info("import completed", extra={"import_id": import_id, "attempt": state.attempt})

    def _carry_out(self, job: _Progress) -> None:
        self._write_rows(job)
        tools = self._records.until_settled(partial(self._write_tools, job))
        self._write_folders(job)
        self._write_files(job)
        self._write_blocks(job)
        self._write_archives(job)
        ids = {**tools, **self._write_identities(job)}
        self._write_groups(job)
        for staged in job.agents:
            self._records.until_settled(partial(self._write_agent, job, staged, ids))
            self._write_conversations(job, staged)
        self._write(job, last=True)
        for file in job.lines.staged.files:
            self._host.ingest.start(self._stores.tenant, file.id)

    def _write(
        self, job: _Progress, *changes: Change, rows: int | None = None, token: str | None = None, last: bool = False
    ) -> None:
        """Write one transaction of this worker. Raises: _TakenOver, ConditionFailed (of `changes`)."""
        token, row_count = token or self._host.ids.token(), job.state.rows if rows is None else rows
        progress = self._imports.complete(job.state) if last else self._imports.go_on(job.state, row_count, self._due_ms(), token)
        try:
            self._stores.writer.write(progress, *changes, token=token)
        except ConditionFailed as failure:
            if last and self._imports.get(job.state.id) is None:
                return
            if 0 in failure.failed:
                raise _TakenOver from failure
            raise
        job.state = replace(job.state, rows=row_count)

    def _write_rows(self, job: _Progress) -> None:
        rows, begin = job.lines.rows(job.state.rows), 0
        for head, log in logs_of(job.agents):
            begin += log.rows
            while page := list(islice(rows, max(0, min(ROWS, begin - job.state.rows)))):
                self._write(job, *self._stores.conversations.put_texts(head, page), rows=job.state.rows + len(page))

    def _write_tools(self, job: _Progress) -> dict[str, str]:
        """Write the tools that do not exist as they are; returns the ids of all by those of the plan. Raises: ConditionFailed if
        one is changed by another request.
        """
        planned = {str(tool.name): tool for tool in job.lines.staged.tools}
        existing = self._records.tools.by_name(planned) if planned else {}
        override, token = job.lines.staged.override_tools, self._host.ids.token()
        self._write_together(
            job, [self._tool(existing.get(name), tool, override, token) for name, tool in planned.items()], token
        )
        return {tool.id: existing[name].id if name in existing else tool.id for name, tool in planned.items()}

    def _tool(self, existing: StoredTool | None, tool: StoredTool, override: bool, token: str) -> list[Change]:
        if existing is None:
            return self._records.tools.create(tool, token)
        after = tool.model_copy(update={name: getattr(existing, name) for name in _OF_A_TOOL})
        if not override or after == existing or is_same(existing, tool):
            return []
        return self._records.tools.change(existing, after, token)

    def _write_folders(self, job: _Progress) -> None:
        existing = self._records.folders.get_many([folder.id for folder in job.lines.staged.folders])
        for folder in job.lines.staged.folders:
            if folder.id not in existing:
                self._records.until_settled(partial(self._write_folder, job, folder))

    def _write_folder(self, job: _Progress, folder: StoredFolder) -> None:
        """Write a folder; where its name is taken, eight digits of its id follow it (RT 12.3)."""
        token = self._host.ids.token()
        if self._records.folders.by_name(folder.name) is not None:
            folder = folder.model_copy(update={"name": f"{folder.name[:200]}_{folder.id[-8:]}"})
        self._write(job, *self._records.folders.create(folder, token), token=token)

    def _write_files(self, job: _Progress) -> None:
        files = job.lines.staged.files
        existing = self._records.files.get_many([file.id for file in files])
        for index, file in enumerate(files):
            if file.id in existing:
                continue
            text, start, token = job.lines.text(index), 0, self._host.ids.token()
            for number, part in enumerate(file.parts):
                self._records.files.put_text(file.id, number, text[start : start + part.characters])
                start += part.characters
            self._write(job, *self._records.files.create(file, self._due_ms(), token), token=token)

    def _write_blocks(self, job: _Progress) -> None:
        blocks = job.lines.staged.blocks
        existing = self._records.blocks.get_many([block.id for block in blocks])
        token = self._host.ids.token()
        self._write_together(
            job, [self._records.blocks.create(block, token, job.edit) for block in blocks if block.id not in existing], token
        )

    def _write_archives(self, job: _Progress) -> None:
        """Write the archives, and their passages in pages, which the import counts behind the messages."""
        planned = job.lines.staged.archives
        existing = self._records.archives.get_many([one.archive.id for one in planned]) if planned else {}
        end = job.lines.messages
        for staged in planned:
            archive, token = staged.archive, self._host.ids.token()
            end += staged.passages
            if archive.id not in existing:
                self._write(job, *self._stores.passages.make(archive, token), token=token)
            while job.state.rows < end:
                remaining = islice(job.lines.passages(job.state.rows - job.lines.messages), end - job.state.rows)
                page = [in_archive(passage, archive) for passage in page_of(remaining)]
                token = self._host.ids.token()
                changes = self._records.archives.put(archive.id, page, token, job.edit.by)
                self._write(job, *changes, rows=job.state.rows + len(page), token=token)

    def _write_identities(self, job: _Progress) -> dict[str, str]:
        """Write the identities whose keys are free; returns the ids of all by those of the plan."""
        store = self._records.identities

        def written(identity: StoredIdentity) -> str:
            existing_id, token = store.with_key(identity.identifier_key, identity.project_id), self._host.ids.token()
            if existing_id is None:
                self._write(job, *store.create(identity, token), token=token)
            return existing_id or identity.id

        return {one.id: self._records.until_settled(partial(written, one)) for one in job.lines.staged.identities}

    def _write_groups(self, job: _Progress) -> None:
        """Write the groups before their agents: a pair of agents must not miss its first turn."""
        groups = job.lines.staged.groups
        existing = self._records.groups.get_many([group.id for group in groups])
        token = self._host.ids.token()
        self._write_together(
            job, [self._records.groups.create(group, token) for group in groups if group.id not in existing], token
        )

    def _write_together(self, job: _Progress, records: Iterable[Sequence[Change]], token: str) -> None:
        """Write the changes of several records in few transactions, those of one record in one."""
        pending, size = list[Change](), 0
        for changes in records:
            more = sum(map(size_of_change, changes))
            if pending and (len(pending) + len(changes) > ROOM or size + more > MAX_BYTES * 3 // 4):
                self._write(job, *pending, token=token)
                pending, size = [], 0
            pending, size = [*pending, *changes], size + more
        if pending:
            self._write(job, *pending, token=token)

    def _write_agent(self, job: _Progress, staged: StagedAgent, ids: dict[str, str]) -> None:
        """Write an agent that does not exist yet: its links, then the agent with its conversation; then further tags. `ids`:
        those of tools and identities by those of the plan.
        """
        planned = staged.agent
        links = {name: [ids.get(one, one) for one in getattr(planned, name)] for name in ("tool_ids", "identity_ids")}
        agent = planned.model_copy(update={**links, "managed_group_id": staged.managed_group_id})
        stored = self._records.agents.get(agent.id)
        if stored is None:
            self._write_together(job, ([link] for link in self._links(job, staged, agent)), self._host.ids.token())
            stored = self._write_visible(job, staged, agent)
        if (stored.tags, stored.identity_ids) != (agent.tags, agent.identity_ids):
            fields = {"tags": agent.tags, "identity_ids": agent.identity_ids}
            self._records.change_agent(agent.id, lambda made: (made.model_copy(update=fields), ()), agent.created_by_id, job.edit)

    def _links(self, job: _Progress, staged: StagedAgent, agent: StoredAgent) -> Iterator[Change]:
        records = self._records
        for block_id in agent.block_ids:
            yield records.blocks.attach(block_id, agent.id)
        for tool_id in agent.tool_ids:
            yield from records.tools.attach(tool_id, agent.id)
        for folder_id in agent.source_ids:
            yield records.folders.attach(folder_id, agent.id)
        for place, archive_id in enumerate(staged.archive_ids):  # their times are their order
            yield from records.archives.attach(archive_id, agent.id, agent.created_at + timedelta(microseconds=place))
        if (staged.open_files or staged.closed_files) and not records.files.desk(agent.id).version:
            desk = Desk(open=staged.open_files, last_accessed=staged.closed_files)
            yield records.files.put_desk(agent.id, Desk(), desk, self._host.ids.token())
        if job.lines.staged.skills:
            yield self._imports.put_skills(agent.id, AgentSkills(skills=job.lines.staged.skills))

    def _write_visible(self, job: _Progress, staged: StagedAgent, agent: StoredAgent) -> StoredAgent:
        """Write the transaction with which the agent and its conversation exist. Returns the agent as written."""
        records, token = self._records, self._host.ids.token()
        first = records.agent_marks.first(agent)
        head, system = self._conversation(staged, agent)
        self._write(
            job,
            *records.agents.create(first, token, job.edit),
            *records.agent_marks.put(first),
            records.conversations.create_head(head, token),
            records.conversations.put_message(agent.id, system),
            *([self._imports.release(agent.id)] if agent.id in job.lines.staged.reserved else []),
            token=token,
        )
        return first

    def _conversation(self, staged: StagedAgent, agent: StoredAgent) -> tuple[Head, Message]:
        head = head_of(Head(id=agent.id, agent_id=agent.id, created_at=agent.created_at), staged)
        compiled = self._prompts.compiled(agent, head, in_window=staged.in_window)
        row = system_row(staged.system_id, agent, compiled, agent.created_at)
        return head.model_copy(update={"compiled": compiled.source}), row

    def _write_conversations(self, job: _Progress, staged: StagedAgent) -> None:
        """Write the further conversations of an agent that do not exist yet."""
        if not staged.conversations:
            return
        existing = self._records.conversation_records.get_many([one.record.id for one in staged.conversations])
        agent = self._records.agents.get(staged.agent.id)
        for one in staged.conversations:
            if one.record.id in existing or agent is None:
                continue
            record, token = one.record, self._host.ids.token()
            head = head_of(Head(id=record.id, agent_id=agent.id, created_at=record.created_at), one)
            block_ids = [record.isolated.get(block_id, block_id) for block_id in agent.block_ids]
            found = self._records.blocks.get_many([block_id for block_id in block_ids if block_id])
            blocks = [found[block_id] for block_id in block_ids if block_id in found]
            compiled = self._prompts.compiled(agent, head, blocks=blocks, in_window=one.in_window)
            system = system_row(one.system_id, agent, compiled, record.created_at, record.id)
            self._write(
                job,
                *self._records.conversation_records.create(record, token, wire_time(one.sent) if one.sent else ""),
                self._records.conversations.create_head(head.model_copy(update={"compiled": compiled.source}), token),
                self._records.conversations.put_message(record.id, system),
                token=token,
            )

    def _due_ms(self) -> int:
        return int(self._host.clock.now().timestamp() * 1000) + LEASE_MS
