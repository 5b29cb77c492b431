"""The variables of a template: filled in where they have a value, and no longer than a block may be."""

from __future__ import annotations

import pytest

from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.limits import LONGEST_TEXT
from hibernaut.services.templates.template_agents import filled


def test_a_variable_without_a_value_stays() -> None:
    assert filled("{{ name }} of {{city}}, {{name}}", {"name": "Ann"}) == "Ann of {{city}}, Ann"


def test_a_value_is_not_multiplied_beyond_the_longest_text() -> None:
    half = "x" * (LONGEST_TEXT // 2)
    assert len(filled("{{a}}{{a}}", {"a": half})) == LONGEST_TEXT
    with pytest.raises(InvalidArgument, match=str(LONGEST_TEXT // 2 * 2_000)):
        filled("{{a}}" * 2_000, {"a": half})
