"""Tools that a model writes (Letta V1 API, API 3)."""

from __future__ import annotations

import httpx
import pytest

from tests.compat.conftest import HANDLE, Said, calls

SOURCE = '''
def roll(sides: int) -> int:
    """Roll a die.

    Args:
        sides: How many sides it has.
    """
    import random

    return random.randint(1, sides)
'''
WISH = {"tool_name": "roll", "prompt": "Roll a die.", "handle": HANDLE, "validation_errors": []}


def written(source: str) -> dict[str, object]:
    return calls(("write_tool", {"source_code": source, "sample_args": '{"sides": 6, "odd": 1}', "summary": "It rolls a die."}))


@pytest.mark.manifest("tools.generate")
@pytest.mark.deployed
def test_a_model_writes_a_tool_which_is_checked_and_not_stored(http: httpx.Client, said: Said) -> None:
    said.next(written("def roll(:"), written(SOURCE))
    answer = http.post("/v1/tools/generate-tool", json={**WISH, "starter_code": "def roll(): ..."})
    assert answer.status_code == 200, answer.text
    made = answer.json()
    assert (made["tool"]["name"], made["tool"]["source_code"], made["tool"]["source_type"]) == ("roll", SOURCE, "python")
    assert made["tool"]["json_schema"]["parameters"]["properties"]["sides"]["description"] == "How many sides it has."
    assert (made["sample_args"], made["response"]) == ({"sides": 6}, "It rolls a die.")
    assert http.get(f"/v1/tools/{made['tool']['id']}").status_code == 404


@pytest.mark.manifest("tools.generate")
@pytest.mark.parametrize(
    ("source", "why"),
    [("def other(x: int):\n    '''Does.\n\n    Args:\n        x: It.\n    '''", "called other"), ("def roll(:", "line 1")],
)
def test_a_source_that_stays_unusable_is_told_with_the_reason(http: httpx.Client, said: Said, source: str, why: str) -> None:
    said.next(written(source), written(source))
    answer = http.post("/v1/tools/generate-tool", json=WISH)
    assert (answer.status_code, why in answer.text) == (500, True), answer.text


@pytest.mark.manifest("tools.generate")
def test_a_wish_that_cannot_be_asked_for_is_refused(http: httpx.Client) -> None:
    assert http.post("/v1/tools/generate-tool", json={**WISH, "handle": "nobody/none"}).status_code == 404
    for wrong in ({"tool_name": "no name"}, {"prompt": ""}, {"tool_name": "x" * 49}):
        assert http.post("/v1/tools/generate-tool", json={**WISH, **wrong}).status_code == 422
