"""What an image of a stranger is told by its bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.tools.images import LONGEST_SIDE, ImageFacts, image_facts
from tests.support.pictures import WHOLE, gif, jpeg, png, webp


@pytest.mark.parametrize("media_type", WHOLE)
def test_the_bytes_tell_the_format_and_the_sides(media_type: str) -> None:
    assert image_facts(WHOLE[media_type]) == ImageFacts(media_type, 2, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["VP8 ", "VP8L", "VP8X"])
def test_each_kind_of_webp_is_known(kind: str) -> None:
    assert image_facts(webp(kind, 640, 480)) == ImageFacts("image/webp", 640, 480)


@pytest.mark.parametrize("media_type", WHOLE)
def test_no_beginning_of_an_image_is_one(media_type: str) -> None:
    whole = WHOLE[media_type]
    assert [size for size in range(len(whole)) if image_facts(whole[:size])] == []


@pytest.mark.parametrize("make", [png, jpeg, gif])
def test_a_side_of_none_or_of_too_many_pixels_is_refused(make: object) -> None:
    assert callable(make)
    assert image_facts(make(0, 3)) is None
    assert image_facts(make(1, LONGEST_SIDE + 1)) is None
    assert image_facts(make(1, LONGEST_SIDE)) is not None


def test_a_png_with_a_changed_byte_is_damaged() -> None:
    whole = png()
    changed = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(8, len(whole))]
    assert [at for at, each in enumerate(changed) if image_facts(each)] == []


def test_a_wrong_checksum_of_what_readers_pass_over_is_no_damage() -> None:
    whole = png(noise=b"a profile of colours")
    assert image_facts(whole.replace(b"profile", b"Profile")) == ImageFacts("image/png", 2, 3)


@given(st.sampled_from([*WHOLE.values(), b""]), st.binary(max_size=60), st.integers(0, 60))
def test_no_bytes_break_the_reader(whole: bytes, noise: bytes, at: int) -> None:
    found = image_facts(whole[:at] + noise)
    assert found is None or (0 < found.width <= LONGEST_SIDE and 0 < found.height <= LONGEST_SIDE)
