"""The query strings of versions. They are ours."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query
from pydantic import Field

from hibernaut.rest.queries.record_queries import Order
from hibernaut.schemas.agents.agent_version import PastMoment
from hibernaut.schemas.base import Moment, Schema
from hibernaut.schemas.memory.version import LARGEST_VERSION
from hibernaut.services.memory.block_history import VersionPage

Number = Annotated[int, Field(ge=0, le=LARGEST_VERSION)]
MOST_VERSIONS = 200
"""The largest page of versions."""


class VersionList(Schema):
    """A page of versions, newest first. `before` and `after`: version numbers, exclusive. `at`: the one version in force at that
    time.
    """

    before: Number | None = None
    after: Number | None = None
    limit: int = Field(default=50, ge=1, le=MOST_VERSIONS)
    order: Order = "desc"
    at: Moment | None = None

    def page(self) -> VersionPage:
        return VersionPage(self.after, self.before, self.limit, self.order == "desc")


class PassageVersionList(Schema):
    """The versions of a passage. `at`: the one version in force at that time."""

    at: Moment | None = None


class VersionDiffChoice(Schema):
    """`to`: the version to compare with; without it, the version is compared with the one before it."""

    to: int | None = Field(default=None, ge=1, le=LARGEST_VERSION)


class RunVersionList(Schema):
    """A page of the versions that a run wrote. `after`: the id of a record, a colon, and a version, of the last entry of the page
    before.
    """

    after: str | None = None
    limit: int = Field(default=50, ge=1, le=MOST_VERSIONS)


PastQuery = Annotated[PastMoment, Query()]
PassageVersionListQuery = Annotated[PassageVersionList, Query()]
VersionListQuery = Annotated[VersionList, Query()]
VersionDiffQuery = Annotated[VersionDiffChoice, Query()]
RunVersionListQuery = Annotated[RunVersionList, Query()]
VersionNumber = Annotated[int, Path(ge=1, le=LARGEST_VERSION)]
