"""The arguments and the results of the tools of the MCP endpoint. Clients receive their JSON schemas; the descriptions are for
models.

Every result is bounded: its lists by `limit`, its texts by `cut`.
"""

from typing import Annotated, Literal

from pydantic import Field

from hibernaut.schemas.base import Schema, StrictSchema
from hibernaut.schemas.ids import AgentId, ConversationId, RunId

LONGEST_WAIT, USUAL_WAIT = 240, 45
"""Seconds for which a call waits for a run. Many clients give a call up after 60."""
MOST_IN_LIST, USUAL_LIST = 50, 20
MOST_HITS, USUAL_HITS = 20, 10
LONGEST_REPLY = 50_000
"""Characters of an agent's reply."""
LONGEST_BLOCK = 20_000
"""Characters of a block. A page of blocks has `LONGEST_PAGE` together."""
LONGEST_PAGE = 60_000
LONGEST_HIT, LONGEST_NOTE = 2000, 500
"""Characters of a search result, and of a description."""

Agent = Annotated[AgentId, Field(description="The id of the agent (agent-…), from list_agents.")]
Limit = Annotated[int, Field(ge=1, le=MOST_IN_LIST, description="The largest number of entries.")]
PageCursor = Annotated[str, Field(max_length=100, description="`next_cursor` of the page before.")]
Wait = Annotated[int, Field(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the end of the run.")]
MemorySource = Literal["passages", "messages"]
NextPage = Annotated[str | None, Field(description="The cursor of the next page; null at the end.")]


def cut(text: str, most: int) -> str:
    """The text, or its beginning with a note of its length."""
    return text if len(text) <= most else f"{text[:most]}… [cut: {len(text)} characters in all]"


class ListAgents(StrictSchema):
    """Arguments of list_agents."""

    name_contains: str | None = Field(default=None, max_length=200, description="Only agents whose name contains this text.")
    limit: Limit = USUAL_LIST
    cursor: PageCursor | None = None


class ListedAgent(Schema):
    """An agent in a list."""

    id: str
    name: str
    description: str | None
    model: str | None
    tags: list[str]


class AgentPage(Schema):
    """The result of list_agents."""

    agents: list[ListedAgent]
    next_cursor: NextPage = None


class ReadBlocks(StrictSchema):
    """Arguments of read_blocks."""

    agent_id: Agent
    label: str | None = Field(default=None, max_length=200, description="Only the block with this label.")
    limit: Limit = USUAL_LIST
    cursor: PageCursor | None = None


class ShownBlock(Schema):
    """A block of core memory. `limit` in characters."""

    id: str
    label: str | None
    value: str
    description: str | None
    limit: int
    read_only: bool


class BlockPage(Schema):
    """The result of read_blocks."""

    blocks: list[ShownBlock]
    next_cursor: NextPage = None


class SearchMemory(StrictSchema):
    """Arguments of search_memory."""

    agent_id: Agent
    query: str = Field(min_length=1, max_length=2000, description="What to look for, in words.")
    sources: list[MemorySource] = Field(
        default=["passages", "messages"],
        min_length=1,
        max_length=2,
        description="Where to look: the archival memory, or what was said.",
    )
    limit: int = Field(default=USUAL_HITS, ge=1, le=MOST_HITS, description="The largest number of results of each source.")


class FoundPassage(Schema):
    """A passage of archival memory."""

    id: str
    text: str
    tags: list[str]
    at: str


class FoundMessage(Schema):
    """A message of the agent's log."""

    id: str
    role: Literal["user", "assistant"]
    text: str
    conversation_id: str | None
    at: str


class MemoryHits(Schema):
    """The result of search_memory, best first. `incomplete` says why the search was limited, as the header x-hibernaut-search
    does.
    """

    passages: list[FoundPassage] = Field(default_factory=list)
    messages: list[FoundMessage] = Field(default_factory=list)
    incomplete: str | None = None


class WritePassage(StrictSchema):
    """Arguments of write_passage."""

    agent_id: Agent
    text: str = Field(min_length=1, max_length=50_000, description="What the agent is to find again.")
    tags: list[Annotated[str, Field(max_length=200)]] = Field(
        default_factory=list, max_length=50, description="Tags of the passage."
    )


class WrittenPassage(Schema):
    """The result of write_passage."""

    id: str
    archive_id: str | None


class SendMessage(StrictSchema):
    """Arguments of send_message."""

    agent_id: Agent
    message: str = Field(min_length=1, max_length=500_000, description="The text of the message, as a user writes it.")
    conversation_id: ConversationId | None = Field(
        default=None, description="A conversation of the agent (conv-…); without it the message goes to the agent's own one."
    )
    otid: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="An id of your choice for this message. A call with an otid and a message that were accepted in the last 24 hours sends nothing again.",
    )
    wait_seconds: Wait = USUAL_WAIT


class GetRun(StrictSchema):
    """Arguments of get_run."""

    run_id: RunId = Field(description="The id of the run (run-…), from send_message.")
    wait_seconds: Wait = USUAL_WAIT


class CancelRun(StrictSchema):
    """Arguments of cancel_run."""

    run_id: RunId = Field(description="The id of the run (run-…), from send_message.")


class WaitingCall(Schema):
    """A tool call of the agent that waits for an approval."""

    name: str
    arguments: str


class RunReport(Schema):
    """The result of send_message, get_run and cancel_run. `next`: what to do to learn more; null if this is all."""

    run_id: str
    agent_id: str
    conversation_id: str | None = None
    status: Literal["completed", "failed", "cancelled", "running", "requires_approval"]
    stop_reason: str | None = None
    reply: str = ""
    error: str | None = None
    waiting_calls: list[WaitingCall] = Field(default_factory=list)
    continued_by: str | None = None
    next: str | None = None
