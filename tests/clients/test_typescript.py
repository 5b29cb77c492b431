"""The TypeScript SDK talks to the server: small programs as its users write them, run by Node, on both profiles.

`make engines` fetches the SDK, pinned by the lock beside the programs. Where there is no Node the tests are skipped; where it is,
they run.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.clients.node_programs import PATIENCE, modules_of, ran
from tests.compat.conftest import HANDLE, calls
from tests.support.provider_servers import ScriptedOpenAI
from tools.engines import TYPESCRIPT_CLIENT

PROGRAMS = Path(__file__).parent / "typescript"
STORY = "Once upon a time there was a kettle that nobody had ever put on a fire, and it was content."


@pytest.fixture(scope="module", autouse=True)
def sdk() -> Path:
    return modules_of(TYPESCRIPT_CLIENT)


def test_it_talks_to_an_agent(sdk: Path, url: str, provider: ScriptedOpenAI, tmp_path: Path) -> None:
    script = [calls(("memory_insert", {"label": "human", "new_string": "Likes tea."}), content="Noting."), {"content": "Noted."}]
    provider.script = lambda *_: script.pop(0) if len(script) > 1 else script[0]
    told = ran(PROGRAMS / "steps.mjs", sdk, tmp_path, url, HANDLE)
    assert [event["message_type"] for event in told["events"]] == [
        "ping",
        "assistant_message",
        "tool_call_message",
        "tool_return_message",
        "assistant_message",
        "stop_reason",
        "usage_statistics",
    ]
    assert told["events"][4]["content"] == told["answer"]["messages"][0]["content"] == "Noted."
    assert told["answer"]["stop_reason"]["stop_reason"] == "end_turn"
    assert told["listed"][0] == "system_message"
    assert told["listed"].count("user_message") == 2
    assert told["runs"] == ["completed", "completed"]
    assert told["steps"] == [told["events"][4]["step_id"], told["events"][1]["step_id"]]
    assert told["human"].strip() == "Likes tea."
    assert told["missing"] == 404


def test_it_resumes_a_stream_of_tokens_where_it_left_off(sdk: Path, url: str, provider: ScriptedOpenAI, tmp_path: Path) -> None:
    go_on = threading.Semaphore(0)

    def before(piece: int) -> None:
        """The model stops after its first words until they have been heard."""
        if piece == 2:
            assert go_on.acquire(timeout=PATIENCE)

    provider.says(content=STORY, before=before)
    told = ran(PROGRAMS / "resume.mjs", sdk, tmp_path, url, HANDLE, heard=go_on.release)
    cut, rest, uncut = (shown(told[name]) for name in ("before", "after", "uncut"))
    assert cut[-1]["message_type"] == "assistant_message"
    assert STORY.startswith(cut[-1]["content"])
    assert cut + rest == uncut
    numbers = [event["seq_id"] for event in uncut if "seq_id" in event]
    assert numbers == list(range(2, 2 + len(numbers)))
    assert shown(told["foreground"]) == shown(told["again"])
    for stream in (uncut, shown(told["foreground"])):
        pieces = [event["content"] for event in stream if event["message_type"] == "assistant_message"]
        assert len(pieces) > 1
        assert "".join(pieces) == STORY
        assert [event["message_type"] for event in stream[-2:]] == ["stop_reason", "usage_statistics"]
    assert [message["content"] for message in told["whole"]] == ["Tell me a story", STORY]
    assert {event["id"] for event in uncut if "content" in event} == {told["whole"][1]["id"]}


def shown(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events but for pings, which come whenever it is quiet."""
    return [event for event in events if event["message_type"] != "ping"]


def test_it_applies_a_fleet_as_lettactl_does(sdk: Path, url: str, tmp_path: Path) -> None:
    """A second application finds what the first one has made, and changes it."""
    told = ran(PROGRAMS / "fleet.mjs", sdk, tmp_path, url, HANDLE)
    assert (told["servers"], told["left"]) == (0, [0, 0])
    names = ["fleet-researcher", "fleet-writer"]
    common = {
        "tags": ["fleet"],
        "tools": ["fleet_greeting"],
        "rules": "Be kind.",
        "hashes": {"fleet-papers": {"parrots.txt": "1"}},
        "files": ["parrots.txt"],
        "talks": ["first"],
    }
    passages = (["A note.", "Another note."], [])
    for moment, system, end in ((told["made"], "You help.", ""), (told["again"], "You help a lot.", "!")):
        assert moment == [
            {"name": name, "system": system, "notes": f"Of {name}{end}", "passages": kept, **common}
            for name, kept in zip(names, passages, strict=True)
        ]
