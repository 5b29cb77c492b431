"""The folders and files of an agent through the SDK, and the tools by which it reads them (Letta V1 API, API 2.7; RT 5.5, 8)."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from letta_client import Letta, NotFoundError, UnprocessableEntityError

from tests.compat.conftest import Make, Said, calls
from tests.compat.reading import uploaded
from tests.support.memory_reader import newest_update

pytestmark = pytest.mark.usefixtures("fed")

MISSING = "source-00000000-0000-4000-8000-000000000000"
NO_FILE = "file-00000000-0000-4000-8000-000000000000"
FILE_TOOLS = {"open_files", "grep_files", "semantic_search_files"}
BIRDS = "Parrots are green.\nOwls see at night.\nDucks can swim.\n"


def folder_with(client: Letta, name: str, **files: str) -> tuple[str, list[str]]:
    """A folder with files that are read; the ids of both."""
    folder = client.folders.create(name=name)
    return folder.id, [uploaded(client, folder.id, f"{stem}.txt", text.encode()).id for stem, text in files.items()]


def tools_of(client: Letta, agent_id: str) -> set[str]:
    return {str(tool.name) for tool in client.agents.tools.list(agent_id, limit=50)}


def system_of(said: Said) -> str:
    return str(said.server.requests[-1].body["messages"][0]["content"])


def update_of(said: Said) -> str:
    """What the newest request tells of changes since the window began."""
    return newest_update(said.server.requests[-1].body)


def returned(client: Letta, said: Said, agent_id: str, name: str, **arguments: Any) -> str:
    """What a tool returns to the model that calls it."""
    said.next(calls((name, arguments)), {"content": "Done."})
    client.agents.messages.create(agent_id, input="Look it up.")
    answer = said.server.requests[-1].body["messages"][-1]
    assert answer["role"] == "tool"
    return str(json.loads(answer["content"])["message"])


@pytest.mark.manifest("agent_folders.attach", "agent_folders.detach", "agent_folders.list", "agent_folders.tools")
def test_a_folder_is_given_to_an_agent_with_the_tools_for_it_and_taken_away(
    client: Letta, http: httpx.Client, new_agent: Make
) -> None:
    folder, _ = folder_with(client, "attached", a="one")
    other = client.folders.create(name="attached too")
    agent = new_agent()
    for _ in range(2):
        assert client.agents.folders.attach(folder, agent_id=agent.id) is None
    client.agents.folders.attach(other.id, agent_id=agent.id)
    assert [one.id for one in client.agents.folders.list(agent.id, order="asc")] == [folder, other.id]
    assert tools_of(client, agent.id) >= FILE_TOOLS
    shown = http.get(f"/v1/agents/{agent.id}").json()
    assert [one["id"] for one in shown["sources"]] == [folder, other.id]
    client.agents.folders.detach(folder, agent_id=agent.id)
    assert tools_of(client, agent.id) >= FILE_TOOLS
    client.agents.folders.detach(other.id, agent_id=agent.id)
    assert not tools_of(client, agent.id) & FILE_TOOLS
    assert client.agents.files.list(agent.id).files == []
    state = http.patch(f"/v1/agents/{agent.id}/folders/attach/{folder}").json()
    assert state["id"] == agent.id, "other clients are shown the agent"
    with pytest.raises(NotFoundError):
        client.agents.folders.attach(MISSING, agent_id=agent.id)


@pytest.mark.manifest("agents.create.folders")
def test_folders_can_be_named_when_an_agent_is_made_or_changed(client: Letta, new_agent: Make) -> None:
    folder, files = folder_with(client, "at birth", a="one")
    agent = new_agent(folder_ids=[folder])
    assert tools_of(client, agent.id) >= FILE_TOOLS
    assert [(one.file_id, one.is_open) for one in client.agents.files.list(agent.id)] == [(files[0], True)]
    client.agents.update(agent.id, source_ids=[])
    assert client.agents.files.list(agent.id).files == []
    client.agents.update(agent.id, folder_ids=[folder])
    assert [one.id for one in client.agents.folders.list(agent.id)] == [folder]
    client.agents.delete(agent.id)
    assert list(client.folders.agents.list(folder)) == []
    with pytest.raises(NotFoundError):
        new_agent(folder_ids=[MISSING])


@pytest.mark.manifest("agent_files.list", "agent_files.open", "agent_files.close", "agent_files.close_all", "agent_files.lru")
@pytest.mark.deployed
def test_files_are_opened_up_to_the_limit_and_closed(client: Letta, new_agent: Make) -> None:
    folder, files = folder_with(client, "many", a="one", b="two", c="three")
    agent = new_agent(max_files_open=2)
    client.agents.folders.attach(folder, agent_id=agent.id)

    def is_open() -> set[str]:
        return {str(one.file_name) for one in client.agents.files.list(agent.id, is_open=True)}

    assert is_open() == {"many/a.txt", "many/b.txt"}
    assert client.agents.files.open(files[2], agent_id=agent.id) == ["many/a.txt"], "what was looked at longest ago is closed"
    assert client.agents.files.open(files[1], agent_id=agent.id) == []
    assert client.agents.files.open(files[0], agent_id=agent.id) == ["many/c.txt"]
    assert is_open() == {"many/a.txt", "many/b.txt"}
    client.agents.files.close(files[0], agent_id=agent.id)
    assert is_open() == {"many/b.txt"}
    assert client.agents.files.close_all(agent.id) == ["many/b.txt"]
    assert is_open() == set()
    for wrong in (client.agents.files.open, client.agents.files.close):
        with pytest.raises(NotFoundError):
            wrong(NO_FILE, agent_id=agent.id)
        with pytest.raises(UnprocessableEntityError):
            wrong("file-1", agent_id=agent.id)


@pytest.mark.manifest("agent_files.list.pages", "agent_files.list.shape")
def test_an_agents_files_are_listed_in_pages(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    folder, files = folder_with(client, "pages", a=BIRDS, b="two", c="three")
    agent = new_agent(folder_ids=[folder])
    assert [one.file_id for one in client.agents.files.list(agent.id, limit=1)] == files[::-1], "the SDK follows the cursor"
    page = client.agents.files.list(agent.id, limit=2, order="asc")
    assert ([one.file_id for one in page.files], page.has_more, page.next_cursor) == (files[:2], True, page.files[-1].id)
    last = client.agents.files.list(agent.id, limit=2, order="asc", after=page.next_cursor)
    assert ([one.file_id for one in last.files], last.has_more) == (files[2:], False)
    assert last.next_cursor is not None
    first = page.files[0]
    assert (first.id[:11], first.folder_id, first.folder_name) == ("file_agent-", folder, "pages")
    assert first.last_accessed_at is not None
    assert first.visible_content == (
        "[Viewing file start (out of 3 lines)]\n1: Parrots are green.\n2: Owls see at night.\n3: Ducks can swim."
    )
    cursor = http.get(f"/v1/agents/{agent.id}/files", params={"cursor": page.next_cursor, "order": "asc"}).json()
    assert [one["file_id"] for one in cursor["files"]] == files[2:]


@pytest.mark.manifest("agent_files.memory")
def test_files_stand_in_the_agents_memory_as_blocks(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    folder, files = folder_with(client, "remembered", birds=BIRDS, bees="Bees hum.")
    agent = new_agent(folder_ids=[folder], max_files_open=1, per_file_view_window_char_limit=1000)
    memory = http.get(f"/v1/agents/{agent.id}").json()["memory"]
    first, second = memory["file_blocks"]
    assert ([first["label"], second["label"]], [first["file_id"], second["file_id"]]) == (
        ["remembered/birds.txt", "remembered/bees.txt"],
        files,
    )
    assert (first["is_open"], first["read_only"], first["limit"], first["source_id"]) == (True, True, 1000, folder)
    assert "1: Parrots are green." in first["value"]
    assert (second["is_open"], second["value"], second["last_accessed_at"]) == (False, "", None)
    client.agents.files.open(files[1], agent_id=agent.id)
    shown = client.agents.retrieve(agent.id, include=["agent.blocks"]).memory.file_blocks
    assert [one.is_open for one in shown] == [False, True]
    assert client.agents.retrieve(agent.id).memory.file_blocks == [], "a 1.0 client names what it wants"


@pytest.mark.manifest("agent_files.prompt")
@pytest.mark.deployed
def test_the_model_sees_open_files_and_every_change_in_the_next_run(
    client: Letta, http: httpx.Client, said: Said, new_agent: Make
) -> None:
    folder, files = folder_with(client, "seen", birds=BIRDS, bees="Bees hum.")
    client.folders.update(folder, description="About animals.", instructions="Quote them.")
    agent = new_agent(max_files_open=1, per_file_view_window_char_limit=1000)
    client.agents.messages.create(agent.id, input="hi")
    assert "<directories>" not in system_of(said), "nor do the base instructions hold the tag"
    client.agents.folders.attach(folder, agent_id=agent.id)
    client.agents.messages.create(agent.id, input="hi")
    system = update_of(said)
    assert "<file_limits>\n- current_files_open=1\n- max_files_open=1\n</file_limits>" in system
    assert '</file_limits>\n<directory name="seen">\n<description>About animals.</description>\n<instructions>Quote' in system
    assert '<file status="open" name="seen/birds.txt">' in system
    assert '<file status="closed" name="seen/bees.txt">' in system
    assert "1: Parrots are green." in system
    overview = http.get(f"/v1/agents/{agent.id}/context").json()
    assert overview["directories"] in system
    assert overview["num_tokens_directories"] > 50
    assert "Bees hum." not in system
    client.agents.files.open(files[1], agent_id=agent.id)
    client.agents.messages.create(agent.id, input="hi")
    assert "1: Bees hum." in update_of(said)
    assert '<file status="closed" name="seen/birds.txt">' in update_of(said)
    assert "Parrots" not in update_of(said)
    client.folders.files.delete(files[1], folder_id=folder)
    client.agents.messages.create(agent.id, input="hi")
    assert "<directories>" in update_of(said)
    assert "bees" not in update_of(said)
    client.agents.folders.detach(folder, agent_id=agent.id)
    client.agents.messages.create(agent.id, input="hi")
    assert "No folders are attached any more." in update_of(said)


@pytest.mark.manifest("agent_files.upload_opens")
def test_a_file_that_comes_later_is_open_for_the_agents_of_its_folder(client: Letta, said: Said, new_agent: Make) -> None:
    folder = client.folders.create(name="later")
    agent = new_agent(folder_ids=[folder.id])
    uploaded(client, folder.id, "news.txt", b"It rains.")
    assert [one.is_open for one in client.agents.files.list(agent.id)] == [True]
    client.agents.messages.create(agent.id, input="hi")
    assert "1: It rains." in update_of(said)


@pytest.mark.manifest("file_tools.open_files")
def test_the_model_opens_windows_on_files(client: Letta, said: Said, new_agent: Make) -> None:
    folder, _ = folder_with(client, "windows", a=BIRDS, b="two", c="three")
    agent = new_agent(folder_ids=[folder], max_files_open=2)
    said_back = returned(
        client, said, agent.id, "open_files", file_requests=[{"file_name": "windows/a.txt", "offset": 1, "length": 1}]
    )
    assert said_back.startswith("* Opened windows/a.txt (lines 2-2)")
    assert "2: Owls see at night." in said_back, "the text stands in the return at once"
    assert "Ducks" not in said_back
    client.agents.messages.create(agent.id, input="hi")
    assert "[Viewing lines 2 to 2 (out of 3 lines)]\n2: Owls see at night." in update_of(said), "and to the next run"
    two = [{"file_name": "windows/b.txt"}, {"file_name": "windows/c.txt"}]
    said_back = returned(client, said, agent.id, "open_files", file_requests=two)
    assert "* Opened 2 files: windows/b.txt (lines 1-1), windows/c.txt (lines 1-1)" in said_back
    assert "least recently used: windows/a.txt" in said_back
    alone = returned(client, said, agent.id, "open_files", file_requests=two[:1], close_all_others=True)
    assert "Closed as you asked: windows/c.txt" in alone
    assert [one.file_name for one in client.agents.files.list(agent.id, is_open=True)] == ["windows/b.txt"]
    assert "At most 2 files" in returned(client, said, agent.id, "open_files", file_requests=[*two, *two])
    assert "There is no file x.txt" in returned(client, said, agent.id, "open_files", file_requests=[{"file_name": "x.txt"}])


@pytest.mark.manifest("file_tools.grep_files")
def test_the_model_finds_lines_by_a_pattern(client: Letta, said: Said, new_agent: Make) -> None:
    many = "\n".join(f"line {number} of owls" for number in range(30))
    folder, _ = folder_with(client, "grep", a=BIRDS, many=many)
    agent = new_agent(folder_ids=[folder])
    found = returned(client, said, agent.id, "grep_files", pattern="OWLS? see", context_lines=1)
    assert found.startswith("Found 1 total matches across 1 files (showing matches 1-1 of 1)\n" + "=" * 80)
    assert "=== grep/a.txt:2 ===\n  1: Parrots are green.\n> 2: Owls see at night.\n  3: Ducks can swim." in found
    first = returned(client, said, agent.id, "grep_files", pattern="owls", include="many*", context_lines=0)
    assert "(showing matches 1-20 of 30)" in first
    assert '"offset": 20' in first
    rest = returned(client, said, agent.id, "grep_files", pattern="owls", include="many*", offset=20)
    assert "(showing matches 21-30 of 30)" in rest
    assert "No matches found" in returned(client, said, agent.id, "grep_files", pattern="elephant")
    assert "no regular expression" in returned(client, said, agent.id, "grep_files", pattern="(")


@pytest.mark.manifest("file_tools.semantic_search_files")
@pytest.mark.deployed
def test_the_model_finds_passages_by_a_question(client: Letta, said: Said, new_agent: Make) -> None:
    folder, _ = folder_with(client, "search", birds=BIRDS, bees="Bees make honey in summer.")
    agent = new_agent(folder_ids=[folder])
    found = returned(client, said, agent.id, "semantic_search_files", query="honey", limit=3)
    assert "for query: 'honey'" in found.splitlines()[0]
    assert "=== search/bees.txt (passage #1) (score: " in found
    assert "Bees make honey in summer." in found
    assert "still being embedded" not in found
    ran = client.agents.tools.run(
        "open_files", agent_id=agent.id, args={"file_requests": [{"file_name": "birds.txt", "length": 1}]}
    )
    assert ran.status == "success"
    assert "[Viewing lines 1 to 1 (out of 3 lines)]" in {
        one.visible_content.splitlines()[0] for one in client.agents.files.list(agent.id).files
    }
    outside = client.folders.create(name="outside")
    uploaded(client, outside.id, "secret.txt", b"Honey of others.")
    assert "others" not in returned(client, said, agent.id, "semantic_search_files", query="honey")
