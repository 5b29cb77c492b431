"""How a migration reads: pages, busy servers, messages as V1 shows them; and what it remembers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Client, MockTransport, Request, Response

from hibernaut.domain.agent_files.notes import ImportNotes
from hibernaut.local.migrating.agent_moves import newest_part
from hibernaut.local.migrating.api import Api, RequestRefused
from hibernaut.local.migrating.digests import log_digest
from hibernaut.local.migrating.letta_messages import rows_of
from hibernaut.local.migrating.sources import http_source
from hibernaut.local.migrating.sources.source import SourceLog
from hibernaut.local.migrating.state import MigrationState
from hibernaut.local.migrating.target import LARGEST_BODY
from hibernaut.local.profiles import CannotServe
from tests.support.json_server import JsonServer
from tests.support.migrations import source_of, target_at
from tests.support.v1_server import V1Server


def everything(server: V1Server) -> Any:
    """All that a source says."""
    source = source_of(server)
    agents = list(source.agents())
    logs = [source.log(one) for one in agents]
    archives = list(source.archives())
    return (
        agents,
        logs,
        [list(source.conversations(one)) for one in agents],
        [list(one) for one in (source.tools(), source.blocks(), source.folders(), source.identities(), source.groups())],
        [list(source.files(str(one["id"]))) for one in source.folders()],
        archives,
        [list(source.passages(one)) for one in archives],
    )


@pytest.mark.parametrize("size", [1, 3])
def test_lists_are_read_to_their_end_whatever_their_pages(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = everything(V1Server(1))
    for name in ("ROWS", "AGENTS", "FILES", "PASSAGES"):
        monkeypatch.setattr(http_source, name, size)
    assert everything(V1Server(1)) == whole


def test_the_window_is_read_as_it_is_stored_and_the_rest_as_it_is_shown() -> None:
    source = source_of(server := V1Server(1))
    ada = next(one for one in source.agents() if one.id == server.names.ada)
    stored = {row["id"]: row for row in server.rows["messages"]}
    for row in source.log(ada).messages:
        whole = stored[row["id"]]
        assert row["role"] == whole["role"]
        assert [one["id"] for one in row.get("tool_calls") or ()] == [one["id"] for one in whole["tool_calls"] or ()]
        if row["id"] in ada.entry["message_ids"]:
            assert (row["content"], row["created_at"]) == (whole["content"], whole["created_at"].isoformat())


def test_an_agent_whose_name_v1_does_not_export_is_read_from_its_messages() -> None:
    server = V1Server(1)
    (ada,) = [one for one in server.rows["agents"] if one["name"] == "Ada"]
    ada["name"] = "Ada (old)"
    source = source_of(server)
    (agent,) = [one for one in source.agents() if one.id == ada["id"]]
    assert len(source.log(agent).messages) == 28


def test_a_server_that_does_not_list_hidden_agents_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    server = V1Server(1)
    monkeypatch.setattr(
        server, "_answer", lambda path, query, asked=server._answer: asked(path, {**query, "show_hidden_agents": "false"})
    )
    source = source_of(server)
    assert [one.name for one in source.agents()] == ["Ada", "Ada-sleeptime"]
    assert [note.why for note in source.notes] == [
        "It counts 3 agents and lists 2: this server does not list hidden agents. Its database has them."
    ]


def test_a_list_whose_cursor_is_lost_ends() -> None:
    """V1 begins its list of agents again if the cursor's agent was deleted meanwhile."""

    def begins_again(_request: Request) -> Response:
        return Response(200, json=[{"id": "a"}, {"id": "b"}])

    with Client(base_url="http://old", transport=MockTransport(begins_again)) as client:
        api = Api("http://old", name="the old server", client=client)
        assert [one["id"] for one in api.each("/v1/agents/", size=2)] == ["a", "b"]


def answering(*replies: Response, pauses: list[float]) -> Api:
    waiting = list(replies)
    client = Client(base_url="http://old", transport=MockTransport(lambda _request: waiting.pop(0)))
    return Api("http://old", name="the old server", client=client, pause=pauses.append)


def test_a_busy_server_is_asked_again_when_it_says() -> None:
    pauses: list[float] = []
    api = answering(Response(503), Response(429, headers={"retry-after": "7"}), Response(200, json=1), pauses=pauses)
    assert (api.get("/"), pauses) == (1, [0.5, 7.0])
    api = answering(*[Response(503, json={"detail": "full"})] * 4, pauses=pauses)
    with pytest.raises(CannotServe, match="the old server http://old answers 503: full"):
        api.get("/")
    api = answering(*[Response(409, json={"detail": "taken"})] * 4, pauses=pauses)
    with pytest.raises(RequestRefused, match="409: taken"):
        api.get("/")


@pytest.mark.parametrize(
    ("reply", "kind", "told"),
    [
        (Response(401, json={"detail": "Unauthorized"}), CannotServe, "answers 401: Unauthorized; give its key"),
        (Response(200, content=b"<html>"), CannotServe, "does not answer in JSON"),
        (Response(500, content=b"x"), RequestRefused, "500: Internal Server Error"),
    ],
)
def test_other_replies_are_told_at_once(reply: Response, kind: type[Exception], told: str) -> None:
    pauses: list[float] = []
    with pytest.raises(kind, match=told):
        answering(reply, pauses=pauses).get("/")
    assert pauses == []


def test_a_password_in_an_address_is_shown_nowhere() -> None:
    with Client(base_url="http://old", transport=MockTransport(lambda _request: Response(401))) as client:
        api = Api("http://ann:secret@old:8283/", name="the old server", client=client)
        with pytest.raises(CannotServe, match="the old server http://old:8283 answers 401"):
            api.get("/")


def test_messages_of_one_row_become_one_row() -> None:
    common = {"id": "message-1", "date": "2025-03-01T08:00:00+00:00"}
    call = {"name": "knock", "arguments": "{}", "tool_call_id": "c1"}
    shown: list[dict[str, Any]] = [
        {**common, "message_type": "reasoning_message", "source": "reasoner_model", "reasoning": "Hm.", "signature": "s"},
        {**common, "message_type": "hidden_reasoning_message", "state": "redacted", "hidden_reasoning": "x"},
        {**common, "message_type": "hidden_reasoning_message", "state": "omitted"},
        {**common, "message_type": "assistant_message", "content": "I knock."},
        {**common, "message_type": "tool_call_message", "tool_call": call},
        {
            "id": "message-2",
            "message_type": "tool_return_message",
            "tool_call_id": "c1",
            "status": "success",
            "tool_return": "ok",
        },
        {"id": "message-3", "message_type": "event_message", "event_type": "compaction", "event_data": {}},
        {"id": "message-4", "message_type": "summary_message", "summary": "They knocked."},
        {"id": "message-5", "message_type": "user_message", "content": [{"type": "text", "text": "Hi"}]},
        {"id": "message-6", "message_type": "approval_request_message", "tool_calls": [call]},
        {
            "id": "message-7",
            "message_type": "approval_response_message",
            "approve": False,
            "approval_request_id": "message-6",
            "reason": "no",
        },
    ]
    rows = rows_of(shown)
    assert [(row["id"], row["role"]) for row in rows] == [
        ("message-1", "assistant"), ("message-2", "tool"), ("message-4", "summary"), ("message-5", "user"), ("message-6", "approval"), ("message-7", "approval"),
    ]  # fmt: skip
    assert [part["type"] for part in rows[0]["content"]] == ["reasoning", "redacted_reasoning", "omitted_reasoning", "text"]
    assert rows[0]["tool_calls"] == [{"id": "c1", "type": "function", "function": {"name": "knock", "arguments": "{}"}}]
    notes = ImportNotes()
    assert len(log_digest(rows, [], notes).rows) == 7
    assert [note.code for note in notes.all()] == ["call_without_return"]


def test_a_state_file_that_was_cut_off_is_continued(tmp_path: Path) -> None:
    file, about = tmp_path / "state", {"from": "a", "to": "b"}
    state = MigrationState(file, about)
    state.add("agents", "agent-1", rows=3)
    state.note({"kind": "left_out", "record": "x", "why": "y"})
    state.close()
    with file.open("a") as broken:
        broken.write('{"kind": "agents", "id": "age')
    for _ in range(2):
        state = MigrationState(file, about)
        assert state.moved("agents", "agent-1") == {"rows": 3}
        state.add("agents", "agent-2", rows=4)
        state.note({"kind": "left_out", "record": "x", "why": "y"})
        state.close()
    state = MigrationState(file, about)
    assert len(state.of_kind("agents")) == 2
    state.close()
    lines = [json.loads(line) for line in file.read_text().splitlines() if line.startswith('{"note"')]
    assert len(lines) == 1


def test_a_large_document_goes_into_the_bucket_where_there_is_one() -> None:
    """Digest: docs/agent-files.md. The ticket has the address and the headers of the upload; the import names it."""
    put: list[tuple[str, bytes]] = []
    imports: list[Any] = []

    def bucket(path: str, headers: Any, data: bytes) -> tuple[int, Any]:
        put.append((headers["x-amz-meta"], data))
        return 200, b""

    with JsonServer(bucket) as stored:

        def api(request: Request) -> Response:
            body = json.loads(request.content)
            if request.url.path.endswith("/upload-url"):
                assert body["file_size"] > LARGEST_BODY
                ticket = {"method": "PUT", "url": f"{stored.address}/key?signature=a%2Fb", "headers": {"x-amz-meta": "1"}}
                return Response(200, json={"upload_id": "import-1", "upload": ticket})
            imports.append(body)
            return Response(200, json={"agent_ids": [], "notes": []})

        with Client(base_url="http://new", transport=MockTransport(api)) as client:
            assert target_at("http://new", client).load({"blocks": [{"id": "b", "value": "x" * LARGEST_BODY}]}) == []
    ((header, data),) = put
    assert (header, len(json.loads(data)["blocks"][0]["value"])) == ("1", LARGEST_BODY)
    assert [(one["upload_id"], one["keep_ids"], "file" in one) for one in imports] == [("import-1", True, False)]


def test_a_large_document_goes_as_a_request_where_there_are_no_uploads(new_server: Client) -> None:
    text = "word " * (LARGEST_BODY // 5 + 1)
    folder, file = "source-000000aa-0001-4000-8000-000000000001", "file-000000aa-0001-4000-8000-000000000001"
    target = target_at(str(new_server.base_url))
    document = {
        "sources": [{"id": folder, "name": "large"}],
        "files": [{"id": file, "source_id": folder, "file_name": "a.txt", "content": text}],
    }
    try:
        assert target.load(document) == []
        assert [one["content"] == text for one in target.files(folder)] == [True]
    finally:
        target.close()


def test_of_a_log_that_is_too_large_the_newest_messages_are_moved_from_a_users_message_on() -> None:
    rows = [{"id": "m0", "role": "system", "content": "s"}]
    rows += [{"id": f"m{number}", "role": role, "content": "x" * 100} for number, role in enumerate(("user", "assistant") * 5, 1)]
    log = SourceLog(rows, ["m0", "m8", "m9", "m10"])
    size = len(json.dumps(rows[1]))
    part = newest_part(log, 4 * size)
    assert [one["id"] for one in part.messages] == ["m0", "m9", "m10"]
    assert part.in_context == ["m0", "m9", "m10"]
    assert newest_part(log, 100 * size) is log
