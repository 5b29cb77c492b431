"""The query string of the list of templates."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import Field

from hibernaut.schemas.agents.template import TemplateName
from hibernaut.schemas.base import Schema
from hibernaut.schemas.limits import Name


class TemplateList(Schema):
    """A page of templates. `after`, a name, continues a list; so does `offset`, the way of letta-client 0.1.

    `name`: the template with this name. `search`: those whose names contain it, or with `exact` the one that it names.
    """

    after: TemplateName | None = None
    offset: int = Field(default=0, ge=0, le=10_000)
    limit: int = Field(default=50, ge=1, le=100)
    name: Name | None = None
    search: Name = ""
    exact: bool = False

    @property
    def named(self) -> str | None:
        """The one name that is asked for."""
        return self.name if self.name is not None or not self.exact else self.search or None


TemplateListQuery = Annotated[TemplateList, Query()]
