"""Identities: create, change, list and delete them, and attach them to agents and blocks (Letta V1 API, API 2.7, 3 and 4.11).

The key of an identity is unique within its project, and among the identities without a project. Must not know how an agent or a
block is rendered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from hibernaut.domain.wire.listing import Page, page
from hibernaut.ports.storage.table import ConditionFailed, Item
from hibernaut.schemas.agents.identity import (
    CreateIdentity,
    Identity,
    IdentityProperty,
    IdentityType,
    NewProperty,
    StoredIdentity,
    UpdateIdentity,
)
from hibernaut.schemas.errors import Conflict, InvalidArgument, NotFound
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.limits import LARGEST_OBJECT, MaxBytes
from hibernaut.services.agents.identity_links import IdentityLinks
from hibernaut.services.records import Records

IdentityRelation = Literal["identity.agents", "identity.blocks"]
EVERY: frozenset[IdentityRelation] = frozenset({"identity.agents", "identity.blocks"})
NONE: frozenset[IdentityRelation] = frozenset()


@immutable
class IdentityFilter:
    """The filter of a list of identities (API 3). `name`: a part of the name, in any case."""

    name: str | None = None
    project_id: str | None = None
    identifier_key: str | None = None
    identity_type: IdentityType | None = None

    def admits(self, row: Item) -> bool:
        """Whether a list row passes the filter, except for the key."""
        if self.name is not None and self.name.lower() not in str(row["name"]).lower():
            return False
        if self.identity_type is not None and row["identity_type"] != self.identity_type.value:
            return False
        return self.project_id is None or row["project_id"] == self.project_id


class Identities:
    """The use cases of identities. `links` attaches them to agents and blocks."""

    def __init__(self, records: Records, links: IdentityLinks) -> None:
        self._records = records
        self.links = links

    def create(
        self, request: CreateIdentity, include: frozenset[IdentityRelation] = EVERY, *, key_id: str | None = None
    ) -> Identity:
        """Create an identity and attach it to the agents and blocks of the request. `key_id`: the caller's API key, here and
        below. Raises: NotFound (an agent or a block), Conflict (the key is taken), InvalidArgument.
        """
        self.links.check_exist(request.agent_ids, request.block_ids)
        identity = self._make(request)
        if identity is None:
            raise _key_conflict(request.identifier_key, request.project_id)
        self.links.attach(identity.id, request.agent_ids, request.block_ids, key_id=key_id)
        return self._wire([identity], include)[0]

    def _make(self, request: CreateIdentity) -> StoredIdentity | None:
        """The new identity; None if its key is taken."""
        now, token = self._records.clock.now(), self._records.ids.token()
        identity = StoredIdentity(
            id=self._records.ids.new("identity"),
            identifier_key=request.identifier_key,
            name=request.name,
            identity_type=request.identity_type,
            project_id=request.project_id,
            properties=_merged([], request.properties or ()),
            created_at=now,
            updated_at=now,
        )
        try:
            self._records.writer.write(*self._records.identities.create(identity, token), token=token)
        except ConditionFailed:
            return None
        return identity

    def upsert(
        self, request: CreateIdentity, include: frozenset[IdentityRelation] = EVERY, *, key_id: str | None = None
    ) -> Identity:
        """Create the identity, or change the one that has the key in the project: properties, agents and blocks that the request
        names replace the former ones. Raises: NotFound (an agent or a block), Conflict, InvalidArgument.
        """
        self.links.check_exist(request.agent_ids, request.block_ids)

        def attempt() -> StoredIdentity:
            existing = self._records.identities.with_key(request.identifier_key, request.project_id)
            if existing is None:
                created = self._make(request)
                if created is None:
                    raise ConditionFailed({})  # another request has just created it
                return created
            changes = UpdateIdentity.model_construct(name=request.name, identity_type=request.identity_type)
            properties = _merged([], request.properties) if request.properties is not None else None
            try:
                return self._change(existing, changes, properties)
            except NotFound:  # it was deleted between the two reads
                raise ConditionFailed({}) from None

        identity = self._records.until_settled(attempt)
        self.links.replace(identity.id, request.agent_ids, request.block_ids, key_id=key_id)
        return self._wire([identity], include)[0]

    def get(self, identity_id: str, include: frozenset[IdentityRelation] = EVERY) -> Identity:
        """The identity. Raises: NotFound."""
        return self._wire([self._records.identity(identity_id)], include)[0]

    def list(self, filters: IdentityFilter, page_query: Page, include: frozenset[IdentityRelation] = NONE) -> Sequence[Identity]:
        """A page of the identities that pass the filter, by creation time. Raises: NotFound for a cursor."""

        def select(rows: Sequence[Item]) -> list[Item]:
            return [row for row in rows if filters.admits(row)]

        store = self._records.identities
        if filters.identifier_key is not None:
            ids = store.with_keys([filters.identifier_key])
            rows = page(select(store.rows_of(ids) if ids else []), page_query, id_of=_id, place=_id)
        else:
            rows = store.listed().page(page_query, select)
        identities = store.get_many([_id(row) for row in rows])
        return self._wire([identities[_id(row)] for row in rows if _id(row) in identities], include)

    def count(self) -> int:
        """The number of identities."""
        return self._records.identities.listed().count()

    def update(
        self,
        identity_id: str,
        request: UpdateIdentity,
        include: frozenset[IdentityRelation] = EVERY,
        *,
        key_id: str | None = None,
    ) -> Identity:
        """Apply the fields that are not null; properties, agents and blocks are added. Raises: NotFound, Conflict (the key is
        taken), InvalidArgument.
        """
        self._records.identity(identity_id)
        self.links.check_exist(request.agent_ids, request.block_ids)
        identity = self._records.until_settled(lambda: self._change(identity_id, request, None))
        self.links.attach(identity_id, request.agent_ids, request.block_ids, key_id=key_id)
        return self._wire([identity], include)[0]

    def set_properties(self, identity_id: str, properties: Sequence[NewProperty]) -> Identity:
        """Replace all properties. Raises: NotFound, Conflict, InvalidArgument."""
        whole = _merged([], properties)
        return self._wire([self._records.until_settled(lambda: self._change(identity_id, UpdateIdentity(), whole))], EVERY)[0]

    def _change(self, identity_id: str, request: UpdateIdentity, properties: Sequence[IdentityProperty] | None) -> StoredIdentity:
        """One attempt of a change. `properties` replaces all of them; None: those of the request are merged."""
        before = self._records.identity(identity_id)
        changes = {
            name: value
            for name in ("identifier_key", "name", "identity_type")
            if (value := getattr(request, name)) is not None and value != getattr(before, name)
        }
        whole = [*properties] if properties is not None else _merged(before.properties, request.properties or ())
        if whole != before.properties:
            changes["properties"] = whole
        if not changes:
            return before
        if "identifier_key" in changes:
            holder = self._records.identities.with_key(request.identifier_key or "", before.project_id)
            if holder is not None:
                raise _key_conflict(request.identifier_key or "", before.project_id)
        after = before.model_copy(update={**changes, "updated_at": self._records.clock.now()})
        token = self._records.ids.token()
        self._records.writer.write(*self._records.identities.change(before, after, token), token=token)
        return after

    def delete(self, identity_id: str, *, key_id: str | None = None) -> None:
        """Detach the identity from its agents and blocks, then delete it. While it exists, a second call resumes. Raises:
        NotFound, Conflict.
        """
        self._records.identity(identity_id)
        self._clear(identity_id, key_id)
        self._records.until_settled(lambda: self._delete(identity_id))
        self._clear(identity_id, key_id)  # what was attached between the two; now nothing can be

    def _delete(self, identity_id: str) -> None:
        identity = self._records.identities.get(identity_id)
        if identity is not None:
            token = self._records.ids.token()
            self._records.writer.write(*self._records.identities.delete(identity), token=token)

    def _clear(self, identity_id: str, key_id: str | None) -> None:
        self.links.leave(identity_id, self.agents_of(identity_id), self.blocks_of(identity_id), key_id=key_id)

    def agents_of(self, identity_id: str) -> Sequence[str]:
        """The ids of the agents of an identity, oldest first."""
        return self.links.agents_of(identity_id)

    def blocks_of(self, identity_id: str) -> Sequence[str]:
        """The ids of the blocks of an identity, oldest first."""
        return self.links.blocks_of(identity_id)

    def _wire(self, identities: Sequence[StoredIdentity], include: frozenset[IdentityRelation]) -> Sequence[Identity]:
        ids = [identity.id for identity in identities]
        agents = self._records.agent_marks.agents_of("IDENTITY", ids) if "identity.agents" in include else {}
        blocks = self._records.identities.blocks_of(ids) if "identity.blocks" in include else {}
        return [one.wire(agents.get(one.id), blocks.get(one.id)) for one in identities]


def _merged(current: Sequence[IdentityProperty], changes: Sequence[NewProperty]) -> list[IdentityProperty]:
    """The properties with those of a request, one for each key. Raises: InvalidArgument if they take too many bytes."""
    merged = {one.key: one for one in current}
    merged |= {one.key: IdentityProperty.model_validate(one.model_dump()) for one in changes}
    try:
        MaxBytes(LARGEST_OBJECT)([one.model_dump() for one in merged.values()])
    except ValueError as error:
        raise InvalidArgument(f"INVALID_ARGUMENT: The properties of an identity are too large: {error}.") from None
    return list(merged.values())


def _key_conflict(identifier_key: str, project_id: str | None) -> Conflict:
    project = f" for project {project_id}" if project_id else ""
    return Conflict(f"An identity with identifier key {identifier_key} already exists{project}")


def _id(row: Item) -> str:
    return str(row["sk"])
