"""The form of API keys: a key is found in other texts, and a typo is found in a key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.api_keys import HINT_LENGTH, KEY_PATTERN, format_key, is_well_formed

SECRETS = st.binary(min_size=32, max_size=32)


@given(SECRETS)
def test_every_key_is_well_formed_and_is_found_in_a_text(secret: bytes) -> None:
    key = format_key(secret)
    assert is_well_formed(key)
    found = KEY_PATTERN.search(f"?a=b&token={key}&c=d")
    assert found is not None
    assert found[0] == key


@given(SECRETS, st.integers(min_value=0), st.characters(codec="utf-8"))
def test_one_wrong_character_makes_a_key_malformed(secret: bytes, place: int, wrong: str) -> None:
    key = format_key(secret)
    at = place % len(key)
    changed = key[:at] + wrong + key[at + 1 :]
    assert is_well_formed(changed) is (changed == key)


@given(SECRETS, st.integers(min_value=HINT_LENGTH, max_value=45))
def test_two_swapped_characters_make_a_key_malformed(secret: bytes, at: int) -> None:
    key = format_key(secret)
    swapped = key[:at] + key[at + 1] + key[at] + key[at + 2 :]
    assert is_well_formed(swapped) is (swapped == key)


@given(st.lists(SECRETS, min_size=2, unique=True))
def test_different_secrets_give_different_keys(secrets: list[bytes]) -> None:
    assert len({format_key(secret) for secret in secrets}) == len(secrets)


@pytest.mark.parametrize("text", ["", "hib_", "sk-abc", "any", "hib_" + "a" * 43, "hib_" + "a" * 43 + "_000000", "\0", "é" * 54])
def test_other_texts_are_malformed(text: str) -> None:
    assert not is_well_formed(text)


def test_a_key_of_too_few_random_bytes_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="32 random bytes"):
        format_key(b"short")
