"""What our own files have beside V1's: archives with passages, further conversations, identities."""

from __future__ import annotations

from typing import Any

import pytest

from hibernaut.schemas.errors import InvalidArgument
from hibernaut.store.table.lists.logs import IdRange
from tests.support.agent_documents import exported, imported, lasting
from tests.support.agent_file_parts import agent, block, file_of, message, talked
from tests.support.world import World

AT = "2026-01-0{}T00:00:00.000000Z"


def passage(number: int, text: str, **fields: Any) -> dict[str, Any]:
    return {"text": text, "tags": None, "metadata": {}, "created_at": AT.format(number), **fields}


def extension() -> dict[str, Any]:
    rows = [message(number, "user" if number % 2 else "assistant", f"beside {number}") for number in range(50, 60)]
    beside = {"summary": "beside", "created_at": AT.format(2), "messages": rows, "in_context_message_ids": [rows[-1]["id"]]}
    private = {"block_id": "block-0", "block": block(9, "human", "private")}
    shared = {
        "id": "archive-0",
        "name": "shared",
        "passages": [passage(1, "one", tags=["a"]), passage(1, "two"), passage(3, "three")],
    }
    return {
        "archives": [shared, {"id": "archive-1", "name": "own", "passages": []}],
        "identities": [{"id": "identity-0", "identifier_key": "ann", "name": "Ann", "identity_type": "user", "properties": []}],
        "agents": {
            "agent-0": {
                "archive_ids": ["archive-1", "archive-0"],
                "identity_ids": ["identity-0"],
                "conversations": [{**beside, "isolated_blocks": [private]}, {"summary": "empty", "archived": True}],
            },
            "agent-1": {"archive_ids": ["archive-0"]},
        },
    }


def document() -> dict[str, Any]:
    first = talked(message(1, "user", "hello"), message(2, "assistant", "hi"), block_ids=["block-0"])
    made = file_of(first, agent(id="agent-1", name="Second"), blocks=[block(0, "human")])
    return {**made, "hibernaut": extension()}


def test_archives_conversations_and_identities_are_imported(world: World) -> None:
    first, second = imported(world, document()).agent_ids
    stores = world.stores
    own, shared = stores.archives.open_of_agent(first)
    assert ([own.name, shared.name], stores.archives.of_agent(second)) == (["own", "shared"], [shared.id])
    told = stores.passages.page(shared.id, IdRange(), limit=10)
    assert [(one.text, one.tags, one.created_at.day) for one in told] == [("one", ["a"], 1), ("two", None, 1), ("three", None, 3)]
    assert (stores.archives.totals(first).count, stores.archives.totals(first).tags) == (3, ("a",))
    (identity,) = stores.identities.get_many(stores.identities.with_keys(["ann"])).values()
    found = stores.agents.get(first)
    assert found is not None
    assert found.identity_ids == [identity.id]
    records = stores.conversation_records.get_many(stores.conversation_records.ids(first))
    beside, empty = records.values()
    assert (beside.summary, beside.created_at.day, empty.archived) == ("beside", 2, True)
    assert [row.text() for row in stores.conversations.page(beside.id)][1:] == [f"beside {number}" for number in range(50, 60)]
    loaded = stores.conversations.load(beside.id)
    assert loaded is not None
    assert [row.text() for row in loaded.messages[1:]] == ["beside 59"]
    assert "private" in loaded.messages[0].text()
    assert "private" not in world.log(first)[0].text()


def test_an_export_has_them_with_the_whole_history_and_where_they_are_asked_for(world: World) -> None:
    (first, _) = imported(world, document(), append_copy_suffix=False).agent_ids
    whole = exported(world, first, full_history=True)["hibernaut"]
    given = extension()
    assert {one["identifier_key"] for one in whole["identities"]} == {"ann"}
    assert [one["name"] for one in whole["archives"]] == ["own", "shared"]
    assert [one["text"] for one in whole["archives"][1]["passages"]] == ["one", "two", "three"]
    beside = whole["agents"]["agent-0"]["conversations"][0]
    assert [one["content"][0]["text"] for one in beside["messages"][1:]] == [f"beside {number}" for number in range(50, 60)]
    assert (
        beside["isolated_blocks"][0]["block"]["value"]
        == given["agents"]["agent-0"]["conversations"][0]["isolated_blocks"][0]["block"]["value"]
    )
    assert (
        exported(world, first)["hibernaut"] == exported(world, first, full_history=True, scrub_messages=True)["hibernaut"] == {}
    )
    assert set(exported(world, first, passages=True)["hibernaut"]) == {"archives", "agents"}
    assert set(exported(world, first, full_history=True, passages=False, conversations=False)["hibernaut"]) == {
        "identities",
        "agents",
    }


def test_what_is_exported_is_imported_and_exported_the_same(world: World) -> None:
    (first, _) = imported(world, document(), append_copy_suffix=False).agent_ids
    once = exported(world, first, full_history=True)
    (again,) = imported(world, once, append_copy_suffix=False).agent_ids
    twice = exported(world, again, full_history=True)
    assert lasting(twice) == lasting(exported(world, first, full_history=True))


def test_a_known_identity_stays_and_is_told(world: World) -> None:
    imported(world, document())
    result = imported(world, document())
    assert [(note.kind, note.code) for note in result.notes if note.code == "identity_exists"] == [
        ("replaced", "identity_exists")
    ]
    assert len(world.stores.identities.with_keys(["ann"])) == 1


def test_without_messages_no_conversation_is_imported(world: World) -> None:
    (first, _) = imported(world, document(), strip_messages=True).agent_ids
    assert world.stores.conversation_records.ids(first) == []
    assert world.stores.archives.totals(first).count == 3


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ([], "`hibernaut` is an object, not a list"),
        ({"archives": {}}, "`hibernaut.archives` is a list"),
        ({"archives": [{"id": "a"}, {"id": "a"}]}, "hibernaut.archives[1].id"),
        ({"archives": [{"id": "a", "passages": ["x"]}]}, "a.passages[0] is an object, not the text 'x'"),
        ({"agents": [1]}, "`hibernaut.agents` is an object of objects"),
        ({"agents": {"agent-0": {"conversations": [{"messages": [1]}]}}}, "not the number 1"),
        ({"agents": {"agent-0": {"identity_ids": ["i"]}}, "identities": [{"id": "i", "name": "x"}]}, "i.identifier_key"),
    ],
)
def test_an_extension_of_another_form_is_refused_before_anything_is_written(wrong: Any, reason: str, world: World) -> None:
    with pytest.raises(InvalidArgument, match="Corrupted agent file") as refused:
        imported(world, {**document(), "hibernaut": wrong})
    assert reason in refused.value.detail
    assert not world.stores.agents.listed().count()


def test_passages_that_cannot_be_stored_are_told_and_references_to_nothing_left_out(world: World) -> None:
    given = document()
    given["hibernaut"]["archives"][0]["passages"] += [{"text": ""}, {"text": 5}]
    given["hibernaut"]["agents"]["agent-0"]["archive_ids"].append("archive-9")
    given["hibernaut"]["agents"]["agent-9"] = {"identity_ids": ["identity-0"]}
    result = imported(world, given)
    assert [(note.code, note.count) for note in result.notes if note.code == "passage"] == [("passage", 2)]
    assert world.stores.archives.totals(result.agent_ids[0]).count == 3
