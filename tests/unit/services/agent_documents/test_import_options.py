"""The options of an import, and what becomes of tools, folders and secrets that exist."""

from __future__ import annotations

from typing import Any

from tests.support.agent_documents import exported, imported
from tests.support.agent_file_parts import agent, block, file_of, message, talked, tool
from tests.support.agent_file_shapes import SHAPES, SKILLS
from tests.support.world import World


def only(world: World, document: Any, **options: Any) -> Any:
    (agent_id,) = imported(world, document, **options).agent_ids
    return world.stores.agents.get(agent_id)


def test_a_name_gets_a_suffix_unless_it_is_given(world: World) -> None:
    assert only(world, file_of(agent())).name == "Ada_copy"
    assert only(world, file_of(agent()), append_copy_suffix=False).name == "Ada"
    assert only(world, file_of(agent()), name="Eve").name == "Eve"
    assert only(world, file_of(agent(name=None))).name.endswith("_copy")


def test_handles_of_the_request_replace_those_of_the_file(world: World) -> None:
    found = only(world, file_of(agent(llm_config={"handle": "test/own", "model": "own", "context_window": 12_345})))
    assert (found.llm_config.handle, found.llm_config.context_window) == ("test/own", 12_345)
    found = only(world, file_of(agent(llm_config={"handle": "test/own", "context_window": 12_345})), model="test/other")
    assert (found.llm_config.handle, found.llm_config.context_window) == ("test/other", 100_000)


def test_the_address_of_a_model_is_that_of_this_server(world: World) -> None:
    config = {
        "handle": "test/own",
        "model": "evil",
        "model_endpoint": "https://elsewhere.invalid",
        "model_endpoint_type": "anthropic",
    }
    found = only(world, file_of(agent(llm_config=config))).llm_config
    assert (found.model, found.model_endpoint, found.model_endpoint_type) == ("own", None, "openai")


def test_secrets_of_the_request_fill_and_add_to_those_of_the_file(world: World) -> None:
    document = file_of(agent(secrets={"KEY": "", "KEPT": "x"}, tool_exec_environment_variables={"OLD": ""}))
    found = only(world, document, secrets={"KEY": "k", "MORE": "m"})
    assert world.stores.secrets.values(found.id, found.secrets) == {"OLD": "", "KEY": "k", "KEPT": "x", "MORE": "m"}
    written = exported(world, found.id)["agents"][0]
    assert written["secrets"] == {"OLD": "", "KEY": "", "KEPT": "", "MORE": ""} == written["tool_exec_environment_variables"]


def test_messages_are_stripped_on_request(world: World) -> None:
    found = only(world, file_of(talked(message(1, "user", "Hi"))), strip_messages=True)
    assert [row.role for row in world.log(found.id)] == ["system"]


def test_an_existing_tool_is_overwritten_or_kept(world: World) -> None:
    document = file_of(agent(tool_ids=["tool-0"]), tools=[tool(0, "knock")])
    first = only(world, document)
    other = {**tool(0, "knock"), "source_code": 'def knock(door: str):\n    """Other."""\n'}
    changed = imported(world, file_of(agent(tool_ids=["tool-0"]), tools=[other]), override_existing_tools=False)
    kept = world.stores.tools.get(first.tool_ids[0])
    assert kept is not None
    assert "Other" not in str(kept.source_code)
    assert "stays as it is" in next(note.detail for note in changed.notes if note.code == "tool_exists")
    second = only(world, file_of(agent(tool_ids=["tool-0"]), tools=[other]))
    assert second.tool_ids == first.tool_ids
    assert "Other" in str(world.stores.tools.get(first.tool_ids[0]).source_code)


def test_a_builtin_tool_is_never_overwritten(world: World) -> None:
    found = only(world, file_of(agent(tool_ids=["tool-0"]), tools=[tool(0, "web_search")]))
    (there,) = world.stores.tools.get_many(found.tool_ids).values()
    assert there.tool_type == "letta_builtin"


def test_a_folder_whose_name_is_taken_gets_another(world: World) -> None:
    document = file_of(agent(source_ids=["source-0"]), sources=[{"id": "source-0", "name": "papers"}])
    one, two = only(world, document), only(world, document)
    names = [world.stores.folders.get(found.source_ids[0]).name for found in (one, two)]
    assert names == ["papers", f"papers_{two.source_ids[0][-8:]}"]
    assert len(two.tool_ids) == 3, "the file tools"


def test_skills_are_kept_and_the_request_adds_some(world: World) -> None:
    found = only(world, file_of(agent(), skills=[*SKILLS, {"name": "empty"}]))
    assert [one["name"] for one in exported(world, found.id)["skills"]] == ["skill-0", "skill-1", "skill-2", "skill-3"]
    more = exported(world, found.id, skills=[{"name": "skill-2", "source_url": "https://example.org/x"}])["skills"]
    assert [(one["name"], one["source_url"]) for one in more][:2] == [("skill-2", "https://example.org/x"), ("skill-0", None)]
    assert len(more) == 4


def test_blocks_that_stand_within_the_agent_are_made(world: World) -> None:
    inline = [{"label": "human", "value": "Ann"}]
    found = only(world, file_of(agent(block_ids=["block-0"], memory_blocks=inline), blocks=[block(0, "persona")]))
    assert sorted(str(one.label) for one in world.stores.blocks.get_many(found.block_ids).values()) == ["human", "persona"]


def test_the_system_message_is_compiled_from_the_imported_memory(world: World) -> None:
    found = only(
        world, file_of(talked(message(1, "user", "Hi"), block_ids=["block-0"]), blocks=[block(0, "human", "Ann of Oslo")])
    )
    loaded = world.stores.conversations.load(found.id)
    assert loaded is not None
    assert "Ann of Oslo" in loaded.messages[0].text()
    assert "as of then" not in loaded.messages[0].text()
    world.send(found.id, "Hello?")
    assert "Ann of Oslo" in str(world.models.requests[-1].system)


def test_deleting_an_imported_agent_leaves_nothing_of_it(world: World) -> None:
    from hibernaut.wiring.api_services import services_over

    found = only(world, file_of(talked(message(1, "user", "Hi")), skills=SKILLS))
    services_over(world.stores, world.host, world.chain).agents.delete(found.id)
    assert world.stores.imports.skills(found.id).skills == []
    assert world.log(found.id) == []


def test_an_agent_and_its_sleeper_are_a_pair_again(world: World) -> None:
    main, sleeper = imported(world, SHAPES["an agent with a sleeper"]()).agent_ids
    agent_of_it = world.stores.agents.get(main)
    assert agent_of_it is not None
    assert agent_of_it.enable_sleeptime
    group = world.stores.groups.get(str(agent_of_it.managed_group_id))
    assert group is not None
    assert (group.agent_ids, group.manager_agent_id, group.sleeptime_agent_frequency) == ([sleeper], main, 5)
    world.send(main, "Hello?")
    told = world.stores.groups.get(group.id)
    assert told is not None
    assert (told.turns, told.last_processed_message_id is not None) == (1, True), "its first turn was told"
    written = exported(world, main)
    assert [one["id"] for one in written["agents"]] == ["agent-0", "agent-1"]
    assert written["groups"][0]["manager_config"]["manager_agent_id"] == "agent-0"
    assert [one["enable_sleeptime"] for one in written["agents"]] == [False, False]


def test_a_group_whose_agents_are_not_in_the_file_is_left_out(world: World) -> None:
    dynamic = {"manager_type": "dynamic", "manager_agent_id": "agent-0"}
    groups = [
        {"id": "group-0", "agent_ids": ["agent-9"]},
        {
            "id": "group-1",
            "agent_ids": ["agent-1"],
            "manager_config": {"manager_type": "supervisor", "manager_agent_id": "agent-9"},
        },
        {"id": "group-2", "agent_ids": ["agent-1"], "manager_config": {"manager_type": "of tomorrow"}},
        {"id": "group-3", "agent_ids": ["agent-1", "agent-2"], "manager_config": dynamic},
        {"id": "group-4", "agent_ids": ["agent-1", "agent-2"], "description": "kept"},
    ]
    agents = [agent(id=f"agent-{number}") for number in range(3)]
    result = imported(world, file_of(*agents, groups=groups))
    assert {note.code: note.count for note in result.notes}["group"] == 4
    (kept,) = world.stores.groups.get_many([str(row["sk"]) for row in world.stores.groups.listed().all()]).values()
    assert (kept.description, kept.agent_ids, kept.manager_type) == ("kept", result.agent_ids[1:], "round_robin")
