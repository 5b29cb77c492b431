"""What agents are called."""

from __future__ import annotations

import re

import pytest

from hibernaut.domain.agents.agent_names import check_name, default_name
from hibernaut.schemas.errors import InvalidArgument


def test_a_default_name_is_two_words_in_camel_case_that_may_be_given_too() -> None:
    names = {default_name(bits) for bits in range(4096)}
    assert len(names) == 4096
    assert all(re.fullmatch("[A-Z][a-z]+[A-Z][a-z]+", name) for name in names)
    for name in names:
        check_name(name)


@pytest.mark.parametrize("name", ["Rex", "O'Neil's_bot 2-b", "Zoë"])
def test_letters_digits_spaces_hyphens_apostrophes_and_underscores_are_allowed(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize("name", ["", "a/b", "a.b", "a\nb!", "<x>"])
def test_anything_else_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument):
        check_name(name)
