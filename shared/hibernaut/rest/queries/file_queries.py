"""The query strings of folders and files (Letta V1 API, API 1.5, 2.7 and 2.12)."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query
from pydantic import Field

from hibernaut.domain.wire.listing import Page
from hibernaut.schemas.base import Schema
from hibernaut.schemas.memory.file import Duplicates

Order = Literal["asc", "desc"]


class _FileList(Schema):
    before: str | None = None
    after: str | None = None
    limit: int = Field(default=50, ge=0, le=2**31 - 1)
    order: Order = "desc"

    def page(self) -> Page:
        return Page(limit=self.limit, before=self.before, after=self.after, descending=self.order == "desc")


class FolderList(_FileList):
    """A page of folders, oldest first. `name`: only the folder with this name."""

    order: Order = "asc"
    name: str | None = None


class FolderAgentList(_FileList):
    """A page of the agents that have a folder."""


class SourceList(FolderList):
    """All folders, or a page of them if the request sets `limit`."""

    limit: int = Field(default=2**31 - 1, ge=0, le=2**31 - 1)


class SourceAgentList(FolderAgentList):
    """All agents that have a folder, or a page of them if the request sets `limit`."""

    limit: int = Field(default=2**31 - 1, ge=0, le=2**31 - 1)


class FolderFileList(_FileList):
    """A page of the files of a folder, newest first. `include_content`: each file with its text."""

    limit: int = Field(default=1000, ge=0, le=2**31 - 1)
    include_content: bool = False


class FolderPassageList(_FileList):
    """A page of the pieces (passages) of a folder's files."""

    limit: int = Field(default=100, ge=0, le=2**31 - 1)
    order: Order = "asc"


class UploadQuery(Schema):
    """The options of an upload: what happens if its name exists, and a name that replaces the file's own."""

    duplicate_handling: Duplicates = "suffix"
    name: str | None = None


class AgentFolderList(_FileList):
    """A page of the folders of an agent."""

    limit: int = Field(default=100, ge=0, le=2**31 - 1)


class AgentFileList(_FileList):
    """A page of an agent's files. `cursor` is the deprecated form of `after`."""

    limit: int = Field(default=100, ge=1, le=2**31 - 2)
    cursor: str | None = None
    is_open: bool | None = None

    def page(self) -> Page:
        after = self.after or self.cursor
        return Page(limit=self.limit, before=self.before, after=after, descending=self.order == "desc")


FolderListQuery = Annotated[FolderList, Query()]
FolderAgentListQuery = Annotated[FolderAgentList, Query()]
SourceListQuery = Annotated[SourceList, Query()]
SourceAgentListQuery = Annotated[SourceAgentList, Query()]
FolderFileListQuery = Annotated[FolderFileList, Query()]
FolderPassageListQuery = Annotated[FolderPassageList, Query()]
UploadQueryString = Annotated[UploadQuery, Query()]
AgentFolderListQuery = Annotated[AgentFolderList, Query()]
AgentFileListQuery = Annotated[AgentFileList, Query()]
