"""Search requests and their results (Letta V1 API, API 2.8 and 2.15; RT 7.4).

Scores and ranks are extensions of Letta's fields. Every search accepts `search_mode`.
"""

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from hibernaut.schemas.base import Json, JsonObject, Moment, Schema
from hibernaut.schemas.ids import AgentId, ArchiveId
from hibernaut.schemas.limits import Names
from hibernaut.schemas.memory.passage import Passage
from hibernaut.schemas.memory.search_index import SearchMode, TagMatch

MOST_RESULTS = 100
_A_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def _last_moment(value: Json) -> Json:
    """A date alone, as the end of a range, means its last moment."""
    return f"{value}T23:59:59.999999" if isinstance(value, str) and _A_DATE.fullmatch(value) else value


End = Annotated[Moment, BeforeValidator(_last_moment)]


class ArchivalSearch(Schema):
    """The query of GET /v1/agents/{id}/archival-memory/search. Times without an offset are in the agent's time zone."""

    query: str
    tags: list[str] | None = None
    tag_match_mode: TagMatch = "any"
    top_k: int | None = Field(default=None, ge=1, le=MOST_RESULTS)
    start_datetime: str | None = None
    end_datetime: str | None = None
    search_mode: SearchMode = "hybrid"


class PassageSearch(Schema):
    """The body of POST /v1/passages/search. `agent_id` takes precedence over `archive_id`; without both, all passages are
    searched.
    """

    query: str | None = None
    agent_id: AgentId | None = None
    archive_id: ArchiveId | None = None
    tags: Names | None = None
    tag_match_mode: TagMatch = "any"
    limit: int = Field(default=50, ge=1, le=MOST_RESULTS)
    start_date: Moment | None = None
    end_date: End | None = None
    search_mode: SearchMode = "hybrid"


class MessageSearch(Schema):
    """The body of POST /v1/messages/search. The conversation `default` is an agent's default conversation."""

    query: str
    search_mode: SearchMode = "hybrid"
    agent_id: AgentId | None = None
    conversation_id: str | None = None
    limit: int = Field(default=50, ge=1, le=MOST_RESULTS)
    start_date: Moment | None = None
    end_date: End | None = None


class AgentMessageSearch(MessageSearch):
    """The body of POST /v1/agents/messages/search."""

    query: str = ""
    roles: list[Literal["user", "assistant", "tool"]] | None = None
    project_id: str | None = None
    template_id: str | None = None


class ArchivalHit(Schema):
    """A passage that an agent's search found."""

    id: str
    timestamp: str
    content: str
    tags: list[str]


class ArchivalHits(Schema):
    """The result of a search in an agent's archival memory. `search` names the limitations of the search, as the response header
    does.
    """

    results: list[ArchivalHit]
    count: int
    search: str | None = None


class PassageHit(Schema):
    """A passage that was found. `metadata` holds `combined_score`, `vector_rank` and `fts_rank`."""

    passage: Passage
    score: float
    metadata: JsonObject


class MessageHit(Schema):
    """A message that was found, with its sender and conversation."""

    message_type: Literal["user_message", "assistant_message"]
    message_id: str
    agent_id: str
    conversation_id: str | None = None
    created_at: Moment
    content: str
    score: float
    fts_rank: int | None = None
    vector_rank: int | None = None


class AgentMessageHit(Schema):
    """A row of the log that was found, and the matching text."""

    embedded_text: str
    message: JsonObject
    fts_rank: int | None = None
    vector_rank: int | None = None
    rrf_score: float
