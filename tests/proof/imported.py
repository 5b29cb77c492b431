"""The agent file of a story, and what its import must have made: one agent, whole."""

from __future__ import annotations

from typing import Any

from hibernaut.schemas.base import JsonObject
from hibernaut.store.agents.agents import tags_of
from hibernaut.store.table.lists.logs import IdRange
from hibernaut.store.templates.import_keys import IMPORT
from tests.support.agent_file_parts import block, file_of, message, talked, tool
from tests.support.world import World

IMPORTS = "imports a file"
"""The tag of an agent whose story imports a file."""


def tag_of(agent_id: str) -> str:
    """The tag of the agent of the file."""
    return f"imported by {agent_id}"


def file_for(agent_id: str) -> JsonObject:
    """A file with one agent, a tool, a block, messages, an archive and a further conversation."""
    rows = [message(number, "user" if number % 2 else "assistant", f"row {number}") for number in range(1, 4)]
    beside = [message(number, "user" if number % 2 else "assistant", f"beside {number}") for number in range(5, 7)]
    made = talked(*rows, name="Imported", tags=[tag_of(agent_id)], block_ids=["block-0"], tool_ids=["tool-0"])
    for unknown in ("llm_config", "embedding_config"):
        made.pop(unknown, None)
    own: dict[str, Any] = {"archive_ids": ["archive-0"], "conversations": [{"summary": "beside", "messages": beside}]}
    archive = {"id": "archive-0", "name": "kept", "passages": [{"text": "one"}, {"text": "two"}]}
    return {
        **file_of(made, blocks=[block(0, "human")], tools=[tool(0, "knock")]),
        "hibernaut": {"archives": [archive], "agents": {"agent-0": own}},
    }


def _made(world: World, agent_id: str) -> list[str]:
    return [str(row["sk"]) for row in world.stores.agents.rows() if tag_of(agent_id) in tags_of(row)]


def once_imported(world: World, agent_id: str) -> None:
    """Checks that the file was imported once at most."""
    made = _made(world, agent_id)
    assert len(made) <= 1, f"{len(made)} agents were imported"


def wholly_imported(world: World, agent_id: str) -> None:
    """Checks that the file was imported as a whole, and that no import is under way."""
    stores, (imported, *_) = world.stores, [*_made(world, agent_id), ""]
    assert imported, "the imported agent is lost"
    agent = stores.agents.get(imported)
    assert agent is not None
    assert len(stores.blocks.get_many(agent.block_ids)) == len(stores.tools.get_many(agent.tool_ids)) == 1, "a part is missing"
    assert [row.text() for row in world.log(imported)[1:]] == ["row 1", "row 2", "row 3"], "the log is not that of the file"
    (archive,) = stores.archives.open_of_agent(imported)
    told = [one.text for one in stores.passages.page(archive.id, IdRange(), limit=9)]
    assert told == ["one", "two"], f"the archive has {told}"
    (conversation,) = stores.conversation_records.ids(imported)
    assert [row.text() for row in stores.conversations.page(conversation)[1:]] == ["beside 5", "beside 6"]
    assert not [place for place in world.all_stores.due.all() if place.sk == IMPORT], "an import is still due"
