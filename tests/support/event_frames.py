"""Frames of AWS's event streams as its servers write them (smithy.io/2.0/aws/amazon-eventstream.html)."""

from __future__ import annotations

import base64
import json
import struct
from binascii import crc32
from collections.abc import Mapping
from typing import Any

TEXT = 7
"""The type of a header's value: a string with its length in two bytes."""


def frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """One frame: lengths and their checksum, headers, payload, checksum."""
    head = b"".join(
        struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", TEXT, len(value.encode())) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack("!II", len(head) + len(payload) + 16, len(head))
    written = prelude + struct.pack("!I", crc32(prelude)) + head + payload
    return written + struct.pack("!I", crc32(written))


def event(kind: str, content: Any) -> bytes:
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return frame(headers, json.dumps(content).encode())


def chunk(content: Any) -> bytes:
    """A chunk of InvokeModelWithResponseStream: the model's event in base64, and padding of any length."""
    held = base64.b64encode(json.dumps(content).encode()).decode()
    return event("chunk", {"bytes": held, "p": "abcdefghij"[: len(held) % 10]})


def exception(kind: str, message: str) -> bytes:
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return frame(headers, json.dumps({"message": message}).encode())
