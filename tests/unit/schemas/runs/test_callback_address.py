"""What answers show of the address that is called at the end of a run."""

from __future__ import annotations

import pytest

from hibernaut.schemas.runs.callback_address import shown_callback


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (None, None),
        ("https://example.com/done", "https://example.com/done"),
        ("https://example.com", "https://example.com"),
        ("https://user:secret@example.com:8443/done", "https://example.com:8443/done"),
        ("https://us%40er:p@ss@[2001:db8::1]/x", "https://[2001:db8::1]/x"),
        ("https://example.com/x?token=secret&run=7", "https://example.com/x?token=***&run=***"),
        ("https://example.com/x?secret&a=b=c&=d&", "https://example.com/x?***&a=***&=***&***"),
        ("https://example.com/x?", "https://example.com/x"),
        ("https://example.com/x#secret", "https://example.com/x"),
        ("https://[::1/x?token=secret", None),
        ("secret", None),
    ],
)
def test_the_host_and_the_path_are_shown_and_what_may_be_secret_is_not(given: str | None, shown: str | None) -> None:
    assert shown_callback(given) == shown
    assert shown_callback(shown) == shown, "what was shown may be shown again"
