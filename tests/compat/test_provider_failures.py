"""What a client sees of a model that hangs, breaks off, or cannot answer."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest
from letta_client import APIStatusError, BadRequestError, Letta, NotFoundError, UnprocessableEntityError

from tests.compat.conftest import HANDLE, Make, Said

# The SDK calls its own stream() deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:deprecated:DeprecationWarning")
PATIENCE = 20.0
LONG = "word " * 60
HI = [{"role": "user", "content": "hi"}]
NO_CREDIT = {"status": 402, "body": {"error": {"message": "Pay."}}}


@pytest.mark.manifest("messages.cancel.in_flight")
@pytest.mark.parametrize("tokens", [True, False])
@pytest.mark.deployed
def test_a_cancel_closes_the_model_call_in_flight(client: Letta, new_agent: Make, said: Said, tokens: bool) -> None:
    agent = new_agent()
    said.server.gone.clear()
    writing = threading.Event()
    said.next({"content": LONG, "holds": 6, "before": lambda number: writing.set() if number == 6 else None})
    cancelled: list[object] = []

    def cancels() -> None:
        assert writing.wait(PATIENCE)
        cancelled.append(client.agents.messages.cancel(agent.id))

    person = threading.Thread(target=cancels)
    person.start()
    seen = list(client.agents.messages.stream(agent.id, messages=HI, stream_tokens=tokens))
    person.join()
    run = client.runs.list(agent_id=agent.id).items[0]
    assert cancelled == [{run.id: "cancelled"}]
    assert [one.stop_reason for one in seen if one.message_type == "stop_reason"] == ["cancelled"]
    assert said.server.gone.wait(PATIENCE), "the provider sees that nobody listens"
    said.next({"content": "Hello again."})
    assert client.agents.messages.create(agent.id, input="and now?").messages[-1].content == "Hello again."
    assert [one.content for one in client.agents.messages.list(agent.id).items][-3:] == ["hi", "and now?", "Hello again."]


@pytest.mark.manifest("messages.provider.retries")
def test_a_provider_that_was_overloaded_is_asked_again(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    said.next(
        {"status": 503, "body": {}}, {"status": 429, "body": {}, "headers": {"retry-after-ms": "1"}}, {"content": "At last."}
    )
    assert client.agents.messages.create(agent.id, input="hi").messages[-1].content == "At last."
    assert len(said.server.requests) == 3


@pytest.mark.manifest("messages.provider.broken_stream")
@pytest.mark.deployed
def test_a_reply_that_breaks_off_ends_its_run_with_one_error(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent()
    said.next({"content": LONG, "cut": True}, {"content": "not this one"})
    heard: list[Any] = []
    with pytest.raises(APIStatusError) as raised:
        heard.extend(client.agents.messages.stream(agent.id, messages=HI, stream_tokens=True))
    assert isinstance(raised.value.body, dict)
    assert raised.value.body["message_type"] == "error_message"
    assert "".join(one.content for one in heard if one.message_type == "assistant_message") == LONG[:14]
    assert len(said.server.requests) == 1
    run = client.runs.list(agent_id=agent.id).items[0]
    assert (run.status, run.stop_reason) == ("failed", "llm_api_error")
    said.next({"content": "Hello again."})
    assert client.agents.messages.create(agent.id, input="and now?").messages[-1].content == "Hello again."


@pytest.mark.manifest("runs.error")
@pytest.mark.parametrize(("status", "kind"), [(400, "llm_error"), (401, "llm_authentication"), (402, "llm_error")])
def test_a_failed_run_has_the_error_of_its_stream_in_its_metadata(
    client: Letta, http: httpx.Client, new_agent: Make, said: Said, status: int, kind: str
) -> None:
    agent = new_agent()
    said.next({"status": status, "body": {"error": {"message": "Not now."}}})
    with pytest.raises(APIStatusError) as streamed:
        list(client.agents.messages.stream(agent.id, messages=HI))
    with pytest.raises(APIStatusError):
        client.agents.messages.create(agent.id, input="hi")
    runs = client.runs.list(agent_id=agent.id).items
    errors = [run.metadata["error"] for run in runs if run.metadata]
    assert [error["error_type"] for error in errors] == [kind, kind]
    assert errors[1] == streamed.value.body
    assert f"(status {status})" in errors[0]["detail"]
    assert [run.metadata["run_type"] for run in runs if run.metadata] == ["send_message", "send_message_streaming"]
    assert client.runs.retrieve(runs[0].id).metadata == runs[0].metadata
    assert http.get(f"/v1/jobs/{runs[0].id}").json()["metadata"] == runs[0].metadata
    said.next({"content": "Hello."})
    client.agents.messages.create(agent.id, input="and now?")
    (newest,) = client.runs.list(agent_id=agent.id, limit=1).items
    assert newest.metadata == {"run_type": "send_message"}


@pytest.mark.manifest("agents.fallback_models")
def test_the_fallback_answers_when_the_agents_own_model_cannot(client: Letta, new_agent: Make, said: Said) -> None:
    agent = new_agent(extra_body={"fallback_models": ["hibernaut/demo"]})
    assert client.agents.retrieve(agent.id).model_dump()["fallback_models"] == [{"model": "hibernaut/demo", "on": None}]
    said.next(NO_CREDIT)
    reply = client.agents.messages.create(agent.id, input="hi")
    assert (reply.stop_reason.stop_reason, len(said.server.requests)) == ("end_turn", 1)
    run = client.runs.list(agent_id=agent.id).items[0]
    assert [step.model_handle for step in client.runs.steps.list(run.id).items] == ["hibernaut/demo"]
    assert client.agents.retrieve(agent.id).model == HANDLE


@pytest.mark.manifest("agents.fallback_models")
def test_a_fallback_is_a_handle_that_exists_and_can_be_taken_away(client: Letta, new_agent: Make, said: Said) -> None:
    with pytest.raises(NotFoundError):
        new_agent(extra_body={"fallback_models": ["openai/unknown"]})
    for wrong in (["unknown"], ["hibernaut/demo", {"model": "hibernaut/demo"}]):
        with pytest.raises(BadRequestError):
            new_agent(extra_body={"fallback_models": wrong})
    for wrong in (
        ["hibernaut/demo"] * 6,
        [{"model": "hibernaut/demo", "on": ["a bad mood"]}],
        [{"model": "hibernaut/demo", "on": []}],
    ):
        with pytest.raises(UnprocessableEntityError):
            new_agent(extra_body={"fallback_models": wrong})
    agent = new_agent()
    with pytest.raises(NotFoundError):
        client.agents.update(agent.id, extra_body={"fallback_models": ["openai/unknown"]})
    client.agents.update(agent.id, extra_body={"fallback_models": ["hibernaut/demo"]})
    assert client.agents.update(agent.id, name="other").model_dump()["fallback_models"] == [
        {"model": "hibernaut/demo", "on": None}
    ]
    assert client.agents.update(agent.id, extra_body={"fallback_models": None}).model_dump()["fallback_models"] == []
    said.next(NO_CREDIT)
    with pytest.raises(APIStatusError):
        client.agents.messages.create(agent.id, input="hi")
