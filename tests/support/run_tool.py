"""The `run_tool` function without AWS: a client whose Invoke calls the real handler, JSON in and out as Lambda does it."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from typing import Any

from functions.run_tool.handler import handler
from hibernaut.ports.tools.tool_runner import ToolRunner


@dataclass
class LambdaContext:
    memory_limit_in_mb: int | str = 1769
    seconds_left: float = 900.0

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds_left * 1000)


@dataclass
class HandlerClient:
    """The part of boto3's Lambda client that `LambdaRunner` uses. It records the requests. `runner`: that of the function, if not
    its own.
    """

    runner: ToolRunner | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)

    def invoke(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        reply = handler(json.loads(request["Payload"]), LambdaContext(), self.runner)
        return {"StatusCode": 200, "Payload": io.BytesIO(json.dumps(reply, ensure_ascii=False).encode())}
