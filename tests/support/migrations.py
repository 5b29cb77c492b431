"""One migration in this process, and what must be on the target after it (`tests.support.v1_data`)."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpx2 import Client, MockTransport

from hibernaut.local.migrating.api import Api
from hibernaut.local.migrating.checks import MigrationCheck
from hibernaut.local.migrating.migration import Migration
from hibernaut.local.migrating.report import MigrationReport
from hibernaut.local.migrating.sources.http_source import RELATIONS, HttpSource
from hibernaut.local.migrating.sources.source import MigrationSource
from hibernaut.local.migrating.state import MigrationState
from hibernaut.local.migrating.target import Target
from hibernaut.local.progress import ProgressLines
from tests.support.v1_data import TURNS, Names
from tests.support.v1_server import V1Server


def no_pause(_seconds: float) -> None:
    """Repeats a request at once."""


def source_of(server: V1Server) -> HttpSource:
    client = Client(transport=MockTransport(server), base_url="http://old")
    return HttpSource(Api("http://old", name="the old server", client=client, pause=no_pause))


@dataclass
class Moved:
    """A finished migration."""

    report: MigrationReport
    differences: list[dict[str, Any]]

    @property
    def failed(self) -> bool:
        return self.report.failed(self.differences)

    def why(self, kind: str) -> set[str]:
        return {one["why"] for one in self.differences if one["kind"] == kind}


def moved(source: MigrationSource, target: Target, state: Path) -> Moved:
    """Run a migration with its check."""
    known = MigrationState(state, {"to": "here"})
    report = MigrationReport(known.note)
    try:
        Migration(source, target, known, report, ProgressLines(io.StringIO())).move()
        MigrationCheck(target, known, report).run()
    finally:
        for one in (known, source, target):
            one.close()
    return Moved(report, [*known.notes, *report.checked])


def target_at(url: str, client: Client | None = None) -> Target:
    return Target(Api(url, name="the new server", client=client, pause=no_pause), {})


def texts_of(agent: dict[str, Any]) -> list[tuple[str, str]]:
    """The rows of a log but its system message: roles, and texts or the ids of calls."""
    rows = []
    for row in agent["messages"][1:]:
        said = " ".join(part["text"] for part in row["content"] if part["type"] == "text")
        calls = " ".join(call["id"] for call in row["tool_calls"] or ()) or " ".join(
            one["tool_call_id"] for one in row["tool_returns"]
        )
        rows.append((row["role"], said if row["role"] in ("user", "assistant") else calls))
    return rows


def log_of_ada(names: Names) -> list[tuple[str, str]]:
    """What the log of the first agent says."""
    rows = []
    for turn in range(TURNS):
        question = "How are you?" if turn == 0 else f"Question {turn}"
        call = f"call_{names.seed}_{turn}"
        rows += [("user", question), ("assistant", f"I knock {turn}."), ("tool", call), ("assistant", f"Answer {turn}")]
    opened = f"call_{names.seed}_open"
    return [*rows, ("user", "Open it."), ("approval", opened), ("tool", opened), ("user", "Never mind.")]


def check_target(api: Client, names: Names, *, envelope: bool = False) -> None:
    """Everything of the small server is on the target, once, under its ids. `envelope`: texts keep V1's envelope."""

    def get(path: str, **query: Any) -> Any:
        reply = api.get(path, params=query)
        assert reply.status_code == 200, reply.text
        return reply.json()

    document = get(f"/v1/agents/{names.ada}/export", full_history=True)
    agent = document["agents"][0]
    said = texts_of(agent)
    if envelope:
        assert "How are you?" in said[0][1]
        said[0] = ("user", "How are you?")
    assert said == log_of_ada(names)
    assert (
        len(agent["in_context_message_ids"]) == 1 + 8 + 4
    )  # the system message, two turns, and what came after them with the return
    ada = get(f"/v1/agents/{names.ada}", include=RELATIONS)
    assert (ada["name"], ada["metadata"], sorted(ada["tags"]), ada["created_at"][:10]) == (
        "Ada",
        {"team": "one"},
        ["kept", "moved"],
        "2025-03-01",
    )
    assert {one["key"]: one["value"] for one in ada["secrets"]} == {"KEY": "value", "SEALED": ""}
    assert {one["id"] for one in ada["blocks"]} == {names.id("block", 1), names.id("block", 2)}
    assert {f"knock{names.seed}", "conversation_search", f"weather{names.seed}"} <= {one["name"] for one in ada["tools"]}
    assert ada["enable_sleeptime"] is True
    assert ada["managed_group"]["id"] == names.id("group", 1)
    assert get(f"/v1/groups/{names.id('group', 1)}")["agent_ids"] == [names.bea]
    assert sorted(one["id"] for one in get(f"/v1/blocks/{names.id('block', 2)}/agents")) == [names.ada, names.bea]
    assert get(f"/v1/blocks/{names.id('block', 3)}")["read_only"] is True
    identity = names.seed
    (ann,) = get("/v1/identities/", identifier_key=f"ann-{identity}")
    assert (ann["properties"][0]["value"], ann["agent_ids"], ann["block_ids"]) == (41, [names.ada], [names.id("block", 1)])
    passages = get(f"/v1/agents/{names.ada}/archival-memory", ascending=True)
    assert [(one["text"], sorted(one["tags"]), one["metadata"]["n"]) for one in passages] == [
        ("The key hangs behind the clock.", ["home"], 1),
        ("Ann likes tea.", ["ann", "home"], 2),
        ("The train leaves at nine.", [], 3),
    ]
    assert len(get(f"/v1/agents/{names.cy}/archival-memory")) == 3
    (file,) = get(f"/v1/folders/{names.id('source', 1)}/files", include_content=True)
    assert (file["id"], file["content"]) == (names.id("file", 1), "one\ntwo\n")
    (desk,) = get(f"/v1/agents/{names.ada}/files")["files"]
    assert (desk["file_id"], desk["is_open"]) == (names.id("file", 1), True)
    conversation = get(f"/v1/conversations/{names.id('conv', 1)}")
    assert (conversation["agent_id"], conversation["summary"]) == (names.ada, "beside")
    assert conversation["isolated_block_ids"] == [names.id("block", 4)]
    (beside,) = [
        one
        for one in get(f"/v1/agents/{names.ada}/export", conversation_id=conversation["id"], full_history=True)["agents"]
        if one["name"] == "Ada"
    ]
    assert texts_of(beside) == [("user", "Only here."), ("assistant", "I hear you here.")]
    cy = get(f"/v1/agents/{names.cy}/export", full_history=True)["agents"][0]
    assert texts_of(cy) == [("user", "A row of an early release")]
    assert len(get("/v1/tools/", name=f"unused{names.seed}")) == 1


def counts(api: Client) -> dict[str, int]:
    """How much there is on the target."""
    nouns = ("agents", "blocks", "tools", "folders", "groups", "identities")
    return {noun: api.get(f"/v1/{noun}/count").json() for noun in nouns}
