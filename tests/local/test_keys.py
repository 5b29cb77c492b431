"""`hibernaut keys`: the keys of a data folder, without a server and beside one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from letta_client import AuthenticationError, Letta

from tests.local.test_command import administered, ended, run, serving, sorry


def keys(data: Path, *arguments: str) -> str:
    done = administered("keys", *arguments, "--data-dir", str(data))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def new_key(data: Path, *arguments: str) -> str:
    return keys(data, "create", *(arguments or ("--scope", "admin"))).splitlines()[-1]


def status(url: str, key: str) -> int:
    return httpx.get(f"{url}/v1/agents", headers={"authorization": f"Bearer {key}"}, timeout=30).status_code


def test_the_key_alone_is_the_last_line(tmp_path: Path) -> None:
    key = new_key(tmp_path, "--scope", "write", "--tenant", "acme", "--name", "ci")
    assert key.startswith("hib_")
    assert " " not in key
    line = keys(tmp_path, "list", "--tenant", "acme")
    assert "write  usable  last used never  ci" in line
    assert key not in line
    assert keys(tmp_path, "list") == "The tenant default has no keys.\n"


def test_json_has_all_of_a_key(tmp_path: Path) -> None:
    made = json.loads(keys(tmp_path, "create", "--scope", "read", "--agent-tag", "support", "--expires", "12h", "--json"))
    assert (made["scope"], made["agent_tags"], made["tenant"]) == ("read", ["support"], "default")
    assert made["key"].startswith(made["hint"])
    (listed,) = json.loads(keys(tmp_path, "list", "--json"))
    assert listed == {name: value for name, value in made.items() if name != "key"}
    assert json.loads(keys(tmp_path, "revoke", made["id"], "--json")) == {"tenant": "default", "key_id": made["id"], "revoked": 1}
    assert json.loads(keys(tmp_path, "revoke", "--all", "--json")) == {"tenant": "default", "key_id": None, "revoked": 0}


def test_a_server_with_a_key_answers_the_sdk_with_it_and_401_without(tmp_path: Path) -> None:
    key = new_key(tmp_path)
    with serving(tmp_path) as (process, url, _):
        with Letta(base_url=url, api_key=key, max_retries=0) as client:
            agent = client.agents.create(memory_blocks=[])
            assert client.agents.messages.create(agent.id, input="hi").messages
        with Letta(base_url=url, api_key="any", max_retries=0) as client, pytest.raises(AuthenticationError) as refusal:
            client.agents.list()
        assert refusal.value.body == {"detail": "Unauthorized"}
        assert httpx.get(f"{url}/v1/health").status_code == 200
        ended(process)


def test_keys_are_made_rotated_and_revoked_beside_a_server(tmp_path: Path) -> None:
    first = new_key(tmp_path)
    with serving(tmp_path) as (process, url, _):
        assert status(url, first) == 200
        other = json.loads(keys(tmp_path, "create", "--scope", "read", "--tenant", "acme", "--json"))
        assert status(url, other["key"]) == 200
        successor = keys(tmp_path, "rotate", other["id"], "--tenant", "acme", "--grace", "0s").splitlines()[-1]
        assert status(url, successor) == 200
        found = {each["id"]: each for each in json.loads(keys(tmp_path, "list", "--tenant", "acme", "--json"))}
        assert found[other["id"]]["expires_at"] is not None
        assert found[other["id"]]["replaced_by"] in found
        assert "Revoked 1 keys" in keys(tmp_path, "revoke", "--all", "--tenant", "acme")
        ended(process)
    with serving(tmp_path) as (process, url, _):  # a process that remembers nothing
        assert [status(url, key) for key in (first, other["key"], successor)] == [200, 401, 401]
        ended(process)


def test_no_file_of_the_folder_and_no_line_of_the_log_contains_a_key(tmp_path: Path) -> None:
    key = new_key(tmp_path)
    with serving(tmp_path) as (process, url, _):
        assert status(url, key) == 200
        assert httpx.get(f"{url}/v1/agents?token={key}").status_code == 400
        assert httpx.get(f"{url}/v1/agents/{key}", headers={"x-api-key": key}).status_code == 422
        process.terminate()
        printed = "".join(process.communicate(timeout=60))
    secret = key.split("_")[1]
    assert secret not in printed
    assert " key=key-" in printed
    with closing(sqlite3.connect(tmp_path / "hibernaut.db")) as table:
        table.execute("PRAGMA wal_checkpoint")
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


def test_a_host_that_others_reach_needs_a_key(tmp_path: Path) -> None:
    done = run("dev", "--host", "0.0.0.0", "--port", "0", "--data-dir", str(tmp_path))
    assert done.returncode == 2
    assert "no usable API key" in sorry(done)
    key = new_key(tmp_path)
    with serving(tmp_path, more=["--host", "0.0.0.0"]) as (process, url, _):
        here = url.replace("0.0.0.0", "127.0.0.1")
        assert [status(here, key), status(here, "any")] == [200, 401]
        ended(process)
    (made,) = json.loads(keys(tmp_path, "list", "--json"))
    keys(tmp_path, "revoke", made["id"])
    assert run("dev", "--host", "0.0.0.0", "--port", "0", "--data-dir", str(tmp_path)).returncode == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("create", "--scope", "admin", "--tenant", "No Name"), "cannot name a tenant"),
        (("create", "--scope", "admin", "--client"), "cannot be restricted"),
        (("create", "--scope", "read", "--client"), "needs agent_ids"),
        (("create", "--scope", "read", "--agent", "x"), "match pattern"),
        (("create", "--scope", "read", "--expires", "2020-01-01"), "in the future"),
        (("create", "--scope", "read", "--expires", "soon"), "neither a duration"),
        (("create", "--scope", "root"), "invalid choice"),
        (("create",), "--scope"),
        (("rotate", "key-00000000-0000-4000-8000-000000000000"), "not found"),
        (("revoke", "key-00000000-0000-4000-8000-000000000000"), "not found"),
        (("revoke",), "required"),
    ],
)
def test_what_cannot_be_done_is_one_line(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    done = administered("keys", *arguments, "--data-dir", str(tmp_path))
    assert done.returncode in (1, 2)
    assert says in sorry(done)


def test_a_key_of_another_master_key_is_refused_by_name(tmp_path: Path) -> None:
    new_key(tmp_path)
    (tmp_path / "secrets.key").write_text("0" * 64)
    assert "another master key" in sorry(administered("keys", "create", "--scope", "read", "--data-dir", str(tmp_path)))
