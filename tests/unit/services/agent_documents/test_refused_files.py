"""A file that cannot be imported is refused with its reason, and nothing of it is written."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from hibernaut.ports.storage.table import Key
from hibernaut.rest.queries import agent_file_bodies
from hibernaut.rest.queries.agent_file_bodies import options_of, read_agent_file
from hibernaut.schemas.agents.agent_file import AnnounceAgentFile
from hibernaut.schemas.errors import InvalidArgument, NotFound, NotImplementedHere, PayloadTooLarge
from tests.support.agent_documents import documents, imported
from tests.support.agent_file_parts import agent, block, file_of, message, talked
from tests.support.world import World

FILES: dict[str, tuple[Callable[[], Any], str]] = {
    "a list": (list, "not a list"),
    "a number": (lambda: 7, "not the number 7"),
    "an object of something else": (lambda: {"hello": 1}, "no list `agents`"),
    "no agents": (lambda: file_of(), "`agents` is empty"),
    "a million agents": (lambda: {"agents": [{}] * 1_000_000}, "1000000 agents, and at most 100"),
    "an agent that is a text": (lambda: {"agents": ["Ada"]}, "agents[0] is an object, not the text 'Ada'"),
    "a list that is a text": (lambda: file_of(agent(), tools="knock"), "`tools` is a list, not the text 'knock'"),
    "two agents of one id": (lambda: file_of(agent(), agent()), "Two entries of `agents`"),
    "two blocks of one id": (lambda: file_of(agent(), blocks=[block(0, "a"), block(0, "b")]), "Two entries of `blocks`"),
    "two messages of one id": (lambda: file_of(talked(message(1, "user", "a"), message(1, "user", "b"))), "Two messages"),
    "messages that are a text": (lambda: file_of(agent(messages="hi")), "`messages` of agent-0"),
    "an id that is a number": (lambda: file_of(agent(id=3)), "agents[0].id is a text"),
    "a block that is too large": (lambda: file_of(agent(), blocks=[block(0, "a", "x" * 1_000_001)]), "at most 1000000"),
    "metadata that is too large": (lambda: file_of(agent(metadata={"a": "x" * 70_000})), "agent-0.metadata"),
    "a system text that is no text": (lambda: file_of(agent(system=["no"])), "agent-0.system"),
}


@pytest.mark.parametrize("what", FILES)
def test_a_file_that_is_no_agent_file_is_refused_with_its_reason(what: str, world: World) -> None:
    make, reason = FILES[what]
    with pytest.raises(InvalidArgument, match=r"^Corrupted agent file format\.") as refused:
        imported(world, make())
    assert reason in refused.value.detail
    assert len(refused.value.detail) < 500
    assert is_empty(world)


def test_a_handle_or_a_name_of_the_request_that_is_not_possible_is_refused(world: World) -> None:
    with pytest.raises(NotFound, match="Handle nobody/x not found"):
        imported(world, file_of(agent()), model="nobody/x")
    with pytest.raises(NotFound, match="nobody/y"):
        imported(world, file_of(agent()), embedding="nobody/y")
    with pytest.raises(InvalidArgument, match="invalid characters"):
        imported(world, file_of(agent()), name="a/b")
    assert is_empty(world)


@pytest.mark.parametrize(
    "data", [b"", b"{", b'{"agents": [', b"\x89PNG\r\n", b"nope", b'"\\ud800"', b'{"a": NaN}', json.dumps("{").encode()]
)
def test_bytes_that_are_no_json_are_refused_with_the_place(data: bytes) -> None:
    with pytest.raises(InvalidArgument, match=r"^Corrupted agent file format\."):
        read_agent_file(data)


def test_a_text_within_a_text_is_read_and_told_as_repaired() -> None:
    document = {"agents": []}
    assert read_agent_file(json.dumps(document).encode()) == (document, False)
    assert read_agent_file(b"\xef\xbb\xbf" + json.dumps(json.dumps(document)).encode()) == (document, True)
    deep: Any = document
    for _ in range(5):
        deep = json.dumps(deep)
    with pytest.raises(InvalidArgument, match="JSON text, not an object"):
        read_agent_file(deep.encode())


def test_a_file_of_too_many_values_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_file_bodies, "MOST_VALUES", 100)
    with pytest.raises(PayloadTooLarge, match="at most 100"):
        read_agent_file(b"[" * 101)


def test_the_memory_of_an_import_grows_with_the_bytes_of_its_file(world: World) -> None:
    def used(messages: int) -> tuple[int, int]:
        text = "A sentence about nothing. " * 40
        rows = [message(number, "user" if number % 2 else "assistant", text) for number in range(1, messages)]
        data = json.dumps(file_of(talked(*rows))).encode()
        del rows
        tracemalloc.start()
        imported(world, read_agent_file(data)[0], strip_messages=False)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak, len(data)

    used(2)
    peak, size = used(1_000)
    assert peak < 8 * size, f"{peak / size:.1f} times the file"


def test_options_have_older_names_and_secrets_are_json() -> None:
    options = options_of(
        {
            "override_name": "Old",
            "override_model_handle": "a/b",
            "override_embedding_handle": "c/d",
            "env_vars_json": '{"K": "v"}',
        }
    )
    assert (options.name, options.model, options.embedding, options.secrets) == ("Old", "a/b", "c/d", {"K": "v"})
    assert options_of({"override_name": "Old", "name": "New", "strip_messages": "true"}).name == "New"
    assert options_of({"strip_messages": "true", "override_existing_tools": "false", "append_copy_suffix": ""}).strip_messages
    for bad in ({"secrets": "nope"}, {"secrets": "[]"}, {"secrets": '{"a": 1}'}, {"strip_messages": "perhaps"}):
        with pytest.raises(InvalidArgument):
            options_of(bad)


def test_at_home_a_file_is_not_announced_and_the_text_says_where_it_goes(world: World) -> None:
    with pytest.raises(NotImplementedHere, match="sent to POST /v1/agents/import here"):
        documents(world).announce(AnnounceAgentFile(file_size=5))


def is_empty(world: World) -> bool:
    lists = (world.stores.agents.listed(), world.stores.blocks.listed(), world.stores.folders.listed())
    due = world.all_stores.due.all()
    return not any(one.count() for one in lists) and due == list[Key]()
