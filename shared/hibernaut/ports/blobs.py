"""Bytes too large for the table. Keys are made by `store.keys`; a blob is written once and never changed."""

from __future__ import annotations

from typing import Protocol


class Blobs(Protocol):
    def put(self, key: str, data: bytes) -> None:
        """Write; durable when it returns."""

    def get(self, key: str) -> bytes:
        """Raises: KeyError where there is none."""

    def delete(self, key: str) -> None:
        """Gone afterwards, also if it never was."""
