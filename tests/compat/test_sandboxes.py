"""The sandbox configuration, its variables, and the users and organisations of V1's administration."""

from __future__ import annotations

import httpx
import pytest
from letta_client import Letta

from tests.compat.conftest import Keyed, Make

SECRET = "planted-sandbox-hush"
READ = '''
def read_settings() -> str:
    """Read two settings."""
    import os

    return os.environ["REGION"] + " " + os.environ["TOKEN"]
'''


@pytest.mark.manifest(
    "sandbox.local.default", "sandbox.list", "sandbox.local.create", "sandbox.local.venv", "sandbox.create", "sandbox.update"
)
@pytest.mark.deployed
def test_a_tenant_has_one_configuration(http: httpx.Client) -> None:
    made = http.post("/v1/sandbox-config/local/default").json()
    assert (made["type"], made["config"]["use_venv"], made["config"]["pip_requirements"]) == ("local", False, [])
    assert http.get("/v1/sandbox-config/").json() == [made]
    again = http.post("/v1/sandbox-config/local", json={"sandbox_dir": "~/.letta", "use_venv": True}).json()
    assert (again["id"], again["config"]["use_venv"]) == (made["id"], True)
    assert http.post("/v1/sandbox-config/", json={"config": {"use_venv": False}}).json()["id"] == made["id"]
    changed = http.patch(f"/v1/sandbox-config/{made['id']}", json={"config": {"venv_name": "mine"}}).json()
    assert changed["config"]["venv_name"] == "mine"
    assert http.post("/v1/sandbox-config/local/recreate-venv").json() == changed
    refused = http.post("/v1/sandbox-config/local", json={"pip_requirements": [{"name": "requests"}]})
    assert (refused.status_code, "pip_requirements" in refused.json()["detail"]) == (400, True)
    assert http.post("/v1/sandbox-config/", json={"config": {"timeout": 300, "template": "x"}}).status_code == 422
    assert http.get("/v1/sandbox-config", params={"sandbox_type": "e2b"}).json() == []


@pytest.mark.manifest(
    "sandbox.variables.create",
    "sandbox.variables.list",
    "sandbox.variables.update",
    "sandbox.variables.delete",
    "sandbox.variables.precedence",
    "sandbox.delete",
)
@pytest.mark.deployed
def test_variables_reach_all_tools_under_those_of_the_agent(client: Letta, http: httpx.Client, new_agent: Make) -> None:
    config = http.post("/v1/sandbox-config/local/default").json()["id"]
    path = f"/v1/sandbox-config/{config}/environment-variable"
    region = http.post(path, json={"key": "REGION", "value": "north"}).json()
    token = http.post(path, json={"key": "TOKEN", "value": SECRET, "description": "Of all."}).json()
    assert (token["key"], token["value"], token["sandbox_config_id"]) == ("TOKEN", None, config)
    assert http.post(path, json={"key": "TOKEN", "value": "x"}).status_code == 409
    tool = client.tools.create(source_code=READ)
    agent = new_agent(tool_ids=[tool.id], secrets={"REGION": "south"})
    assert client.agents.tools.run("read_settings", agent_id=agent.id, args={}).func_return == f"south {SECRET}"
    assert [each["value"] for each in http.get(path).json()] == [None, None]
    assert [each["value"] for each in http.get(path, params={"include": "values"}).json()] == ["north", SECRET]
    renamed = http.patch(f"/v1/sandbox-config/environment-variable/{token['id']}", json={"key": "OTHER"}).json()
    assert (renamed["key"], renamed["id"], renamed["description"]) == ("OTHER", token["id"], "Of all.")
    assert http.get(path, params={"include": "values"}).json()[1]["value"] == SECRET, "a new name seals the value anew"
    assert http.delete(f"/v1/sandbox-config/environment-variable/{region['id']}").status_code == 204
    assert [each["key"] for each in http.get(path).json()] == ["OTHER"]
    assert http.delete(f"/v1/sandbox-config/{config}").status_code == 204
    assert [http.get(path).status_code, http.delete(f"/v1/sandbox-config/{config}").status_code] == [404, 404]


@pytest.mark.manifest("sandbox.variables.list")
def test_only_an_administrator_reads_values(keyed: Keyed) -> None:
    admin, writer = ({"authorization": f"Bearer {keyed.key(scope=scope)}"} for scope in ("admin", "write"))
    config = httpx.post(f"{keyed.url}/v1/sandbox-config/local/default", headers=writer, timeout=30).json()["id"]
    path = f"/v1/sandbox-config/{config}/environment-variable"
    httpx.post(f"{keyed.url}{path}", json={"key": "TOKEN", "value": SECRET}, headers=writer, timeout=30)
    read = [keyed.get(f"{path}?include=values", who).json()[0]["value"] for who in (writer, admin)]
    assert read == [None, SECRET]


@pytest.mark.manifest("admin.users.list", "admin.orgs.list")
def test_a_tenant_is_one_organisation_with_one_user(keyed: Keyed) -> None:
    admin, writer = ({"authorization": f"Bearer {keyed.key(scope=scope)}"} for scope in ("admin", "write"))
    (user,), (organization,) = keyed.get("/v1/admin/users/", admin).json(), keyed.get("/v1/admin/orgs/", admin).json()
    assert (user["organization_id"], organization["name"]) == (organization["id"], keyed.tenant)
    assert keyed.get(f"/v1/admin/users/?after={user['id']}", admin).json() == []
    assert keyed.get("/v1/admin/users/", writer).status_code == 403
