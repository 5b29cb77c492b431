"""A secret's value is nowhere but where it is sealed, and where somebody with the right asks for it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from hibernaut.ports.storage.cipher import NO_CIPHER
from hibernaut.ports.storage.table import Key, Update
from hibernaut.schemas.agents.agent import StoredAgent, UpdateAgent
from hibernaut.schemas.agents.agent_file import ExportAgentRequest
from hibernaut.schemas.errors import NotImplementedHere
from hibernaut.schemas.faults.secret_errors import SecretUnreadable
from hibernaut.services.agents.agent_states import LOADED, SECRET_VALUES
from hibernaut.store.stores import Stores
from hibernaut.store.table import keys
from tests.support.house import TENANT, House, house_in
from tests.support.scripted_model import calls, in_turn, says
from tests.support.world import World, data_in

PLANTED = "planted-7f3a-hush"
LATER = "planted-later-7f3a-hush"


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for file in folder.rglob("*"):
        if file.is_file():
            yield file, file.read_bytes()


def test_no_file_log_version_export_or_reply_has_a_secrets_value(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with house_in(tmp_path) as house:
        agent = house.agent(secrets={"KEY": PLANTED}, include_base_tools=False)
        house.services.agents.updates.update(agent.id, UpdateAgent(name="Ada"))
        house.services.agents.updates.update(agent.id, UpdateAgent(secrets={"KEY": LATER, "OTHER": PLANTED}))
        exported = house.services.agent_documents.export(agent.id, ExportAgentRequest(full_history=True)).model_dump_json()
        copied = json.loads(exported)
        copied["agents"][0]["secrets"] = {"KEY": PLANTED}
        (imported,) = house.services.agent_documents.import_(copied).agent_ids
        shown = [house.services.agents.states.of_one(house.stored(each)) for each in (agent.id, imported)]
        told = exported + "".join(state.model_dump_json() for state in shown)
        assert house.stores.secrets.values(imported, house.stored(imported).secrets) == {"KEY": PLANTED, "OTHER": ""}
    assert "hush" not in told + caplog.text
    assert [file for file, data in contents(tmp_path) if b"-hush" in data] == []


def test_who_may_read_secrets_gets_their_values(house: House) -> None:
    agent = house.stored(house.agent(secrets={"KEY": PLANTED, "EMPTY": ""}).id)
    state = house.services.agents.states.of_one(agent, LOADED | {SECRET_VALUES})
    assert [(one.key, one.value, one.value_enc) for one in state.secrets] == [("KEY", PLANTED, None), ("EMPTY", "", None)]
    hidden = house.services.agents.states.of_one(agent)
    assert [(one.key, one.value, one.value_enc) for one in hidden.secrets] == [("KEY", None, None), ("EMPTY", None, None)]


def test_a_tool_gets_the_values(tmp_path: Path) -> None:
    script = in_turn(calls(("ring", {"x": "a"})), says("Done."))
    world = World(data_in(tmp_path, script))
    agent_id, seen = world.make_agent(tools=("ring",)), list[str]()
    give(world, agent_id, {"KEY": PLANTED})
    plain = world.runner.does

    def looks(job):  # type: ignore[no-untyped-def]
        seen.append(job.environment["KEY"])
        return plain(job)

    world.runner.does = looks
    world.send(agent_id, "Ring.")
    assert seen == [PLANTED]
    assert not any(PLANTED.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def give(world: World, agent_id: str, values: dict[str, str]) -> None:
    from hibernaut.services.agents.agent_parts import new_secrets
    from hibernaut.services.records import records_over

    records = records_over(world.stores, world.clock, world.ids)
    made = new_secrets(records, agent_id, values, [], world.clock.now())
    records.change_agent(agent_id, lambda agent: (agent.model_copy(update={"secrets": made}), ()), None)


def plant_as_before(world: World, agent_id: str) -> None:
    """Store a secret in the form of a release without seals."""
    give(world, agent_id, {"KEY": "x"})
    agent = stored(world, agent_id)
    agent.secrets[0].value, agent.secrets[0].value_enc = PLANTED, None
    key = keys.agent(TENANT, agent_id)
    world.data.table.write(Update(Key(*key), set={"body": agent.model_dump_json()}))


def stored(world: World, agent_id: str) -> StoredAgent:
    agent = world.stores.agents.get(agent_id)
    assert agent is not None
    return agent


def test_a_value_of_an_older_release_is_read_and_sealed_by_the_next_change(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(says("Hi."))))
    agent_id = world.make_agent()
    plant_as_before(world, agent_id)
    before = stored(world, agent_id)
    assert world.stores.secrets.values(agent_id, before.secrets) == {"KEY": PLANTED}
    after = before.model_copy(update={"name": "Grace"})
    world.stores.writer.write(*world.stores.agents.change(before, after, "token"), token="token")
    now = stored(world, agent_id)
    assert (now.secrets[0].value, now.secrets[0].id) == ("", before.secrets[0].id)
    assert world.stores.secrets.values(agent_id, now.secrets) == {"KEY": PLANTED}


def test_a_process_without_a_key_changes_an_older_agent_and_stores_no_new_secret(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(says("Hi."))))
    agent_id = world.make_agent()
    plant_as_before(world, agent_id)
    keyless = Stores(world.data.table, world.data.blobs, world.clock, cipher=NO_CIPHER).of(TENANT)
    before = stored(world, agent_id)
    keyless.writer.write(*keyless.agents.change(before, before.model_copy(update={"name": "Grace"}), "token"), token="token")
    assert stored(world, agent_id).secrets[0].value == PLANTED
    fresh = [secret.model_copy(update={"value": LATER}) for secret in stored(world, agent_id).secrets]
    with pytest.raises(NotImplementedHere):
        keyless.agents.change(before, before.model_copy(update={"secrets": fresh}), "token")


def test_a_sealed_value_opens_for_its_own_agent_tenant_and_name_only(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(says("Hi."))))
    agent_id = world.make_agent()
    give(world, agent_id, {"KEY": PLANTED})
    (secret,) = stored(world, agent_id).secrets
    other = world.all_stores.of("other").secrets
    for vault, owner, name in (
        (world.stores.secrets, "agent-2", "KEY"),
        (other, agent_id, "KEY"),
        (world.stores.secrets, agent_id, "K"),
    ):
        with pytest.raises(SecretUnreadable):
            vault.value(owner, secret.model_copy(update={"key": name}))


def test_a_tool_whose_secret_cannot_be_opened_is_not_started_and_the_model_reads_why(tmp_path: Path) -> None:
    world = World(data_in(tmp_path, in_turn(calls(("ring", {"x": "a"})), says("Done."))))
    agent_id = world.make_agent(tools=("ring",))
    give(world, agent_id, {"KEY": PLANTED})
    (tmp_path / "secrets.key").write_text("ab" * 32)
    later = World(data_in(tmp_path, in_turn(calls(("ring", {"x": "a"})), says("Done."))))
    later.send(agent_id, "Ring.")
    returned = [each.func_response for row in later.log(agent_id) for each in row.tool_returns]
    assert "SECRET_UNREADABLE: The value of the secret KEY" in returned[0]
    assert later.runner.effects == []
