"""The promises of the `Model` port to those who listen, hang up, or call again: what becomes of the connection."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from hibernaut.ports.model import Delta
from hibernaut.schemas.errors import ModelBadRequest, ModelConnection, ModelError
from tests.contracts.model.spoken import Spoken
from tests.support.provider_http import PATIENCE
from tests.support.rows import Rows

LONG = "word " * 100


def hello(spoken: Spoken, **fields: Any) -> Any:
    return spoken.request(Rows().user("I live in Oslo"), **fields)


def ignored(delta: Delta) -> None:
    """Nobody cares."""


class Call:
    """A call on a thread of its own, and how it ended."""

    def __init__(self, spoken: Spoken, *, streams: bool = True) -> None:
        self.heard, self.opened = threading.Event(), threading.Event()
        self.close: Callable[[], None]
        self.failure: BaseException | None = None
        self._spoken, self._streams = spoken, streams
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self) -> None:
        try:
            self._spoken.model.complete(hello(self._spoken), self._hear if self._streams else None, self._open)
        except ModelError as failure:
            self.failure = failure

    def _hear(self, _delta: Delta) -> None:
        self.heard.set()

    def _open(self, close: Callable[[], None]) -> None:
        self.close = close
        self.opened.set()

    def end(self) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


def test_a_call_that_is_hung_up_from_another_thread_while_its_model_is_silent_ends_at_once(spoken: Spoken) -> None:
    spoken.server.says(content=LONG, holds=6)
    call = Call(spoken)
    assert call.heard.wait(PATIENCE)
    call.close()
    call.end()
    assert isinstance(call.failure, ModelConnection)
    assert spoken.server.gone.wait(PATIENCE), "the provider sees that nobody listens"


def test_a_call_that_is_not_streamed_can_be_hung_up_as_soon_as_its_answer_has_begun(spoken: Spoken) -> None:
    spoken.server.says(stall=True)
    call = Call(spoken, streams=False)
    assert call.opened.wait(PATIENCE)
    call.close()
    call.end()
    assert isinstance(call.failure, ModelConnection)


def test_a_call_that_nobody_wants_any_more_when_it_begins_is_not_sent(spoken: Spoken) -> None:
    class TooLateError(Exception):
        pass

    def late(close: Callable[[], None]) -> None:
        raise TooLateError

    with pytest.raises(TooLateError):
        spoken.model.complete(hello(spoken), ignored, late)
    with pytest.raises(ModelConnection):
        spoken.model.complete(hello(spoken), ignored, lambda close: close())
    assert spoken.server.requests == []


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("reused", [True, False])
def test_a_call_can_be_hung_up_before_its_answer_begins(reused: bool, streams: bool, spoken: Spoken) -> None:
    """Some servers begin to answer with the first word, or with the last: a model may be loading for minutes before."""
    asked = threading.Event()

    def silent(*_: Any) -> Any:
        asked.set()
        return {"hang": True}

    if reused:
        spoken.model.complete(hello(spoken), ignored)
    spoken.server.script = silent
    call = Call(spoken, streams=streams)
    assert asked.wait(PATIENCE)
    call.close()
    call.end()
    assert isinstance(call.failure, ModelConnection)
    assert spoken.server.gone.wait(PATIENCE), "the provider sees that nobody listens"
    assert spoken.server.connections == 1


def test_hanging_up_on_one_call_leaves_the_others_alone(spoken: Spoken) -> None:
    holding, go = threading.Barrier(3), threading.Event()

    def held(number: int) -> None:
        if number == 2:
            holding.wait(PATIENCE)
            assert go.wait(PATIENCE)

    spoken.server.says(content=LONG, before=held)
    first, second = Call(spoken), Call(spoken)
    holding.wait(PATIENCE)
    first.close()
    first.end()
    go.set()
    second.end()
    assert isinstance(first.failure, ModelConnection)
    assert second.failure is None


def test_after_a_call_was_hung_up_the_next_one_has_a_connection_of_its_own(spoken: Spoken) -> None:
    spoken.server.says(content=LONG, holds=6)
    call = Call(spoken)
    assert call.heard.wait(PATIENCE)
    call.close()
    call.end()
    spoken.server.says(content="Back again.")
    assert spoken.model.complete(hello(spoken), ignored).text == "Back again."
    assert spoken.server.connections == 2


def test_streams_that_are_read_to_their_end_share_one_connection(spoken: Spoken) -> None:
    spoken.server.says(content=LONG)
    for _ in range(5):
        spoken.model.complete(hello(spoken), ignored)
    assert spoken.server.connections == 1


def test_hanging_up_when_all_was_read_leaves_the_connection_to_whoever_has_it_now(spoken: Spoken) -> None:
    spoken.server.says(content="Hello.")
    first = Call(spoken)
    first.end()
    spoken.server.says(content=LONG, holds=6)
    second = Call(spoken)
    assert second.heard.wait(PATIENCE)
    first.close()
    assert not spoken.server.gone.is_set()
    second.close()
    second.end()
    assert spoken.server.connections == 1


def test_a_stream_that_does_not_end_behind_its_last_piece_is_a_reply_all_the_same(spoken: Spoken) -> None:
    spoken.server.says(content="All said.", lingers=True)
    assert spoken.model.complete(hello(spoken, timeout=PATIENCE * 2), ignored).text == "All said."
    assert spoken.server.gone.wait(PATIENCE)


def test_a_server_that_gives_the_whole_where_a_stream_was_asked_for_is_understood(spoken: Spoken) -> None:
    whole = json.dumps(spoken.server.whole({"content": "Whole."})).encode()
    spoken.server.says(status=200, body=whole)
    heard: list[Delta] = []
    assert spoken.model.complete(hello(spoken), heard.append).text == "Whole."
    assert heard == []


REFUSALS = [
    "Unsupported value: 'stream' does not support true with this model.",
    "Your organization must be verified to stream this model.",
    "Streaming is not supported.",
]


@pytest.mark.parametrize("words", REFUSALS)
def test_a_model_whose_streams_are_refused_is_asked_for_whole_replies_from_then_on(any_openai: Spoken, words: str) -> None:
    server = any_openai.server

    def script(messages: Any, tools: Any) -> Any:
        if server.requests[-1].body.get("stream"):
            return {"status": 400, "body": {"error": {"message": words}}}
        return {"content": "Whole."}

    server.script = script
    for _ in range(2):
        assert any_openai.model.complete(hello(any_openai), ignored).text == "Whole."
    assert [bool(request.body.get("stream")) for request in server.requests] == [True, False, False]
    any_openai.model.complete(hello(any_openai, model="another"), None)
    server.says(status=400, body={"error": {"message": words}})
    with pytest.raises(ModelBadRequest):
        any_openai.model.complete(hello(any_openai, model="a-third"), ignored)
    server.says(content="Streams.")
    heard: list[Delta] = []
    any_openai.model.complete(hello(any_openai, model="a-third"), heard.append)
    assert heard, "what was not proved is not remembered"


def test_a_refusal_of_another_kind_is_not_asked_for_again(any_openai: Spoken) -> None:
    any_openai.server.says(status=400, body={"error": {"message": "The temperature is too high."}})
    with pytest.raises(ModelBadRequest):
        any_openai.model.complete(hello(any_openai), ignored)
    assert len(any_openai.server.requests) == 1
