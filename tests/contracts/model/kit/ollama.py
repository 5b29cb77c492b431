"""Ollama: the compatible route cuts a prompt silently to the window of the loaded model, which only its own routes tell.

Source: docs.ollama.com/api/ps (`context_length`), /api/show (`model_info`, `parameters`), docs.ollama.com/context-length
(defaults by memory); ralphgrewe/TradingAgents#168 and ollama/ollama#5902 (cut without an error), ollama/ollama#18229 (what the
loaded length comes from); ollama/ollama#15457 (all streamed calls have the index 0).
"""

from __future__ import annotations

import json

from tests.contracts.model.kit.chat_server import BYTES_PER_TOKEN, ChatServer, Traits
from tests.contracts.model.kit.server import Provider
from tests.support.provider_http import Recorded, Wire

LOADED_WINDOW, TRAINED_WINDOW = 8192, 40_960


class OllamaServer(ChatServer):
    """`cut` counts the prompts that were longer than the window and lost their beginning."""

    traits = Traits(thoughts="reasoning", calls_whole=True, counts=False)
    window = LOADED_WINDOW

    def __init__(self, provider: Provider) -> None:
        super().__init__(provider)
        self.cut = 0

    def serves(self, path: str) -> bool:
        return super().serves(path) or path == "/api/show"

    def answer(self, asked: Recorded) -> Wire:
        if asked.path == "/api/show":
            self.requests.remove(asked)
            return {"raw": json.dumps(self._shown()).encode()}
        self.cut += len(self.prompt(asked)) // BYTES_PER_TOKEN > LOADED_WINDOW
        return super().answer(asked)

    def listed(self, asked: Recorded) -> Wire:
        if asked.path == "/api/ps":
            model = self.provider.model
            loaded = {"name": model, "model": model, "context_length": LOADED_WINDOW, "expires_at": "2026-12-01T00:00:00Z"}
            return {"raw": json.dumps({"models": [loaded]}).encode()}
        return super().listed(asked)

    def _shown(self) -> Wire:
        return {
            "parameters": "temperature 0.6\ntop_p 0.95",
            "model_info": {"general.architecture": "qwen3", "qwen3.context_length": TRAINED_WINDOW},
            "capabilities": ["completion", "tools", "thinking"],
        }
