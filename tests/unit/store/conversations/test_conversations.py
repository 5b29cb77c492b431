"""What a warm worker keeps of windows: bounded by their size in memory, not by the number of their messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from hibernaut.schemas.content import Base64Image, ImageContent, TextContent
from hibernaut.schemas.messages.message import Message
from hibernaut.store.conversations import conversations
from hibernaut.store.conversations.conversations import LoadedConversation
from tests.support.house import house_in


def row(number: int, agent_id: str, **more: object) -> Message:
    at = "2026-01-01T00:00:00Z"
    fields = {"id": f"message-{number}", "role": "user", "agent_id": agent_id, "created_at": at, **more}
    return Message.model_validate(fields)


@pytest.mark.parametrize(
    ("large", "still_kept"),
    [
        ({"content": [TextContent(text="hello")], "tokens": 3}, True),
        ({"content": [TextContent(text="hello " * 40_000)], "tokens": 40_000}, False),
        ({"content": [ImageContent(source=Base64Image(media_type="image/png", data="A" * 200_000))], "tokens": 3}, False),
    ],
)
def test_a_large_window_drives_out_what_was_kept_before(
    large: dict[str, object], still_kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "CACHED_BYTES", 150_000)
    with house_in(tmp_path) as house:
        kept = house.stores.conversations
        first, second = house.agent(name="first"), house.agent(name="second")
        for agent, fields in ((first, {"tokens": 3}), (second, large)):
            head = kept.head(agent.id)
            assert head is not None
            kept.keep(LoadedConversation(head, (row(1, agent.id, **fields),)))
        assert (kept._cache.get(first.id) is not None) is still_kept
        assert kept._cache.get(second.id) is not None


def test_a_turn_counts_only_the_rows_that_it_appends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    count = conversations._bytes

    def counting(one: Message) -> int:
        counted.append(one.id)
        return count(one)

    monkeypatch.setattr(conversations, "_bytes", counting)
    with house_in(tmp_path) as house:
        kept = house.stores.conversations
        agent = house.agent(name="first")
        loaded = kept.load(agent.id)
        assert loaded is not None
        rows = [row(number, agent.id, tokens=3) for number in range(50)]
        kept.keep(LoadedConversation(loaded.head, (*loaded.messages, *rows)))
        counted.clear()
        again = kept.load(agent.id)
        assert again is not None
        kept.appended(again.head, again.head, [row(60, agent.id, tokens=3), row(61, agent.id, tokens=4)])
        assert counted == ["message-60", "message-61"]
        counted.clear()
        system = loaded.messages[0]
        now = kept._cache.get(agent.id)
        assert now is not None
        kept.appended(now.head, now.head, [], system.model_copy(update={"tokens": 1_000}))
        assert counted == [system.id] * 2, "the new one, and the one that goes"
        now = kept._cache.get(agent.id)
        assert now is not None
        assert now.size == sum(map(count, now.messages))
