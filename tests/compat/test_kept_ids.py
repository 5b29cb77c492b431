"""What a migration relies on: imports that keep ids, and records whose ids the caller chooses, may be repeated."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from letta_client import Letta

from hibernaut.schemas.ids import as_of
from tests.support.agent_file_parts import block, file_of, message, talked

pytestmark = pytest.mark.deployed

AT = "2025-03-01T08:00:00Z"


def identifier(kind: str, number: int) -> str:
    return f"{kind}-0000c0de-{number:04x}-4000-8000-{number:012x}"


def document() -> dict[str, Any]:
    rows = [message(1, "user", "Hello."), message(2, "assistant", "Hello, Ann.")]
    made = talked(*rows, block_ids=[identifier("block", 1)], created_at=AT)
    return file_of({**made, "id": identifier("agent", 1)}, blocks=[{**block(0, "human"), "id": identifier("block", 1)}])


@pytest.mark.manifest("agents.import.keep_ids", "archives.chosen_ids", "groups.create.id")
def test_what_has_an_id_of_the_caller_is_created_once(client: Letta, http: httpx.Client) -> None:
    def post(path: str, body: Any) -> Any:
        reply = http.post(path, json=body)
        assert reply.status_code == 200, reply.text
        return reply.json()

    agent_id, archive_id, group_id = (identifier(kind, 1) for kind in ("agent", "archive", "group"))
    passage_id = as_of(identifier("passage", 1), datetime(2025, 3, 1, 8, tzinfo=UTC))
    passages = {"passages": [{"id": passage_id, "created_at": AT, "text": "The key hangs behind the clock."}]}
    for times in range(2):
        done = post("/v1/agents/import", {"file": document(), "keep_ids": True, "append_copy_suffix": False})
        assert done["agent_ids"] == [agent_id]
        assert [note["code"] for note in done["notes"] if note["code"] == "agent_exists"] == ["agent_exists"] * times
        assert post("/v1/archives/", {"id": archive_id, "name": f"shelf {times}"})["name"] == "shelf 0"
        assert [one["id"] for one in post(f"/v1/archives/{archive_id}/passages/batch", passages)] == [passage_id]
        assert post("/v1/groups/", {"id": group_id, "agent_ids": [agent_id], "description": str(times)})["description"] == "0"
    said = [one for one in client.agents.messages.list(agent_id) if one.message_type in ("user_message", "assistant_message")]
    assert [one.content for one in said] == ["Hello.", "Hello, Ann."]
    assert client.agents.retrieve(agent_id, include=["agent.blocks"]).blocks[0].id == identifier("block", 1)
    client.archives.passages.delete(passage_id, archive_id=archive_id)
    assert post(f"/v1/archives/{archive_id}/passages/batch", passages) == []
    assert post("/v1/agents/import", {"file": {"agents": []}, "keep_ids": True})["agent_ids"] == []
