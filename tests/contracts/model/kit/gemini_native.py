"""Gemini's own wire as a server of the kit. Its rules and its form stand in `tests.support.gemini_server`, each with its
source.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from tests.contracts.model.kit.plays import ModelSpeech, Speak, Think, ToolUse
from tests.contracts.model.kit.rules import ErrorResponse, Rule, ServerMemory
from tests.contracts.model.kit.server import KitServer, Provider
from tests.support.gemini_server import RULES as CHECKS
from tests.support.gemini_server import GeminiServer, RuleBroken
from tests.support.provider_http import Recorded, Wire

BYTES_PER_TOKEN = 4
LIMIT = (
    "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: "
    "https://ai.google.dev/gemini-api/docs/rate-limits. Please retry in 7.00289993s."
)
"""The text of a limit per minute, which reads as if the account were empty (google-gemini/gemini-cli#8437, #8883)."""
RETRY: Wire = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}
"""The wait, which is told here and in the text, not in a header."""
SOURCE = "ai.google.dev/gemini-api/docs (function-calling, thought-signatures, thinking) and ai.google.dev/api/generate-content"


def model_of(asked: Recorded) -> str:
    """The model that the path names."""
    return asked.path.rpartition("/")[2].partition(":")[0]


def refusal(asked: Recorded, message: str, status: int = 400, kind: str = "INVALID_ARGUMENT", **more: Any) -> ErrorResponse:
    """Google's form; an array where a stream was asked for."""
    error = {"error": {"code": status, "message": message, "status": kind} | more}
    return ErrorResponse(status, [error] if ":stream" in asked.path else error)


def _rule(check: Any) -> Rule:
    def broken(asked: Recorded, memory: ServerMemory) -> ErrorResponse | None:
        try:
            check(SimpleNamespace(issued=set(memory.seals)), asked.body, model_of(asked))
        except RuleBroken as error:
            return refusal(asked, str(error))
        return None

    return Rule(f"gemini_{check.__name__}", f"{SOURCE}: {check.__doc__}", broken)


class NativeGeminiServer(KitServer, GeminiServer):
    """The wire. The parts of a reply stay in their order, and the first call of each step is signed."""

    def items(self, play: ModelSpeech, asked: Recorded) -> Sequence[Wire]:
        parts: list[Wire] = []
        for part in play.parts:
            match part:
                case Think(text):
                    parts.append({"text": text, "thought": True})
                case Speak(text):
                    parts.append({"text": text})
                case ToolUse(name, arguments):
                    made: Wire = {"functionCall": {"id": self.new_id("fc-"), "name": name, "args": dict(arguments)}}
                    if not any("functionCall" in each for each in parts):
                        made["thoughtSignature"] = self._sealed(model_of(asked), parts, made["functionCall"])
                    parts.append(made)
        return parts

    def _sealed(self, model: str, before: list[Wire], call: Wire) -> str:
        signature = self._sign(model, before, {"name": call["name"], "arguments": call["args"]})
        self.memory.seals[signature] = call
        return signature

    def ending(self, play: ModelSpeech, items: Sequence[Wire]) -> Wire:
        del items
        return {"finish_reason": "SAFETY" if play.refused else "STOP"}

    def used(self, whole: int, cached: int, play: ModelSpeech) -> Wire:
        del play
        prompt, known = whole // BYTES_PER_TOKEN, cached // BYTES_PER_TOKEN
        counts = {
            "promptTokenCount": prompt,
            "cachedContentTokenCount": known,
            "candidatesTokenCount": 11,
            "thoughtsTokenCount": 9,
        }
        return counts | {"totalTokenCount": prompt + 20}

    def prompt(self, asked: Recorded) -> bytes:
        """Implicit caching finds common beginnings (ai.google.dev/gemini-api/docs/caching): tools and instruction, then the
        contents.
        """
        body = asked.body
        return json.dumps([body.get("tools"), body.get("systemInstruction"), body["contents"]]).encode()

    def fault(self, kind: str) -> ErrorResponse:
        asked = self.requests[-1]
        match kind:
            case "too_long":
                return refusal(asked, "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).")
            case "rate_limit":
                return refusal(asked, LIMIT, 429, "RESOURCE_EXHAUSTED", details=[RETRY])
            case "wrong_key":
                return refusal(asked, "API key not valid. Please pass a valid API key.")
            case "no_credit":
                text = "Gemini API free tier is not available in your country. Please enable billing on your project."
                return refusal(asked, text, 400, "FAILED_PRECONDITION")
            case "image":
                return refusal(asked, "Unable to process input image. Please retry or report.")
            case "gone":
                return refusal(asked, f"models/{self.provider.model} is not found for API version v1beta.", 404, "NOT_FOUND")
            case _:
                return refusal(asked, "The model is overloaded. Please try again later.", 503, "UNAVAILABLE")

    def _parts(self, say: Wire) -> list[Wire]:
        return list(say["items"])

    def _finish(self, say: Wire) -> str:
        return str(say["finish_reason"])


def _variables(address: str) -> Mapping[str, str]:
    return {"GEMINI_API_KEY": "sk-kit", "GEMINI_BASE_URL": f"{address}/v1beta"}


RULES = tuple(_rule(check) for check in CHECKS)
GEMINI_NATIVE = Provider("gemini", "google_ai/gemini-3.8-flash", NativeGeminiServer, RULES, _variables)
PROVIDERS = (GEMINI_NATIVE,)
