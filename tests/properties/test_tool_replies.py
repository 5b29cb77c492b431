"""Whatever a tool's process writes as its reply: it is an outcome within the job's limits, or none."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from hibernaut.adapters.tool_runner import frames
from hibernaut.adapters.tool_runner.child_process import outcome_of
from hibernaut.adapters.tool_runner.wire import outcome_from_json
from hibernaut.ports.tools.tool_runner import ToolJob

JOB = ToolJob(
    name="tool",
    source_code="",
    args={},
    output_limit=50,
    agent_state={"memory": {"blocks": [{"label": "human", "value": "", "limit": 10}]}},
)
TAGS = st.sampled_from([frames.VALUE, frames.TEXT, frames.ERROR, frames.TRACEBACK, frames.LABEL, frames.BLOCK, frames.END, b"?"])
TEXTS = st.one_of(st.text(max_size=400), st.just("human"), st.recursive(st.none() | st.floats(), st.lists).map(json.dumps))
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(), lambda part: st.lists(part) | st.dictionaries(st.text(), part)
)
FIELDS = ("status", "value", "error", "stdout", "stderr", "blocks")


@given(st.binary(max_size=200) | st.lists(st.tuples(TAGS, TEXTS)).map(frames.framed))
def test_any_bytes_are_an_outcome_within_the_limits_or_none(data: bytes) -> None:
    outcome = outcome_of(data, JOB)
    if outcome is None:
        return
    json.dumps(outcome.value, allow_nan=False, ensure_ascii=False).encode()
    assert (outcome.error is None) == (outcome.status == "success")
    assert set(outcome.blocks) <= {"human"}
    assert not isinstance(outcome.value, str) or len(outcome.value) <= 250


@given(st.fixed_dictionaries(dict.fromkeys(FIELDS, JSON)) | JSON)
def test_any_answer_of_a_function_is_an_outcome_within_the_limits(answer: object) -> None:
    outcome = outcome_from_json(answer, JOB)  # type: ignore[arg-type]
    assert outcome.status in ("success", "error")
    assert (outcome.error is None) == (outcome.status == "success")
    assert set(outcome.blocks) <= {"human"}


def test_a_value_of_a_million_empty_lists_stays_a_text() -> None:
    text = "[" + "[]," * 300_000 + "[]]"
    outcome = outcome_of(frames.framed([(frames.VALUE, text)]), JOB)
    assert outcome is not None
    assert isinstance(outcome.value, str)


def test_a_reply_that_was_cut_off_is_none() -> None:
    whole = frames.framed([(frames.TEXT, "a" * 100)])
    assert all(outcome_of(whole[:length], JOB) is None for length in range(len(whole)))
    assert outcome_of(whole + b"x", JOB) is None
