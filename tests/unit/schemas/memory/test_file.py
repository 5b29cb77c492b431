"""When a file's embedding will be done, as it is shown meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hibernaut.schemas.memory.file import FileStatus, StoredFile

BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def at_work(**fields: object) -> StoredFile:
    values = {"status": FileStatus.EMBEDDING, "total": 100, "embedded": 25, "created_at": BEGAN, "updated_at": BEGAN} | fields
    return StoredFile(id="file-1", folder_id="source-1", name="n", original_name="n", media_type="text/plain", size=1, **values)  # type: ignore[arg-type]


def test_the_rest_is_expected_to_take_as_long_as_the_beginning_took() -> None:
    now = BEGAN + timedelta(seconds=10)
    assert at_work().wire(None, now=now).estimated_completion_at == now + timedelta(seconds=30)


@pytest.mark.parametrize(
    "fields",
    [{"embedded": 0}, {"embedded": 100}, {"total": None}, {"status": FileStatus.COMPLETED}, {"status": FileStatus.PARSING}],
)
def test_where_nothing_can_be_said_nothing_is(fields: dict[str, object]) -> None:
    assert at_work(**fields).wire(None, now=BEGAN + timedelta(seconds=10)).estimated_completion_at is None
