"""The texts of the WebSocket protocol: each event once, in order, in messages that API Gateway can send."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hibernaut.rest.sockets import messages
from hibernaut.schemas.errors import HibernautError, ModelRateLimit, NotFound
from tests.support.web_sockets import events

FRAME = 32 * 1024
"""Bytes of one frame of API Gateway."""
TEXTS = st.lists(st.text(max_size=200), max_size=6)


@pytest.fixture(scope="module")
def _small() -> Iterator[None]:
    """Messages of a hundredth of their size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(messages, "LARGEST", messages.LARGEST // 100)
        patch.setattr(messages, "PART", messages.PART // 100)
        yield


def shown(texts: list[str], after: int = 1) -> list[tuple[int, str]]:
    return [(after + place, json.dumps({"content": text}, ensure_ascii=False)) for place, text in enumerate(texts, start=1)]


def sent(after: int, given: list[tuple[int, str]]) -> list[tuple[int, dict[str, Any]]]:
    return [(number, json.loads(text)) for number, text in messages.events("r", "run-1", after, given)]


@pytest.mark.usefixtures("_small")
@given(TEXTS)
def test_every_event_arrives_once_and_in_order(texts: list[str]) -> None:
    given = shown(texts)
    assert events([message for _, message in sent(1, given)]) == [(number, json.loads(event)) for number, event in given]


@pytest.mark.usefixtures("_small")
@given(TEXTS, st.integers(0, 12))
def test_a_follow_that_breaks_after_any_message_continues_without_loss(texts: list[str], cut: int) -> None:
    given = shown(texts)
    first = sent(1, given)[:cut]
    last = first[-1][0] if first else 1
    second = sent(last, [one for one in given if one[0] > last])
    whole = [message for number, message in first if message["type"] == "events" or message["seq_id"] <= last]
    assert events(whole + [message for _, message in second]) == [(number, json.loads(event)) for number, event in given]


@pytest.mark.parametrize("character", ["a", "\\", "\u2028", "\U0001f600"])
def test_no_message_is_larger_than_a_frame(character: str) -> None:
    told = list(messages.events("r" * 64, "run-" + "0" * 36, 1, shown(["short", character * 40_000, character * 4_000, "short"])))
    assert max(len(text.encode()) for _, text in told) < FRAME
    assert len(events([json.loads(text) for _, text in told])) == 4


@given(st.text())
def test_a_text_is_an_action_or_an_error_of_ours(text: str) -> None:
    try:
        messages.action_of(messages.value_of(text))
    except (HibernautError, ValidationError) as error:
        refused = json.loads(messages.refusal(error, None))
        assert refused["status"] in (400, 422)


def test_an_error_has_the_status_and_the_body_of_its_route() -> None:
    assert json.loads(messages.refusal(NotFound("no such run"), "r")) == {
        "type": "error",
        "request_id": "r",
        "status": 404,
        "code": "not_found",
        "error": {"detail": "no such run"},
    }
    limited = json.loads(messages.refusal(ModelRateLimit("slow down", retry_after=2.5), "r"))
    assert (limited["status"], limited["retry_after"], limited["error"]["error"]["type"]) == (429, 3, "llm_rate_limit")


def test_an_unknown_error_tells_its_place_to_the_log_and_nothing_to_the_client(caplog: pytest.LogCaptureFixture) -> None:
    refused = json.loads(messages.refusal(RuntimeError("secret"), "r"))
    assert (refused["status"], refused["code"], refused["error"]) == (
        500,
        "internal_error",
        {"detail": "An unknown error occurred"},
    )
    assert "secret" not in caplog.text
    assert [record.getMessage() for record in caplog.records] == ["request failed"]
