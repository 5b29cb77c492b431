"""The WebSocket API: the same runs, events and errors as by HTTP, on a connection that may break at any time."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from hibernaut.schemas.access.access_token import CreateAccessToken
from hibernaut.schemas.access.budget import SetBudget
from hibernaut.services.access.access_tokens import AccessTokens
from tests.compat.conftest import HANDLE, Keyed, Said, calls
from tests.support.web_sockets import LONGEST, Conversing, conversing, events, text_of

pytestmark = pytest.mark.deployed

KNOCK = 'def knock(door: str) -> str:\n    """Knock.\n\n    Args:\n        door: Which.\n    """\n    return door\n'


@pytest.fixture(scope="module")
def key(keyed: Keyed) -> str:
    return keyed.key()


@pytest.fixture
def socket(keyed: Keyed, key: str) -> Iterator[Conversing]:
    with conversing(keyed.url, key) as connection:
        yield connection


@pytest.fixture
def agent(keyed: Keyed, key: str, said: Said) -> str:
    said.next({"content": "Hello, and welcome."})
    return new_agent(keyed, key)


def new_agent(keyed: Keyed, key: str, **fields: Any) -> str:
    with keyed.sdk(key) as client:
        return client.agents.create(**{"model": HANDLE, "include_base_tools": False, **fields}).id


def message(text: str = "hi", **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text, **fields}]}


class Gate:
    """A model that says a few words and waits before the next."""

    def __init__(self, said: Said) -> None:
        self.begun, self.open = threading.Event(), threading.Event()
        said.next({"content": "one two three four five six", "before": self._before})

    def _before(self, number: int) -> None:
        if number == 4:
            self.begun.set()
            self.open.wait(LONGEST)


def streamed(keyed: Keyed, key: str, run_id: str) -> list[Any]:
    """The events of a run as HTTP streams them, without pings."""
    answer = httpx.post(
        f"{keyed.url}/v1/runs/{run_id}/stream", headers={"authorization": f"Bearer {key}"}, json={}, timeout=LONGEST
    )
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: {")]
    return [event for event in map(json.loads, lines) if event["message_type"] != "ping"]


@pytest.mark.parametrize("background", [False, True])
def test_a_message_is_answered_by_the_events_of_its_stream(
    keyed: Keyed, key: str, socket: Conversing, agent: str, background: bool
) -> None:
    told = socket.whole("send", agent_id=agent, body=message() | {"stream_tokens": True, "background": background})
    run_id = told[0]["run_id"]
    assert (told[0]["type"], told[-1]["type"], {one["run_id"] for one in told}) == ("following", "done", {run_id})
    assert events(told, pings=True)[0][1]["message_type"] == "ping"
    numbers = [number for number, _ in events(told)]
    assert numbers == list(range(2, len(numbers) + 2))
    assert [event for _, event in events(told)] == streamed(keyed, key, run_id)
    assert text_of(told) == "Hello, and welcome."


def test_a_connection_that_drops_loses_nothing(keyed: Keyed, key: str, agent: str, said: Said) -> None:
    gate = Gate(said)
    with conversing(keyed.url, key) as first:
        request = first.send("send", agent_id=agent, body=message() | {"stream_tokens": True})
        run_id = first.next(request)["run_id"]
        assert gate.begun.wait(LONGEST)
        seen = first.until(request, "events")
        while not events(seen):
            seen += first.until(request, "events")
    gate.open.set()
    last = events(seen)[-1][0]
    with conversing(keyed.url, key) as second:
        rest = second.whole("follow", run_id=run_id, starting_after=last)
    assert rest[0]["starting_after"] == last
    whole = events(seen) + events(rest)
    assert [number for number, _ in whole] == list(range(2, len(whole) + 2))
    assert [event for _, event in whole] == streamed(keyed, key, run_id)


def test_a_message_that_is_sent_again_joins_its_first_run(socket: Conversing, agent: str) -> None:
    first = socket.whole("send", agent_id=agent, body=message(otid="otid-1"))
    again = socket.whole("send", agent_id=agent, body=message(otid="otid-1"))
    assert (again[0]["run_id"], events(again)) == (first[0]["run_id"], events(first))
    named = socket.whole("follow", conversation_id=agent, otid="otid-1")
    assert events(named) == events(first)


def test_an_approval_is_given_once(keyed: Keyed, key: str, socket: Conversing, said: Said) -> None:
    with keyed.sdk(key) as client:
        tool = client.tools.upsert(source_code=KNOCK)
        rules: Any = [{"type": "requires_approval", "tool_name": "knock"}]
        agent = client.agents.create(model=HANDLE, include_base_tools=False, tool_ids=[tool.id], tool_rules=rules).id
    said.next(calls(("knock", {"door": "front"})), {"content": "Done."})
    asked = socket.whole("send", agent_id=agent, body=message())
    assert "approval_request_message" in [event["message_type"] for _, event in events(asked)]
    blocked = socket.ask("send", agent_id=agent, body=message("And?") | {"when_busy": "reject"})
    assert (blocked["status"], blocked["code"]) == (409, "pending_approval")
    answer = {"approvals": [{"type": "approval", "tool_call_id": "call_1", "approve": True}], "otid": "answer-1"}
    given = socket.whole("approve", agent_id=agent, **answer)
    assert text_of(given) == "Done."
    again = socket.whole("approve", agent_id=agent, **answer)
    assert events(again) == events(given)


def test_a_run_is_cancelled_and_a_conversation_refuses_a_second_message(
    socket: Conversing, keyed: Keyed, key: str, agent: str, said: Said
) -> None:
    with keyed.sdk(key) as client:
        conversation = client.conversations.create(agent_id=agent).id
    gate = Gate(said)
    request = socket.send("send", conversation_id=conversation, body=message() | {"stream_tokens": True})
    run_id = socket.next(request)["run_id"]
    assert gate.begun.wait(LONGEST)
    busy = socket.ask("send", conversation_id=conversation, body=message("me too"))
    assert (busy["status"], busy["code"], busy["error"]["run_id"]) == (409, "conversation_busy", run_id)
    assert socket.ask("cancel", conversation_id=conversation)["runs"] == {run_id: "cancelled"}
    rest = socket.until(request)
    gate.open.set()
    assert [event["stop_reason"] for _, event in events(rest) if event["message_type"] == "stop_reason"] == ["cancelled"]
    assert (rest[-1]["type"], socket.ask("cancel", agent_id=agent)["code"]) == ("done", "conflict")


def test_several_runs_are_followed_until_they_are_unfollowed(
    socket: Conversing, keyed: Keyed, key: str, agent: str, said: Said
) -> None:
    gate, other = Gate(said), new_agent(keyed, key)
    requests = [socket.send("send", agent_id=one, body=message() | {"stream_tokens": True}) for one in (agent, other)]
    runs = [socket.next(request)["run_id"] for request in requests]
    assert len(set(runs)) == 2
    twice = socket.until(socket.send("follow", run_id=runs[0], request_id=requests[0]), "error")
    assert twice[-1]["code"] == "conflict"
    socket.send("unfollow", follow=requests[1], request_id="u")
    left = socket.until(requests[1])
    assert left[-1]["type"] == "interrupted"
    gate.open.set()
    assert socket.until(requests[0])[-1]["type"] == "done"
    rest = socket.whole("follow", run_id=runs[1], starting_after=left[-1]["seq_id"])
    numbers = [number for number, _ in events(left) + events(rest)]
    assert numbers == list(range(2, len(numbers) + 2))
    assert socket.ask("unfollow", follow=requests[1])["code"] == "not_found"


@pytest.mark.parametrize(
    ("text", "code", "request_id"),
    [
        ("{", "invalid_argument", None),
        ("[]", "invalid_argument", None),
        ('{"request_id": "a", "n": 1e999}', "invalid_argument", None),
        ('{"action": "ping"}', "unprocessable", None),
        ('{"action": "dance", "request_id": "b"}', "unprocessable", "b"),
        ('{"action": "send", "request_id": "c", "agent_id": "agent-1", "body": {}}', "unprocessable", "c"),
        ('{"action": "send", "request_id": "d", "body": {"input": "hi"}}', "unprocessable", "d"),
        ('{"action": "follow", "request_id": "e"}', "unprocessable", "e"),
        ('{"action": "follow", "request_id": "f", "run_id": "run-1"}', "invalid_argument", "f"),
        ('{"action": "follow", "request_id": "g", "run_id": "run-00000000-0000-4000-8000-000000000000"}', "not_found", "g"),
        ('{"action": "cancel", "request_id": "h", "agent_id": "agent-00000000-0000-4000-8000-000000000000"}', "conflict", "h"),
        ('{"action": "unfollow", "request_id": "i", "follow": "x"}', "not_found", "i"),
    ],
)
def test_what_cannot_be_done_is_an_error_and_the_connection_goes_on(
    socket: Conversing, text: str, code: str, request_id: str | None
) -> None:
    socket.connection.send(text)
    answer = socket.next(request_id)
    assert (answer["type"], answer["code"]) == ("error", code)
    assert socket.ask("ping", request_id="z") == {"type": "pong", "request_id": "z"}


def test_a_body_is_checked_as_by_http(socket: Conversing, agent: str) -> None:
    for body in ({"messages": []}, {"messages": [{"role": "nobody", "content": "hi"}]}, {"max_steps": 0}):
        assert socket.ask("send", agent_id=agent, body=body)["status"] == 422
    beyond = socket.whole("send", agent_id=agent, body=message())[0]["run_id"]
    assert socket.ask("follow", run_id=beyond, starting_after=1000)["code"] == "invalid_argument"


def refused(keyed: Keyed, key: str | None = None, **options: Any) -> tuple[int, Any]:
    """The status of a handshake that is refused, and its body if the gateway passes one on."""
    with pytest.raises(InvalidStatus) as refusal, conversing(keyed.url, key, **options):
        pass
    response = refusal.value.response
    return response.status_code, json.loads(response.body or b"null")


def test_a_handshake_needs_a_key_in_a_header_or_a_sub_protocol(keyed: Keyed, key: str) -> None:
    other = [Subprotocol(f"hibernaut.key.{keyed.key('other')}")]
    answers = {
        "missing": refused(keyed),
        "misplaced": refused(keyed, path=f"/v1/ws?key={key}"),
        "malformed": refused(keyed, key[:-1] + ("x" if key[-1] != "x" else "y")),
        "token_refused": refused(keyed, "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln"),
        "ambiguous": refused(keyed, key, subprotocols=other),
    }
    assert {status for status, _ in answers.values()} == {401}
    assert {fault: body["fault"] for fault, (_, body) in answers.items() if body} in ({}, {fault: fault for fault in answers})
    assert key not in str(answers)
    with conversing(keyed.url, subprotocols=[Subprotocol("hibernaut.v1"), Subprotocol(f"hibernaut.key.{key}")]) as socket:
        assert socket.connection.subprotocol == "hibernaut.v1"
        assert socket.ask("ping")["type"] == "pong"


def test_a_page_of_another_origin_is_refused(keyed: Keyed, key: str) -> None:
    assert refused(keyed, key, origin="https://evil.test")[0] == 403


def test_a_run_of_another_tenant_is_not_found(keyed: Keyed, socket: Conversing, agent: str) -> None:
    run_id = socket.whole("send", agent_id=agent, body=message())[0]["run_id"]
    with conversing(keyed.url, keyed.key("other")) as other:
        unknown = other.ask("follow", run_id="run-00000000-0000-4000-8000-000000000000")
        foreign = other.ask("follow", run_id=run_id)
        assert (foreign["code"], foreign["status"]) == (unknown["code"], unknown["status"]) == ("not_found", 404)
        for action in ("send", "cancel", "approve"):
            fields = {"send": {"body": message()}, "approve": {"approvals": []}}.get(action, {})
            assert other.ask(action, agent_id=agent, **fields)["status"] in (404, 409)


def test_a_key_permits_by_websocket_what_it_permits_by_http(keyed: Keyed, key: str, agent: str) -> None:
    elsewhere = new_agent(keyed, key)
    with conversing(keyed.url, keyed.key(scope="read")) as reader:
        assert reader.ask("send", agent_id=agent, body=message())["code"] == "scope_too_narrow"
    with conversing(keyed.url, keyed.key(scope="write", agent_ids=[agent])) as restricted:
        assert restricted.whole("send", agent_id=agent, body=message())[-1]["type"] == "done"
        assert restricted.ask("send", agent_id=elsewhere, body=message())["code"] == "scope_too_narrow"
        assert restricted.ask("cancel", agent_id=elsewhere)["code"] == "scope_too_narrow"


def test_a_token_for_web_pages_permits_by_websocket_what_it_permits_by_http(keyed: Keyed, key: str, agent: str) -> None:
    elsewhere, origin = new_agent(keyed, key), keyed.url.replace("http://", "https://")
    policy = {"type": "agent", "id": agent, "access": ["read_messages", "write_messages"]}
    wanted = CreateAccessToken.model_validate({"hostname": origin, "policy": [policy]})
    token = AccessTokens(keyed.access.keys_of(keyed.tenant)).create(wanted).token
    assert [refused(keyed, token)[0], refused(keyed, token, origin=keyed.url)[0]] == [403, 403]
    with conversing(keyed.url, token, origin=origin) as page:
        assert page.whole("send", agent_id=agent, body=message())[-1]["type"] == "done"
        for body in (
            message() | {"client_tools": [{"name": "run"}]},
            message(sender_id=elsewhere),
            message() | {"max_steps": 51},
        ):
            assert page.ask("send", agent_id=agent, body=body)["code"] == "scope_too_narrow", body
        assert page.ask("approve", agent_id=agent, approvals=[])["code"] == "scope_too_narrow"
        assert page.ask("send", agent_id=elsewhere, body=message())["code"] == "scope_too_narrow"


def test_actions_are_counted_as_requests(keyed: Keyed) -> None:
    key = keyed.key("hurried")
    keyed.access.budgets_of("hurried").set("tenant", SetBudget(requests_per_second=5))
    with conversing(keyed.url, key) as socket:
        answers = [socket.next(request) for request in [socket.send("ping") for _ in range(40)]]
    limited = [one for one in answers if one["type"] == "error"]
    assert {(one["status"], one["code"], one["retry_after"]) for one in limited} == {(429, "budget_exceeded", 1)}


def test_a_revoked_key_ends_its_connection(keyed: Keyed, key: str) -> None:
    admin = {"authorization": f"Bearer {key}"}
    made = httpx.post(f"{keyed.url}/v1/api-keys", headers=admin, json={"name": "short", "scope": "write"}).json()
    with conversing(keyed.url, made["key"]) as socket:
        assert socket.ask("ping")["type"] == "pong"
        assert httpx.delete(f"{keyed.url}/v1/api-keys/{made['id']}", headers=admin).status_code == 200
        answer = socket.ask("ping")
        while answer["type"] == "pong":  # another process of the server may know the key for some seconds
            answer = socket.ask("ping")
        assert (answer["status"], answer["error"]["fault"]) == (401, "revoked")
        with pytest.raises(ConnectionClosed):
            socket.connection.recv(LONGEST)


def test_a_message_over_128_kb_ends_the_connection(socket: Conversing) -> None:
    socket.connection.send("x" * 131_073)
    with pytest.raises(ConnectionClosed) as closed:
        socket.connection.recv(LONGEST)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009
