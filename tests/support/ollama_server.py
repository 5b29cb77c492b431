"""Ollama on loopback, with its own routes (docs.ollama.com/api)."""

from __future__ import annotations

import json

from tests.support.provider_http import Recorded, Wire
from tests.support.provider_servers import ScriptedOpenAI


class ScriptedOllama(ScriptedOpenAI):
    """Ollama's own routes. `shows` are the facts of each model, `loaded` the windows of those in memory (docs.ollama.com/api)."""

    def __init__(self) -> None:
        super().__init__()
        self.shows: dict[str, Wire] = {}
        self.loaded: dict[str, int] = {}
        self.old = False

    def serves(self, path: str) -> bool:
        return super().serves(path) or path == "/api/show"

    def answer(self, asked: Recorded) -> Wire:
        if asked.path != "/api/show":
            return super().answer(asked)
        shown = self.shows[asked.body["model"]]
        if shown.get("silent"):
            return {"hang": True}
        return {"status": 500, "body": {"error": "broken"}} if shown.get("broken") else {"raw": json.dumps(shown).encode()}

    def listed(self, asked: Recorded) -> Wire:
        match asked.path:
            case "/api/tags":
                return {"raw": json.dumps({"models": [{"name": name, "model": name} for name in self.shows]}).encode()}
            case "/api/ps" if not self.old:
                rows = [{"name": name, "model": name, "context_length": window} for name, window in self.loaded.items()]
                return {"raw": json.dumps({"models": rows}).encode()}
            case _:
                return {"status": 404, "body": {}}
