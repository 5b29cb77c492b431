"""What a refused or hostile address costs whoever names it: one outcome that says why, on each path of the product that leads
outward.
"""

from __future__ import annotations

import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from ipaddress import ip_network
from pathlib import Path

import pytest

from hibernaut.adapters.addresses import AddressPolicy
from hibernaut.adapters.files.child_process import ChildFileReader
from hibernaut.adapters.web.http import HttpWeb
from hibernaut.domain.tools.builtin.builtin_tools import builtin_tools
from hibernaut.domain.turn.actor import Call
from hibernaut.schemas.runs.batch import CreateBatch
from hibernaut.schemas.runs.run import RunOptions, StoredRun
from hibernaut.schemas.runs.send import LettaAsyncRequest
from hibernaut.services.sending.sending import SendRequest
from hibernaut.services.tool_calls import online_tools
from hibernaut.store.runs.runs import RunState
from tests.support.scripted_model import in_turn, says
from tests.support.webhook_receiver import Hooked, Receiver
from tests.support.world import World, data_in

METADATA = "http://169.254.169.254/latest/meta-data/"
HOME = AddressPolicy((ip_network("127.0.0.0/8"),), setting="HIBERNAUT_PRIVATE_ADDRESSES")
"""The policy of both kinds at home, where refusals are told."""
WHY = "its address leads to a private address that HIBERNAUT_PRIVATE_ADDRESSES does not name"


class Outward(Receiver):
    """A receiver behind the door."""

    web = HttpWeb(HOME, pages=HOME, resolve=lambda host, _port: [host])

    def deliver(self, *args: object, **named: object) -> int:
        return self.web.deliver(*args, **named)  # type: ignore[arg-type]


def world_in(folder: Path) -> World:
    data = data_in(folder, in_turn(*[says("done")] * 5))
    return World(data, web=Outward.web, host={"reader": ChildFileReader()})


def called_back(folder: Path) -> str | None:
    world = world_in(folder)
    body = LettaAsyncRequest(input="hello", callback_url=METADATA)
    agent_id = world.make_agent()
    request = SendRequest(agent_id, body, "send_message_async", world.ids.token(), background=True, callback_url=METADATA)
    run_id = world.sending.accept(request).run_id
    world.advance(run_id)
    world.sweep()
    return world.run(run_id).run.callback_error


def told_of_a_batch(folder: Path) -> str | None:
    world = world_in(folder)
    asked = {"requests": [{"agent_id": world.make_agent(), "input": "x"}], "callback_url": METADATA}
    job = world.chain.batches.create(CreateBatch.model_validate(asked))
    world.workflow.drive()
    world.clock.sleep(61)
    world.engines.sweep.run()
    return world.chain.batches.get(job.id).callback_error


def hooked(folder: Path) -> str | None:
    world = Hooked(data_in(folder, in_turn(says("done"))), Outward(), folder)
    return world.webhooks.test(world.hook(url=METADATA).id).error


def read(folder: Path) -> str | None:
    return fetched(world_in(folder), METADATA)


def fetched(world: World, url: str) -> str | None:
    agent_id = world.make_agent(tools=["fetch_webpage"])
    run = StoredRun(id="null", agent_id=agent_id, created_at=world.clock.now(), options=RunOptions(max_steps=1))
    work = world.chain.loader.load(RunState(run=run))
    tool = builtin_tools()["fetch_webpage"]
    result = world.chain.calls.performed(work, Call(id="call", name="fetch_webpage", args={"url": url}), tool)
    return result.error or str(result.value)


@pytest.mark.parametrize("user", [called_back, told_of_a_batch, hooked, read])
def test_the_metadata_service_is_reached_on_no_path(user: Callable[[Path], str | None], tmp_path: Path) -> None:
    assert WHY in str(user(tmp_path))


# servers that harm


def _loop(_: int) -> bytes:
    return b"HTTP/1.1 302 Found\r\nlocation: /again\r\ncontent-length: 0\r\n\r\n"


def _inside(_: int) -> bytes:
    return b"HTTP/1.1 302 Found\r\nlocation: " + METADATA.encode() + b"\r\ncontent-length: 0\r\n\r\n"


def _binary(_: int) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n\r\n" + bytes(range(256)) * 100


def _rubbish(_: int) -> bytes:
    return bytes(range(256)) * 10


def _bomb(_: int) -> bytes:
    body = zlib.compress(b"<p>" + b"x" * 30_000_000)
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-encoding: deflate\r\n\r\n" + body


def _headers(_: int) -> bytes:
    return b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 200_000 + b"\r\n"


def _silent(_: int) -> bytes:
    return b""


SERVERS = {
    "redirects without end": (_loop, "more than 5 redirects"),
    "a redirect inside": (_inside, WHY),
    "binary": (_binary, "it is no text (application/octet-stream)"),
    "rubbish": (_rubbish, "no connection"),
    "a bomb": (_bomb, "[The page is longer than 10000 bytes"),
    "headers without end": (_headers, "no connection"),
    "silence": (_silent, "no answer within 0.2 seconds"),
}


@pytest.fixture
def serving() -> Iterator[Callable[[Callable[[int], bytes]], str]]:
    over, threads = threading.Event(), []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(answer: Callable[[int], bytes]) -> str:
        def one(peer: socket.socket) -> None:
            with peer, suppress(OSError):
                peer.recv(65_536)
                reply = answer(0)
                if reply:
                    peer.sendall(reply)
                else:
                    over.wait()

        def accept() -> None:
            with suppress(OSError):
                while True:
                    thread = threading.Thread(target=one, args=(listener.accept()[0],))
                    thread.start()
                    threads.append(thread)

        thread = threading.Thread(target=accept)
        thread.start()
        threads.append(thread)
        return f"http://127.0.0.1:{listener.getsockname()[1]}/"

    yield serve
    over.set()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize(("server", "why"), SERVERS.values(), ids=SERVERS)
def test_a_server_that_harms_costs_one_call(
    server: Callable[[int], bytes],
    why: str,
    tmp_path: Path,
    serving: Callable[[Callable[[int], bytes]], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(online_tools, "MOST_BYTES", 10_000)
    if server is _silent:
        monkeypatch.setattr(online_tools, "PAGE_SECONDS", 0.2)
    assert why in str(fetched(world_in(tmp_path), serving(server)))
