"""An identity: a person, an organisation or another external entity that owns agents and blocks (Letta V1 API, API 3
and 4.11). The caller names it by a key of its own, such as the id of a user in the caller's database.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from hibernaut.schemas.base import JsonObject, Moment, Schema, StrictSchema, Whole
from hibernaut.schemas.limits import LONGEST_NAME, Name, Small
from hibernaut.schemas.stored import Stored

MOST_LINKED = 200
"""The largest number of agents, or of blocks, that one request attaches an identity to."""
MOST_IDENTITIES = 1_000
"""The largest number of identities of a block."""

PropertyType = Literal["string", "number", "boolean", "json"]
IdentifierKey = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Linked = Annotated[list[Name], Field(max_length=MOST_LINKED)]


class IdentityType(StrEnum):
    """What an identity stands for."""

    ORGANIZATION = "org"
    USER = "user"
    OTHER = "other"


class IdentityProperty(Schema):
    """A property of an identity. The server stores the value unchanged, and does not check it against the type."""

    key: str
    value: str | bool | int | float | JsonObject
    type: PropertyType


class NewProperty(StrictSchema):
    """A property in a request."""

    key: Name
    value: Small[str | bool | Whole | float | JsonObject]
    type: PropertyType


NewProperties = Small[Annotated[list[NewProperty], Field(fail_fast=True)]]


class Identity(Schema):
    """The wire form. `agent_ids` and `block_ids` are empty unless the caller requests them (API 1.4)."""

    id: str
    identifier_key: str
    name: str
    identity_type: IdentityType
    project_id: str | None = None
    agent_ids: list[str] = Field(default_factory=list)
    block_ids: list[str] = Field(default_factory=list)
    properties: list[IdentityProperty] = Field(default_factory=list)


class StoredIdentity(Stored):
    """The stored record. Agents and blocks name their identities, not the other way round. `version` counts changes."""

    id: str
    identifier_key: str
    name: str
    identity_type: IdentityType
    project_id: str | None = None
    properties: list[IdentityProperty] = Field(default_factory=list)
    created_at: Moment
    updated_at: Moment
    version: int = 1

    def wire(self, agent_ids: list[str] | None = None, block_ids: list[str] | None = None) -> Identity:
        """The wire form with these relations."""
        return Identity.model_construct(
            id=self.id,
            identifier_key=self.identifier_key,
            name=self.name,
            identity_type=self.identity_type,
            project_id=self.project_id,
            agent_ids=agent_ids or [],
            block_ids=block_ids or [],
            properties=self.properties,
        )


class CreateIdentity(StrictSchema):
    """The body of POST and PUT /v1/identities/. A PUT changes the identity that has the key already: its list of properties, of
    agents and of blocks is replaced where the request has one.
    """

    identifier_key: IdentifierKey
    name: Name
    identity_type: IdentityType
    project_id: Name | None = None
    agent_ids: Linked | None = None
    block_ids: Linked | None = None
    properties: NewProperties | None = None


class UpdateIdentity(StrictSchema):
    """The body of PATCH /v1/identities/{id}. Null fields change nothing; properties, agents and blocks are added to the existing
    ones.
    """

    identifier_key: IdentifierKey | None = None
    name: Name | None = None
    identity_type: IdentityType | None = None
    agent_ids: Linked | None = None
    block_ids: Linked | None = None
    properties: NewProperties | None = None
