"""Templates in the table: the record, the unique name, and one record for each agent file.

This module has reads, and changes that a use case combines into a transaction.
"""

from __future__ import annotations

from hibernaut.ports.storage.table import ABSENT, Change, Delete, Item, Key, Put, Update, Value, eq
from hibernaut.schemas.agents.template import CURRENT, StoredMigration, StoredTemplate, TemplateDocument
from hibernaut.schemas.base import JsonObject
from hibernaut.store.table import keys
from hibernaut.store.table.bodies.codec import Codec, freed
from hibernaut.store.table.tenant_table import TenantTable
from hibernaut.store.templates import template_keys

SEARCHED = 200
"""Names that a search by a part of them reads at a time."""


class TemplateStore:
    """Templates of one tenant. Reads raise StoreUnavailable (`store.table.retries`), and OSError if a blob cannot be read."""

    def __init__(self, table: TenantTable, codec: Codec) -> None:
        self._table = table
        self._tenant = table.tenant
        self._codec = codec

    def named(self, name: str) -> StoredTemplate | None:
        """The template with this name, or None."""
        item = self._table.get(template_keys.template_name(self._tenant, name))
        return self.get(str(item["template"])) if item else None

    def get(self, template_id: str) -> StoredTemplate | None:
        """The template, or None."""
        item = self._table.get(template_keys.template(self._tenant, template_id))
        return self._read(item) if item else None

    def page(self, after: str, *, skip: int = 0, limit: int, part: str = "") -> tuple[list[StoredTemplate], bool]:
        """Templates in the order of their names, after one name, and whether more follow. The first `skip` are passed over.
        `part`: what the names contain, in any case. One that is deleted meanwhile is left out.
        """
        pk, most = template_keys.template_name(self._tenant, "").pk, skip + limit + 1
        rows: list[Item] = []
        while len(rows) < most:
            size = max(most - len(rows), SEARCHED if part else 0)
            batch = self._table.query(pk, after=after or None, limit=size, names=("template",))
            rows += [row for row in batch if part.lower() in str(row["sk"]).lower()]
            if len(batch) < size:
                break
            after = str(batch[-1]["sk"])
        page = [template_keys.template(self._tenant, str(row["template"])) for row in rows[skip : skip + limit]]
        found = self._table.get_many(page)
        return [self._read(found[key]) for key in page if key in found], len(rows) >= most

    def _read(self, item: Item) -> StoredTemplate:
        template = self._codec.record(StoredTemplate, item)
        template.version = int(item["version"])
        return template

    def document(self, template_id: str, number: int) -> TemplateDocument | None:
        """The agent file of a version, or None."""
        item = self._table.get(template_keys.template_document(self._tenant, template_id, number))
        return self._codec.record(TemplateDocument, item) if item else None

    def create(self, template: StoredTemplate, document: JsonObject, token: str, source: str = "") -> list[Change]:
        """The changes that create a template whose current document is its first version. The condition of the first one is that
        the name is free. `source`: the agent that the document was made from.
        """
        key, name = template_keys.template(self._tenant, template.id), template_keys.template_name(self._tenant, template.name)
        return [
            Put({"pk": name.pk, "sk": name.sk, "template": template.id, "wt": token}, ABSENT),
            Put(self._codec.item(key, template, version=template.version, wt=token), ABSENT),
            *(self._put(template.id, number, document, source) for number in (CURRENT, template.latest.number)),
        ]

    def change(self, before: StoredTemplate, after: StoredTemplate, token: str) -> Update:
        """The change from `before` to `after`. Condition: the version is that of `before`."""
        key = template_keys.template(self._tenant, after.id)
        record = after.model_copy(update={"version": before.version + 1})
        attributes: dict[str, Value] = {**self._codec.body(key, record), "version": record.version, "wt": token}
        return Update(key, set=attributes, when=eq(version=before.version), frees=freed(key, before))

    def set_current(self, template_id: str, before: TemplateDocument | None, document: JsonObject) -> Change:
        """The change that replaces the current document."""
        key = template_keys.template_document(self._tenant, template_id, CURRENT)
        body = self._codec.body(key, TemplateDocument(document=document))
        return Update(key, set=body, frees=freed(key, before) if before is not None else "")

    def add_version(self, template_id: str, number: int, document: JsonObject) -> Change:
        """The change that adds the document of a new version."""
        return self._put(template_id, number, document, "")

    def _put(self, template_id: str, number: int, document: JsonObject, source: str) -> Put:
        key = template_keys.template_document(self._tenant, template_id, number)
        attributes: dict[str, Value] = {"source": source} if source else {}
        return Put(self._codec.item(key, TemplateDocument(document=document), **attributes))

    def delete(self, template: StoredTemplate) -> list[Change]:
        """The changes that delete a template and its name. Condition: the version is that of `template`. Its documents remain."""
        key = template_keys.template(self._tenant, template.id)
        name = template_keys.template_name(self._tenant, template.name)
        return [Delete(key, eq(version=template.version), freed(key, template)), Delete(name)]

    def migration(self, template_id: str) -> StoredMigration | None:
        """The newest migration of a template, or None."""
        item = self._table.get(template_keys.template_migration(self._tenant, template_id))
        return self._codec.record(StoredMigration, item) if item else None

    def put_migration(
        self, before: StoredMigration | None, after: StoredMigration, due_ms: int | None, token: str, *, ttl: int | None = None
    ) -> Put:
        """The change from one state of a migration to the next. Condition: it is still `before` (None: there is none). From
        `due_ms` on, the sweep continues it; None: it is over, and expires at `ttl`, in seconds since 1970.
        """
        key = template_keys.template_migration(self._tenant, after.template_id)
        record = after.model_copy(update={"version": (before.version if before else 0) + 1})
        due: dict[str, Value] = {**keys.due(after.template_id, due_ms)} if due_ms is not None else {}
        item = self._codec.item(key, record, **due, **({"ttl": ttl} if ttl is not None else {}), version=record.version, wt=token)
        return Put(item, eq(version=before.version) if before else ABSENT, freed(key, before) if before else "")

    def forget_migration(self, migration: StoredMigration) -> Delete:
        """The change that deletes the record of a migration. Condition: it is as it was read."""
        key = template_keys.template_migration(self._tenant, migration.template_id)
        return Delete(key, eq(version=migration.version), freed(key, migration))

    def names(self, after: str, limit: int) -> list[str]:
        """The names of templates after one, in alphabetical order."""
        pk = template_keys.template_name(self._tenant, "").pk
        return [str(row["sk"]) for row in self._table.query(pk, after=after or None, limit=limit, names=("sk",))]

    def sources(self, template_id: str) -> set[str]:
        """The agents from which the documents of a template were made, as far as they are known."""
        pk = template_keys.template(self._tenant, template_id).pk
        rows = self._table.query(pk, prefix=template_keys.DOCUMENTS, names=("source",))
        return {str(row["source"]) for row in rows if row.get("source")}

    def documents(self, template_id: str) -> list[Delete]:
        """The changes that delete the documents of a template, with their blobs."""
        pk = template_keys.template(self._tenant, template_id).pk
        rows = self._table.query(pk, prefix=template_keys.DOCUMENTS, names=("sk", "blob"))
        return [Delete(Key(pk, str(row["sk"])), frees=str(row.get("blob", ""))) for row in rows]
