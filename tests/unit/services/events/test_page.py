"""The page on events tells the truth: its code verifies real deliveries, its examples have the fields of the facts, its figures
are the code's.
"""

from __future__ import annotations

import json
import re
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest

from hibernaut.domain.events import PAUSES, ping
from hibernaut.schemas.events.facts import EVENT_TYPES, Fact
from hibernaut.services.events.webhooks import MOST_WEBHOOKS
from tests.support.webhook_receiver import hooked

PAGE = (Path(__file__).parents[4] / "docs" / "events.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([a-z.]+)` \| .* \| `(\{.*\})` \|$", re.MULTILINE)


def test_the_code_of_the_page_verifies_a_delivery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    verify = names["verify"]
    assert callable(verify)
    world = hooked(tmp_path)
    hook = world.hook()
    world.send(world.make_agent(), "hello")
    world.relay()
    (call,) = world.receiver.calls
    monkeypatch.setattr("time.time", lambda: float(call.headers["webhook-timestamp"]))
    assert verify(hook.secret, call.headers, call.body)
    assert not verify(hook.secret, call.headers, call.body + b" ")
    assert not verify(world.hook().secret, call.headers, call.body)
    monkeypatch.setattr("time.time", lambda: float(call.headers["webhook-timestamp"]) + 301)
    assert not verify(hook.secret, call.headers, call.body)


def test_every_type_has_an_example_with_its_fields() -> None:
    shown = {name: set(json.loads(example)) for name, example in ROW.findall(PAGE)}
    facts = {kind.type: {field.name for field in fields(kind)} for kind in get_args(Fact)}
    assert set(facts) == set(EVENT_TYPES)
    pinged = ping("webhook-1", "evt-1", tenant="default", now=datetime(2026, 11, 23, tzinfo=UTC)).data
    assert shown == {**facts, "ping": set(pinged)}
    whole = json.loads(re.findall(r"```json\n(\{\"id\".*?)```", PAGE, re.DOTALL)[0])
    assert set(whole["data"]) == facts[whole["type"]]


def test_the_figures_of_the_page_are_those_of_the_code() -> None:
    minutes = [int(pause.total_seconds() // 60) for pause in PAUSES]
    assert minutes == [1, 4, 16, 64, 256, 720, 720]
    assert "after 1, 4, 16, 64 and 256 minutes and twice 12 hours" in PAGE
    assert f"at most {MOST_WEBHOOKS} per tenant" in PAGE
    assert f"tried {len(PAUSES) + 1} times" in PAGE
