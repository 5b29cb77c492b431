"""The port `Web`: one post, one status, and nothing else of the answer."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from hibernaut.adapters.addresses import PUBLIC, THIS_MACHINE, AddressPolicy, is_public
from hibernaut.adapters.web.http import HttpWeb
from hibernaut.ports.tools.web import NO_WEB, WebFailure, WebPage

NAMED = AddressPolicy(hosts=frozenset({"callback.test"}))


@contextmanager
def trickling() -> Iterator[str]:
    """Another side that answers a byte at a time, without end."""
    over = threading.Event()

    def answers(to: socket.socket) -> None:
        with to, suppress(OSError):
            to.sendall(b"HTTP/1.1 200 OK\r\nx: ")
            while not over.wait(0.01):
                to.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=lambda: answers(listener.accept()[0]))
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        over.set()
        thread.join()


@dataclass
class Other:
    """The other side. `hangs`: it takes the request and says nothing until the test is over."""

    status: int = 200
    hangs: bool = False
    body: bytes = b""
    leads_to: str | None = None
    encoding: str = ""
    heard: list[tuple[str, str, Any]] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    url: str = ""


@contextmanager
def listening(other: Other) -> Iterator[Other]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            other.hosts.append(self.headers["host"])
            other.heard.append((self.path, self.headers["content-type"], body))
            if other.hangs:
                other.over.wait()
                return
            self.send_response(other.status)
            self.send_header("location", other.url + "/elsewhere")
            self.send_header("content-length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            other.heard.append((self.path, self.headers["accept"], None))
            at = int(self.path.removeprefix("/hop/")) if self.path.startswith("/hop/") else 0
            self.send_response(302 if at else other.status)
            self.send_header("content-type", "text/plain")
            if other.encoding:
                self.send_header("content-encoding", other.encoding)
            self.send_header("location", f"/hop/{at - 1}" if other.leads_to is None else other.leads_to)
            self.send_header("content-length", str(len(other.body)))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(other.body)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        other.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield other
        finally:
            other.over.set()
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("host", ["a..b", "x" * 70])
def test_what_is_no_name_of_a_host_is_no_connection(host: str) -> None:
    with pytest.raises(WebFailure, match="no connection"):
        HttpWeb().post(f"http://{host}/", {}, seconds=5)


def test_an_answer_that_never_ends_is_none() -> None:
    with trickling() as url, pytest.raises(WebFailure, match="no answer within"):
        HttpWeb().post(url, {}, seconds=0.1)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_who_calls_strangers_only_sends_nothing_to_this_machine(host: str) -> None:
    with listening(Other()) as other, pytest.raises(WebFailure):
        HttpWeb(PUBLIC).post(other.url.replace("127.0.0.1", host), {}, seconds=5)
    assert other.heard == []


def test_nobody_hears_from_a_refusal_which_ports_of_this_network_are_open() -> None:
    def reason(url: str) -> str:
        with pytest.raises(WebFailure) as failure:
            HttpWeb(PUBLIC).post(url, {}, seconds=5)
        return str(failure.value)

    with listening(Other()) as other, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        urls = [other.url, f"http://127.0.0.1:{closed.getsockname()[1]}", "http://[::1]:2/", "http://a..b/"]
        assert {reason(url) for url in urls} == {"no answer from a public address within 5 seconds"}
    assert other.heard == []


def test_a_name_is_looked_up_once_and_the_connection_goes_to_the_address_that_was_checked() -> None:
    asked: list[tuple[str, int]] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return ["127.0.0.1"] if len(asked) == 1 else ["10.0.0.1"]

    with listening(Other()) as other:
        port = int(other.url.rpartition(":")[2])
        web = HttpWeb(NAMED, resolve=resolve)
        assert web.post(f"http://callback.test:{port}/done", {}, seconds=5) == 200
    assert asked == [("callback.test", port)]
    assert other.hosts == [f"callback.test:{port}"]


def test_a_name_that_stands_for_any_address_of_this_network_is_refused() -> None:
    web = HttpWeb(THIS_MACHINE, resolve=lambda *_: ["127.0.0.1", "10.0.0.1"])
    with listening(Other()) as other, pytest.raises(WebFailure):
        web.post(other.url.replace("127.0.0.1", "callback.test"), {}, seconds=5)
    assert other.heard == []


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "192.0.0.170",
        "192.88.99.1",
        "198.18.0.1",
        "224.0.0.251",
        "239.1.2.3",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:93.184.215.14",
        "fd00::1",
        "fe80::1",
        "fe80::1%lo",
        "2606:2800:21f::1%lo",
        "fec0::1",
        "ff02::1",
        "ff0e::1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a00:1",
        "100::1",
        "2001::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "3fff::1",
        "5f00::1",
    ],
)
def test_what_lies_in_ones_own_network_or_leads_there_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["93.184.215.14", "1.1.1.1", "223.255.255.254", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "2a00:1450:4001::1"]
)
def test_what_anybody_can_reach_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("status", [204, 500, 307])
def test_a_post_gives_the_status_whatever_it_is_and_follows_nothing(status: int) -> None:
    with listening(Other(status)) as other:
        assert HttpWeb().post(other.url + "/done?x=1", {"run": "é"}, seconds=5) == status
    assert other.heard == [("/done?x=1", "application/json", {"run": "é"})]


def test_who_does_not_answer_in_time_is_a_failure() -> None:
    with listening(Other(hangs=True)) as other, pytest.raises(WebFailure, match=r"no answer within 0\.05 seconds"):
        HttpWeb().post(other.url, {}, seconds=0.05)


def test_who_is_not_there_is_a_failure() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(WebFailure, match="no connection"):
            HttpWeb().post(f"http://127.0.0.1:{free.getsockname()[1]}", {}, seconds=5)


@pytest.mark.parametrize("url", ["http://exa mple", "http://[::1", "ftp://127.0.0.1/x", "http://127.0.0.1:99999/", "http://\x00"])
def test_what_is_no_address_is_a_failure(url: str) -> None:
    with pytest.raises(WebFailure):
        HttpWeb().post(url, {}, seconds=1)


def test_where_nothing_is_connected_every_post_fails() -> None:
    with pytest.raises(WebFailure):
        NO_WEB.post("http://127.0.0.1", {}, seconds=1)


def test_a_page_is_read_over_a_few_redirects() -> None:
    with listening(Other(body=b"text")) as other:
        page = HttpWeb(pages=THIS_MACHINE).page(other.url + "/hop/5", seconds=5, most=100)
        assert (page.status, page.content_type, page.data, page.url) == (200, "text/plain", b"text", other.url + "/hop/0")
        with pytest.raises(WebFailure, match="more than 5 redirects"):
            HttpWeb(pages=THIS_MACHINE).page(other.url + "/hop/6", seconds=5, most=100)


def test_no_more_of_a_page_is_read_than_was_asked_for() -> None:
    with listening(Other(body=b"x" * 1_000_000)) as other:
        assert HttpWeb(pages=THIS_MACHINE).page(other.url, seconds=5, most=1000).data == b"x" * 1000


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("web", [HttpWeb(), HttpWeb(PUBLIC)])
def test_a_page_of_this_machine_is_never_read(web: HttpWeb, host: str) -> None:
    with listening(Other()) as other, pytest.raises(WebFailure, match="no answer from a public address"):
        web.page(other.url.replace("127.0.0.1", host), seconds=5, most=100)
    assert other.heard == []


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:text/plain,x", "//127.0.0.1/"])
def test_other_schemes_are_not_read_nor_led_to(address: str) -> None:
    with pytest.raises(WebFailure):
        HttpWeb(pages=THIS_MACHINE).page(address, seconds=1, most=100)
    with listening(Other(leads_to=address)) as other, pytest.raises(WebFailure):
        HttpWeb(pages=THIS_MACHINE).page(other.url + "/hop/1", seconds=5, most=100)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_compressed_page_is_unpacked_as_far_as_was_asked_for(encoding: str) -> None:
    bomb = (gzip if encoding == "gzip" else zlib).compress(b"x" * 50_000_000)
    with listening(Other(body=bomb, encoding=encoding)) as other:
        page = HttpWeb(pages=THIS_MACHINE).page(other.url, seconds=5, most=1000)
        assert (page.data, page.truncated) == (b"x" * 1000, True)
    with listening(Other(body=gzip.compress(b"text"), encoding="gzip")) as other:
        assert HttpWeb(pages=THIS_MACHINE).page(other.url, seconds=5, most=4) == WebPage(200, "text/plain", b"text", other.url)


@pytest.mark.parametrize(("encoding", "why"), [("br", "compressed by br"), ("gzip", "damaged")])
def test_what_cannot_be_unpacked_is_no_page(encoding: str, why: str) -> None:
    with listening(Other(body=b"not compressed", encoding=encoding)) as other, pytest.raises(WebFailure, match=why):
        HttpWeb(pages=THIS_MACHINE).page(other.url, seconds=5, most=1000)


def test_a_question_is_asked_once_and_follows_nothing() -> None:
    with listening(Other(body=b"{}")) as other:
        page = HttpWeb().ask(other.url + "/find", None, {"x-api-key": "k"}, seconds=5, most=100)
        assert (page.status, page.data, len(other.heard)) == (200, b"{}", 1)
        assert HttpWeb().ask(other.url + "/hop/2", None, {}, seconds=5, most=100).status == 302
        assert HttpWeb().ask(other.url, {"a": 1}, {}, seconds=5, most=100).status == 200
        assert other.heard[-1] == ("/", "application/json", {"a": 1})


def test_a_page_that_never_ends_is_none() -> None:
    with trickling() as url, pytest.raises(WebFailure, match="no answer within"):
        HttpWeb(pages=THIS_MACHINE).page(url, seconds=0.1, most=100)


def test_where_nothing_is_connected_no_page_is_read() -> None:
    with pytest.raises(WebFailure):
        NO_WEB.page("http://127.0.0.1", seconds=1, most=1)


@pytest.mark.parametrize("status", [204, 302, 500])
def test_a_delivery_sends_its_bytes_and_headers_and_gives_the_status(status: int) -> None:
    with listening(Other(status)) as other:
        headers = {"content-type": "application/json", "webhook-id": "evt-1"}
        assert HttpWeb().deliver(other.url + "/hook", b'{"a": 1}', headers, seconds=5) == status
    assert other.heard == [("/hook", "application/json", {"a": 1})]


def test_a_delivery_goes_to_no_private_address_and_keeps_its_name_where_it_is_allowed() -> None:
    with listening(Other()) as other:
        with pytest.raises(WebFailure, match="public address"):
            HttpWeb(PUBLIC).deliver(other.url, b"{}", {}, seconds=5)
        web = HttpWeb(THIS_MACHINE, resolve=lambda *_: ["127.0.0.1"])
        assert web.deliver(other.url.replace("127.0.0.1", "hook.test"), b"{}", {"webhook-id": "evt-1"}, seconds=5) == 200
        assert [host.partition(":")[0] for host in other.hosts] == ["hook.test"]
    with pytest.raises(WebFailure):
        NO_WEB.deliver("https://example.test", b"{}", {}, seconds=5)


def test_a_receiver_that_hangs_or_never_ends_its_answer_is_a_failure() -> None:
    with listening(Other(hangs=True)) as other, pytest.raises(WebFailure, match="no answer within"):
        HttpWeb().deliver(other.url, b"{}", {}, seconds=0.1)
    with trickling() as url, pytest.raises(WebFailure, match="no answer within"):
        HttpWeb().deliver(url, b"{}", {}, seconds=0.1)
