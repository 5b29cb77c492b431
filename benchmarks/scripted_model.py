"""A model without latency: a process that serves the needed part of the Chat Completions wire format, whole or streamed.

`python -m benchmarks.scripted_model` prints its address. A number as argument is the latency of each reply in seconds. The answer
to a user message "steps=N" is N tool calls, one in each step, and then a text; to "words=N rate=R" it is N tokens in paragraphs,
at R tokens a second. The answer to "what time is it" is the time at which the reply is written.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from functools import partial

WORDS = re.compile(r"word \S+\s*|\S+\s*")
CLOCK = "what time is it"
STEPS = re.compile(r"steps=(\d+)")
PACED = re.compile(r"words=(\d+) rate=(\d+)")
PARAGRAPH = 40
"""Tokens of a paragraph."""
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
        said = f"{time.time()} is the time." if messages and messages[last].get("content") == CLOCK else "Noted."
        if paced := pace(body):
            said = "".join(f"word {n}" + (".\n\n" if n % PARAGRAPH == PARAGRAPH - 1 else " ") for n in range(paced[0]))
        message, finish = {"role": "assistant", "content": said}, "stop"
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return json.dumps(
        {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
    ).encode()


def pace(body: dict[str, list[dict[str, str]]]) -> tuple[int, int] | None:
    """How many tokens the newest user message wants, and how many of them in a second."""
    users = [str(one.get("content", "")) for one in body.get("messages", []) if one["role"] == "user"]
    found = PACED.search(users[-1]) if users else None
    return (int(found.group(1)), int(found.group(2))) if found else None


def pieces(reply: bytes) -> list[bytes]:
    """The reply as server-sent events, one word in each."""
    whole = json.loads(reply)
    choice, usage = whole["choices"][0], whole["usage"]
    message = choice["message"]
    deltas = [{"role": "assistant", "content": ""}]
    deltas += [{"content": word} for word in WORDS.findall(message["content"] or "")]
    for index, call in enumerate(message.get("tool_calls", ())):
        deltas.append({"tool_calls": [{"index": index, **call}]})
    frame = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    chunks = [{**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    chunks.append({**frame, "choices": [], "usage": usage})
    return [*(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks), b"data: [DONE]\n\n"]


async def send_stream(writer: asyncio.StreamWriter, reply: bytes, rate: int = 0) -> None:
    """`rate`: pieces in a second; 0: at once. A piece that is late is followed by the next one without a pause."""
    begun = time.monotonic()
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    for sent, piece in enumerate(pieces(reply), 1):
        writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        await writer.drain()
        if rate and (early := begun + sent / rate - time.monotonic()) > 0:
            await asyncio.sleep(early)
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, latency: float) -> None:
    """Serve one connection, which is kept alive. `latency`: seconds before each reply."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        body = await reader.readexactly(int(length.group(1))) if length else b"{}"
        if head.startswith(b"GET"):
            reply = json.dumps(
                {"object": "list", "data": [{"id": "m", "object": "model", "created": 0, "owned_by": "b"}]}
            ).encode()
        else:
            asked = json.loads(body)
            await asyncio.sleep(latency)
            reply = answer(asked)
            if asked.get("stream"):
                paced = pace(asked)
                await send_stream(writer, reply, paced[1] if paced else 0)
                continue
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(reply) + reply)
        await writer.drain()


async def quietly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, latency: float) -> None:
    try:
        await serve(reader, writer, latency)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    latency = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
    server = await asyncio.start_server(partial(quietly, latency=latency), "127.0.0.1", 0, limit=64 * 1024 * 1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
