"""Erases what other records have of a person's agents: deliveries of webhooks, requests of batches, templates; and the blobs that
no record names.
"""

from __future__ import annotations

from functools import partial
from itertools import islice

from hibernaut.ports.storage.table import MAX_CHANGES
from hibernaut.schemas.agents.erasure import ErasureLine, StoredErasure
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.runs.batch import OPEN, BatchItem
from hibernaut.services.erasures.erasure_parts import ErasureParts, ErasureWaits
from hibernaut.store.identities.erasures import PAGE

ERASED = "erased: the person whom the request concerned was erased"
"""Why a request of a batch was refused."""


class ErasedRemains:
    """What an erasure finds in records of others. Each method takes the next page and returns its progress; None: nothing is
    left.
    """

    def __init__(self, parts: ErasureParts) -> None:
        self._parts = parts
        self._stores = parts.stores
        self._records = parts.records

    def _erased(self, erasure: StoredErasure) -> set[str]:
        """The ids of the agents and blocks that went whole."""
        lines = [line for kind in ("agent", "block") for line in self._parts.stores.erasures.lines(erasure.id, kind)]
        return {line.id for line in lines if line.extent == "whole"}

    def deliveries(self, erasure: StoredErasure) -> StoredErasure | None:
        """Delete deliveries of events about erased records: they have labels of blocks and names of tools. The cursor is
        webhook#event.
        """
        erased_ids, (webhook_id, _, event_id) = self._erased(erasure), erasure.cursor.partition("#")
        webhooks = sorted(webhook.id for webhook in self._parts.stores.webhooks.all())
        for each in webhooks if erased_ids else ():
            if each < webhook_id:
                continue
            page = self._parts.stores.webhooks.page(each, event_id if each == webhook_id else "", PAGE)
            for key, event in page:
                if _names(event, erased_ids):
                    self._parts.write([self._parts.stores.webhooks.drop(key)])
            if len(page) == PAGE:
                return erasure.model_copy(update={"cursor": f"{each}#{page[-1][1]['id']}"})
        return None

    def batches(self, erasure: StoredErasure) -> StoredErasure | None:
        """Drop the bodies of requests that wait for erased agents, or that the person sends. The cursor is a batch."""
        erased_ids, store = self._erased(erasure), self._stores.batches
        ids = [str(row["sk"]) for row in islice(store.listed().walk(erasure.cursor or None, first=PAGE), PAGE)]
        for batch_id in store.get_many(ids):
            self._records.until_settled(partial(self._batch, erasure, batch_id, erased_ids))
        return erasure.model_copy(update={"cursor": ids[-1]}) if len(ids) == PAGE else None

    def _batch(self, erasure: StoredErasure, batch_id: str, erased_ids: set[str]) -> None:
        before = self._stores.batches.get(batch_id)
        if before is None:
            return
        items = [self._item(erasure, item, erased_ids) for item in before.items]
        if items == before.items:
            return
        after, token = before.model_copy(update={"items": items}), self._records.ids.token()
        is_over = before.status not in OPEN and (before.callback_url is None or before.callback_sent_at is not None)
        due_ms = None if is_over else int(self._parts.host.clock.now().timestamp() * 1000)
        self._stores.writer.write(self._stores.batches.change(before, after, due_ms, token), token=token)
        change_count = sum(one != two for one, two in zip(items, before.items, strict=True))
        line = ErasureLine(kind="batch", id=batch_id, extent="parts", counts={"batch_requests": change_count}, done=True)
        self._parts.begin(erasure.id, line)

    def _item(self, erasure: StoredErasure, item: BatchItem, erased_ids: set[str]) -> BatchItem:
        if item.body is None or not (item.agent_id in erased_ids or _speaks(item.body, erasure)):
            return item
        return BatchItem(agent_id=item.agent_id, run_id=item.run_id, refusal=item.refusal or ERASED)

    def templates(self, erasure: StoredErasure) -> StoredErasure | None:
        """Delete templates that were made from erased agents. The cursor is a name."""
        erased_ids, store = self._erased(erasure), self._stores.templates
        names = store.names(erasure.cursor, PAGE)
        for name in names if erased_ids else ():
            template = store.named(name)
            if template is None or not erased_ids.intersection(store.sources(template.id)):
                continue
            line = ErasureLine(
                kind="template", id=template.id, extent="whole", counts={"template_versions": len(template.versions)}
            )
            self._parts.begin(erasure.id, line.model_copy(update={"done": True}))
            documents = store.documents(template.id)  # the first two name the agent, so they go last
            for start in range(2, len(documents), MAX_CHANGES):
                self._parts.write(documents[start : start + MAX_CHANGES])
            migration = store.migration(template.id)
            migration_changes = [store.forget_migration(migration)] if migration is not None else []
            self._parts.write([*documents[:2], *migration_changes, *store.delete(template)])
        return erasure.model_copy(update={"cursor": names[-1]}) if len(names) == PAGE else None

    def blobs(self, erasure: StoredErasure) -> StoredErasure | None:
        """Delete the blobs that no record names. The cursor is a place in the listing. Raises: ErasureWaits for blobs that a
        writer may be about to name.
        """
        page = self._parts.blobs.purge(self._records.tenant, erasure.cursor, erasure.settled_at or self._parts.host.clock.now())
        if page.young:
            raise ErasureWaits
        return erasure.model_copy(update={"cursor": page.after}) if page.after else None


def _names(event: JsonObject, erased_ids: set[str]) -> bool:
    data = event.get("data") or {}
    ids = [data.get("agent_id"), data.get("block_id"), *(data.get("agent_ids") or ())]
    return any(each in erased_ids for each in ids)


def _speaks(body: JsonObject, erasure: StoredErasure) -> bool:
    return any(one.get("sender_id") in erasure.senders for one in body.get("messages") or ())
