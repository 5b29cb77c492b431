"""What a test reads of a reply."""

from __future__ import annotations

from typing import Any


def returns(response: Any) -> list[tuple[str, str]]:
    """Status and text of each return of a tool."""
    found = [message for message in response.messages if message.message_type == "tool_return_message"]
    return [(one.status, one.tool_return) for one in found]


def every_return(response: Any) -> list[tuple[str, str]]:
    """Status and text of each call, where a reply of the model had several."""
    found = [message for message in response.messages if message.message_type == "tool_return_message"]
    return [(one.status, one.tool_return) for message in found for one in message.tool_returns]
