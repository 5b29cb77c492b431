"""The console's files over HTTP: addresses, caching, policy, and what is not there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from hibernaut.rest.access.origin_policy import OriginPolicy
from hibernaut.rest.app import create_app
from hibernaut.rest.pages import console_files
from hibernaut.schemas.access.api_key import CreateApiKey
from hibernaut.wiring.api_services import services_of
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.settings import EmbeddedSettings


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A server that has API keys."""
    with Embedded(EmbeddedSettings(tmp_path_factory.mktemp("data"))) as house:
        house.access.keys_of("default").create(CreateApiKey.model_validate({"scope": "admin"}))
        services = services_of(house.stores, house.host, house.engines)
        app = create_app(services, access=house.access, policy=OriginPolicy(hosts=("testserver",)))
        yield TestClient(app, follow_redirects=False)


@pytest.mark.parametrize(("path", "to"), [("/", "console/"), ("/console", "console/")])
def test_the_root_leads_to_the_console_by_a_relative_address(client: TestClient, path: str, to: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.headers["location"]) == (307, to)


def test_the_page_and_its_files_need_no_key_and_everything_else_does(client: TestClient) -> None:
    page = client.get("/console/")
    assert page.status_code == 200
    named = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert named
    assert {client.get(f"/console/{name}").status_code for name in named} == {200}
    assert {client.get(path).status_code for path in ("/v1/agents", "/docs", "/openapi.json", "/consoles", "/console2/x")} == {
        401
    }


def test_the_page_is_asked_for_each_time_and_a_file_is_kept_for_good(client: TestClient) -> None:
    page = client.get("/console/")
    again = client.get("/console/", headers={"if-none-match": f'"other", W/{page.headers["etag"]}'})
    assert (page.headers["cache-control"], again.status_code, again.content) == ("no-cache", 304, b"")
    file = client.get(f"/console/{console_files.digest()}/app/main.js")
    assert file.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert file.headers["content-type"] == "text/javascript; charset=utf-8"
    assert {page.headers["x-content-type-options"], file.headers["x-content-type-options"]} == {"nosniff"}


def test_the_policy_permits_no_inline_script_no_markup_and_no_other_site(client: TestClient) -> None:
    page = client.get("/console/")
    policy = dict(part.strip().partition(" ")[::2] for part in page.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "connect-src")} == {"'self'"}
    assert (policy["trusted-types"], policy["require-trusted-types-for"], policy["frame-ancestors"]) == (
        "'none'",
        "'script'",
        "'none'",
    )
    assert "unsafe" not in page.headers["content-security-policy"]
    assert re.findall(r"<script>|<style|\son\w+=|://(?!www\.w3\.org)", page.text) == []


@pytest.mark.parametrize(
    "path",
    [
        "app/main.js",
        "0000000000000000/app/main.js",
        "{digest}/index.html",
        "{digest}/../app.py",
        "{digest}/app/types.d.ts",
        "{digest}/",
    ],
)
def test_what_is_no_file_of_this_release_is_not_found(client: TestClient, path: str) -> None:
    answer = client.get(f"/console/{path.format(digest=console_files.digest())}")
    assert (answer.status_code, answer.headers["cache-control"]) == (404, "no-store")


def test_the_files_are_read_by_their_first_request_only() -> None:
    script = "import sys, hibernaut.rest.app; print('hibernaut.rest.pages.console_files' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
