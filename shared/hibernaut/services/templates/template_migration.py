"""Migrates the agents of a template to a version, some at a time, so that a crash at any point leaves the rest to the sweep.

The transaction that saves the version stores the migration too, in the index DUE. From then on it is carried out, by the request
for `AT_ONCE` agents and by the sweep for the others. Steps in their order:

1. the prototypes of the version are made (`template_prototypes`), and their ids stored;
2. each agent, in the order of ids, changes after its prototype; before it, the blocks that it has are stored, so that a repeated
   step deletes the same ones of them;
3. the prototypes are deleted, and the migration leaves the index DUE. Its record remains for `RETENTION`.

Each write of the record has the condition that it is as this worker read it, so an overtaken worker writes no further record. An
agent that cannot be changed is counted and reported, and does not stop the others. A later migration replaces an earlier one.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta

from hibernaut.ports.storage.table import Change, ConditionFailed
from hibernaut.schemas.agents.template import (
    MigrationFault,
    SaveTemplate,
    StoredMigration,
    StoredTemplate,
)
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import Conflict, HibernautError, ImportContinues, InvalidArgument, NotFound, StoreUnavailable
from hibernaut.services.records import Records
from hibernaut.services.templates.template_prototypes import MigrationChoice, Prototype, TemplatePrototypes
from hibernaut.store.templates.templates import TemplateStore

AT_ONCE = 25
"""The largest number of agents that one attempt migrates: some seconds of writes."""
LEASE_MS = 60_000
"""Milliseconds after the last write of a worker from which the sweep continues its migration."""
MOST_ATTEMPTS = 50
"""Attempts without an agent migrated after which a migration is given up."""
MOST_FAULTS = 20
"""The largest number of agents whose faults are reported."""
RETENTION = timedelta(days=7)
"""The retention of the record of a migration that is over."""
logger = logging.getLogger(__name__)


class TemplateMigration:
    """Migrates the agents of the templates of one tenant."""

    def __init__(self, records: Records, store: TemplateStore, prototypes: TemplatePrototypes) -> None:
        self._records = records
        self._store = store
        self._prototypes = prototypes

    def begun(
        self, template: StoredTemplate, options: SaveTemplate, *, user: str | None, key_id: str | None, token: str
    ) -> Change:
        """The change that stores the migration to the latest version of a template, in place of an earlier one."""
        earlier = self._store.migration(template.id)
        migration = StoredMigration(
            template_id=template.id,
            number=template.latest.number,
            how=options,
            user=user,
            key_id=key_id,
            agents=self._records.agent_marks.count("BASE", template.id, hidden=True),
            began_at=self._records.clock.now(),
            version=earlier.version if earlier else 0,
        )
        return self._store.put_migration(earlier, migration, self._due_ms(), token)

    def status(self, template: StoredTemplate) -> StoredMigration:
        """The newest migration of a template. Raises: NotFound."""
        found = self._store.migration(template.id)
        if found is None or (found.over_at is not None and found.over_at + RETENTION <= self._records.clock.now()):
            raise NotFound(f"Template '{template.name}' has had no migration in the last {RETENTION.days} days.")
        return found

    def first(self, template: StoredTemplate) -> StoredMigration:
        """Migrate the first agents, for the request that saved the version. Returns the progress. Raises: InvalidArgument (the
        file).
        """
        with suppress(StoreUnavailable, OSError, Conflict):  # the migration is stored: the sweep continues it
            self.go_on(template.id)
        state = self.status(template)
        if state.fault is not None:
            raise InvalidArgument(state.fault)
        return state

    def forget(self, template_id: str) -> None:
        """Delete the record of a deleted template's migration, unless the sweep has still to delete its prototypes."""
        job = self._store.migration(template_id)
        if job is not None and job.over_at is not None:
            with suppress(ConditionFailed):
                self._records.writer.write(self._store.forget_migration(job))

    def go_on(self, template_id: str) -> None:
        """Take the migration and migrate at most `AT_ONCE` agents. Raises: OSError, StoreUnavailable; the sweep comes again
        then.
        """
        job = self._store.migration(template_id)
        if job is None or job.over_at is not None:
            return
        with suppress(ConditionFailed):
            job = self._write(job, attempts=job.attempts + 1)
            if job.ending:
                self._end(job, job.fault)
                return
            template = self._store.get(template_id)
            if template is None or job.attempts > MOST_ATTEMPTS:
                self._end(job, "The template was deleted." if template is None else "The migration does not get ahead.")
                return
            with suppress(ImportContinues):
                self._carry_out(job, template)

    def _carry_out(self, job: StoredMigration, template: StoredTemplate) -> None:
        by = MigrationChoice(job.how, job.user, job.key_id)
        ids = self._records.agent_marks.next_agents("BASE", template.id, job.done_up_to, AT_ONCE)
        if not ids:
            self._end(job, None)
            return
        if not job.prototypes:
            found = self._store.document(template.id, job.number)
            if found is None:
                self._end(job, "The template was deleted.")
                return
            try:
                prototype_ids = self._prototypes.make(template, found.document, by, f"{template.id} {job.number} {job.began_at}")
            except InvalidArgument as invalid:
                self._end(job, invalid.detail)
                return
            job = self._write(job, prototypes=prototype_ids)
        try:
            prototypes = self._prototypes.read(job.prototypes)
        except NotFound:  # A prototype was deleted: the next attempt creates them again.
            self._write(job, prototypes={}, due_ms=self._now_ms())
            return
        for agent_id in ids:
            job = self._one(job, agent_id, prototypes, by)
        if len(ids) < AT_ONCE:
            self._end(job, None)
        else:
            self._write(job, due_ms=self._now_ms())

    def _one(
        self, job: StoredMigration, agent_id: str, prototypes: Mapping[str, Prototype], by: MigrationChoice
    ) -> StoredMigration:
        """Migrate one agent. Returns the migration with its outcome, which the next write stores."""
        if job.current != agent_id:
            agent = self._records.agents.get(agent_id)
            job = self._write(job, current=agent_id, had=agent.block_ids if agent else [])
        fields: JsonObject = {"done_up_to": agent_id, "attempts": 0}
        try:
            is_applied = self._prototypes.apply(agent_id, prototypes, by)
            if is_applied:
                self._prototypes.delete_left(agent_id, job.had, by.key_id)
        except StoreUnavailable:
            raise
        except NotFound:  # it was deleted meanwhile
            return job.model_copy(update={**fields, "skipped": job.skipped + 1})
        except HibernautError as failure:
            faults = [*job.faults, MigrationFault(agent_id=agent_id, error=failure.detail[:500])][:MOST_FAULTS]
            return job.model_copy(update={**fields, "failed": job.failed + 1, "faults": faults})
        count = {"migrated": job.migrated + 1} if is_applied else {"skipped": job.skipped + 1}
        return job.model_copy(update={**fields, **count})

    def _end(self, job: StoredMigration, fault: str | None) -> None:
        """Delete the prototypes, then take the migration out of the index DUE. From the first write on, no agent is changed any
        more.
        """
        job = self._write(job, ending=True, fault=fault, current="", had=[], prototypes={})
        self._prototypes.discard(job.template_id)
        self._write(job, over_at=self._records.clock.now())
        fields = {"template_id": job.template_id, "migrated": job.migrated, "failed": job.failed}
        logger.info("template migrated" if fault is None else "template migration given up", extra=fields)

    def _write(self, job: StoredMigration, *, due_ms: int = 0, **changes: object) -> StoredMigration:
        """Store the migration; returns it as stored. `due_ms` 0: a lease from now. Raises: ConditionFailed if another worker has
        it.
        """
        token, after = self._records.ids.token(), job.model_copy(update=changes)
        is_over = after.over_at is not None
        due = None if is_over else due_ms or self._due_ms()
        ttl = int((self._records.clock.now() + RETENTION).timestamp()) if is_over else None
        self._records.writer.write(self._store.put_migration(job, after, due, token, ttl=ttl), token=token)
        return after.model_copy(update={"version": job.version + 1})

    def _now_ms(self) -> int:
        return int(self._records.clock.now().timestamp() * 1000)

    def _due_ms(self) -> int:
        return self._now_ms() + LEASE_MS
