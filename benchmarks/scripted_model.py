"""A model at zero latency: speaks just enough of the Chat Completions wire format, in a process of its own.

`python -m benchmarks.scripted_model` prints its address. A user message "steps=N" is answered with N tool calls, one a step, then with words.
"""

from __future__ import annotations

import asyncio
import json
import re

STEPS = re.compile(r"steps=(\d+)")
CALL = {"id": "call_0", "type": "function", "function": {"name": "memory_replace", "arguments": "{}"}}


def answer(body: dict[str, list[dict[str, str]]]) -> bytes:
    """The reply to one request."""
    messages = body.get("messages", [])
    last = max((place for place, one in enumerate(messages) if one["role"] == "user"), default=0)
    done = sum(1 for one in messages[last:] if one["role"] == "tool")
    asked = STEPS.search(str(messages[last].get("content", ""))) if messages else None
    if asked and done < int(asked.group(1)):
        old, new = f"Fact {done}.", f"Fact {done + 1}."
        arguments = json.dumps({"label": "human", "old_string": old if done else "Fact 0.", "new_string": new})
        call = {**CALL, "id": f"call_{done}", "function": {"name": "memory_replace", "arguments": arguments}}
        message, finish = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    else:
        message, finish = {"role": "assistant", "content": "Noted."}, "stop"
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return json.dumps(
        {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
    ).encode()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection, kept alive."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        body = await reader.readexactly(int(length.group(1))) if length else b"{}"
        if head.startswith(b"GET"):
            reply = json.dumps(
                {"object": "list", "data": [{"id": "m", "object": "model", "created": 0, "owned_by": "b"}]}
            ).encode()
        else:
            reply = answer(json.loads(body))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(reply) + reply)
        await writer.drain()


async def quietly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        await serve(reader, writer)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(quietly, "127.0.0.1", 0, limit=64 * 1024 * 1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
