"""WebSockets at the local server itself: what its time limits of requests do not concern, a client that does not read, and the
example of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from hibernaut.local.server import Patience
from hibernaut.wiring.embedded import Embedded
from hibernaut.wiring.settings import EmbeddedSettings
from tests.support.web_sockets import LONGEST, conversing, served_on_loopback

USUAL = Patience()
PAGE = Path(__file__).parents[2] / "docs" / "websockets.md"


@contextmanager
def served(data: Path, patience: Patience = USUAL) -> Iterator[str]:
    with Embedded(EmbeddedSettings(data)) as house, served_on_loopback(house, patience=patience) as url:
        yield url


def test_the_time_for_a_request_does_not_end_a_connection(tmp_path: Path) -> None:
    with served(tmp_path, Patience(head=0.05, body=0.05)) as url, conversing(url) as client:
        with pytest.raises(TimeoutError):
            client.connection.recv(0.3)
        assert client.ask("ping")["type"] == "pong"


def test_a_stop_of_the_server_tells_its_connections(tmp_path: Path) -> None:
    serving = ExitStack()
    url = serving.enter_context(served(tmp_path))
    with conversing(url) as client:
        serving.close()
        with pytest.raises(ConnectionClosed) as closed:
            client.connection.recv(LONGEST)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1012


def test_a_binary_message_ends_the_connection(tmp_path: Path) -> None:
    with served(tmp_path) as url, conversing(url) as client:
        client.connection.send(b"\x00")
        with pytest.raises(ConnectionClosed) as closed:
            client.connection.recv(LONGEST)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1003


def test_a_refused_connection_is_logged_as_that_and_as_no_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"), served(tmp_path) as url:
        with pytest.raises(InvalidStatus) as refusal, conversing(url, origin="https://evil.test"):
            pass
        assert refusal.value.response.status_code == 403
        with conversing(url) as client:  # by then the task of the refused connection has ended
            assert client.ask("ping")["type"] == "pong"
    lines = [(one.levelname, one.getMessage(), vars(one).get("error")) for one in caplog.records if "socket" in one.name]
    assert lines[0] == ("INFO", "socket refused", "foreign_origin")
    assert {level for level, _, _ in lines} == {"INFO"}


def test_another_path_has_no_web_socket(tmp_path: Path) -> None:
    with served(tmp_path) as url:
        headers = {
            "connection": "Upgrade",
            "upgrade": "websocket",
            "sec-websocket-version": "13",
            "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
        }
        assert httpx.get(f"{url}/v1/agents", headers=headers).status_code == 404
        assert httpx.get(f"{url}/v1/ws").status_code == 404


def test_the_example_of_the_page_prints_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    with served(tmp_path) as url:
        agent_id = httpx.post(f"{url}/v1/agents", json={}).json()["id"]
        exec(example, {"url": url.replace("http", "ws") + "/v1/ws", "key": "none", "agent_id": agent_id})
    assert "demo model" in capsys.readouterr().out
