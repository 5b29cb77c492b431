"""A server on loopback that implements Gemini's `generateContent` and enforces its documented rules.

`tests.support.provider_servers` describes the scripts. `signed` False omits thought signatures (Gemini 2.5). A request that
breaks a rule gets a 400 in Google's form, whatever the script says. Sources: [G] ai.google.dev/api/generate-content and
/api/caching (REST reference), [F] ai.google.dev/gemini-api/docs/function-calling, [S] …/docs/thought-signatures, [T]
…/docs/thinking.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from tests.support.provider_http import Recorded, ScriptedServer, Wire, pieces

FOREIGN = "skip_thought_signature_validator"  # [S]: for calls that another model made
TOP = {
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "generationConfig",
    "safetySettings",
    "cachedContent",
    "labels",
}  # [G]
PART = {"text", "thought", "thoughtSignature", "inlineData", "fileData", "functionCall", "functionResponse"}  # [G] Part
GENERATION = {"temperature", "topP", "topK", "maxOutputTokens", "stopSequences", "candidateCount", "frequencyPenalty", "presencePenalty",
              "seed", "responseMimeType", "responseSchema", "responseJsonSchema", "responseLogprobs", "logprobs", "thinkingConfig"}  # fmt: skip


class RuleBroken(Exception):
    """A request that Google refuses."""


class GeminiServer(ScriptedServer):
    """The server. `refusals`: the rules that requests broke. `usage`: the usage object of the wire."""

    prefix = "/v1beta"
    usage: ClassVar[Wire] = {"promptTokenCount": 12, "candidatesTokenCount": 5, "totalTokenCount": 17}

    def __init__(self, *args: Any, **fields: Any) -> None:
        self.refusals: list[str] = []
        self.issued: set[str] = set()
        super().__init__(*args, **fields)

    def serves(self, path: str) -> bool:
        return re.fullmatch(r"/v1beta/models/[\w.%-]+:(generateContent|streamGenerateContent\?alt=sse)", path) is not None

    def streams(self, request: Recorded) -> bool:
        return ":stream" in request.path

    def answer(self, request: Recorded) -> Wire:
        model = request.path.rpartition("/")[2].partition(":")[0]
        try:
            self._check(request.body, model)
        except RuleBroken as rule:
            self.refusals.append(str(rule))
            error = {"code": 400, "message": str(rule), "status": "INVALID_ARGUMENT"}
            # A stream's refusal is an array (googleapis/python-genai: errors of streamGenerateContent).
            return {"status": 400, "body": [{"error": error}] if self.streams(request) else {"error": error}}
        tools = request.body.get("tools") or [{}]
        return self.script(request.body["contents"], tools[0].get("functionDeclarations", [])) | {"model": model}

    def listing(self) -> Wire:
        rows = [
            {"name": f"models/{model['id']}", "supportedGenerationMethods": ["generateContent"]} | model for model in self.models
        ]
        return {"models": [{key: value for key, value in row.items() if key != "id"} for row in rows]}

    def whole(self, say: Wire) -> Wire:
        return self._frame(self._parts(say), self._finish(say), say)

    def events(self, say: Wire) -> Iterator[bytes]:
        parts = self._parts(say)
        for part in parts:
            whole = part.keys() <= {"text", "thought"}
            for piece in pieces(part["text"]) if whole else [None]:
                yield self._event(self._frame([part | {"text": piece} if whole else part], None, say))
        yield self._event(self._frame([], self._finish(say), say))

    def _frame(self, parts: list[Wire], finish: str | None, say: Wire) -> Wire:
        candidate: Wire = {"content": {"role": "model", "parts": parts}, "index": 0} | (
            {"finishReason": finish} if finish else {}
        )
        if told := say.get("logprobs") if finish else None:
            candidate["logprobsResult"] = {
                "chosenCandidates": [_candidate(token) for token in told],
                "topCandidates": [{"candidates": [_candidate(each) for each in token["top_logprobs"]]} for token in told],
            }
        used = {"usageMetadata": say.get("usage", self.usage)} if finish else {}
        return {"candidates": [candidate], "modelVersion": "gemini-test-001", "responseId": "resp-1"} | used

    def _finish(self, say: Wire) -> str:
        names = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
        finish = say.get("finish_reason", "stop")
        return names.get(finish, finish)

    def _parts(self, say: Wire) -> list[Wire]:
        """The parts of a reply: thought, text, calls. Of several calls only the first is signed [S]."""
        parts: list[Wire] = [{"text": say["reasoning"], "thought": True}] if say.get("reasoning") else []
        parts += [{"text": say["content"]}] if say.get("content") else []
        for place, call in enumerate(say.get("tool_calls") or ()):
            made: Wire = {"functionCall": {"name": call["name"], "args": call["arguments"]}}
            if say.get("ids", True):
                made["functionCall"]["id"] = call["id"]
            if place == 0 and say.get("signed", True):
                made["thoughtSignature"] = self._sign(say["model"], parts, call)
            parts.append(made)
        return parts

    def _sign(self, model: str, parts: list[Wire], call: Wire) -> str:
        signature = f"sig:{model}:{json.dumps([parts, call['name'], call['arguments']], sort_keys=True)}"
        self.issued.add(signature)
        return signature

    def _event(self, data: Wire) -> bytes:
        return f"data: {json.dumps(data)}\r\n\r\n".encode()

    def _check(self, body: Wire, model: str) -> None:
        for rule in RULES:
            rule(self, body, model)


def known_fields(server: GeminiServer, body: Wire, model: str) -> None:
    """Unknown names are refused: `Invalid JSON payload received. Unknown name` [G]."""
    config = body.get("generationConfig") or {}
    parts = [part for content in body["contents"] for part in content["parts"]]
    unknown = [*(body.keys() - TOP), *(config.keys() - GENERATION), *(name for part in parts for name in part.keys() - PART)]
    if unknown:
        raise RuleBroken(f'Invalid JSON payload received. Unknown name "{unknown[0]}": Cannot find field.')


def turns(server: GeminiServer, body: Wire, model: str) -> None:
    """Contents have the role user or model, none is empty, and the first one is the user's [G]."""
    if not body["contents"] or any(not content["parts"] for content in body["contents"]):
        raise RuleBroken("contents must not be empty")
    if body["contents"][0]["role"] != "user" or {content["role"] for content in body["contents"]} - {"user", "model"}:
        raise RuleBroken("Please use a valid role: user, model.")


def responses_follow_calls(server: GeminiServer, body: Wire, model: str) -> None:
    """The next content has the responses of all calls, in the same number, with the same names and ids [F]."""
    for place, content in enumerate(body["contents"]):
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        after = body["contents"][place + 1]["parts"] if place + 1 < len(body["contents"]) else []
        answers = [part["functionResponse"] for part in after if "functionResponse" in part]
        if calls and [(one["name"], one.get("id")) for one in calls] != [(one["name"], one.get("id")) for one in answers]:
            raise RuleBroken(
                "Please ensure that the number of function response parts is equal to the number of function call parts."
            )
    first = [part for part in body["contents"][0]["parts"] if "functionResponse" in part]
    if first:
        raise RuleBroken("Please ensure that function response turn comes immediately after a function call turn.")


def signatures(server: GeminiServer, body: Wire, model: str) -> None:
    """From Gemini 3 on, the first call of each step of the current turn has its own signature; no signature is invented or moved
    [S].
    """
    sent = [
        (place, part, content)
        for place, content in enumerate(body["contents"])
        for part in content["parts"]
        if content["role"] == "model"
    ]
    begins = [
        place for place, content in enumerate(body["contents"]) if content["role"] == "user" and "text" in content["parts"][0]
    ]
    for place, part, content in sent:
        calls = [one for one in content["parts"] if "functionCall" in one]
        if (
            not re.match(r"gemini-(1|2)\b", model)
            and place > max(begins, default=-1)
            and part in calls[:1]
            and "thoughtSignature" not in part
        ):
            raise RuleBroken(
                f"Function call is missing a thought_signature in functionCall parts. Additional data, position {place}."
            )
        signature = part.get("thoughtSignature")
        if signature is None or signature == FOREIGN:
            continue
        if signature not in server.issued or not signature.startswith(f"sig:{model}:"):
            raise RuleBroken("Corrupted thought signature.")
        before = content["parts"][: content["parts"].index(part)]
        if (
            signature
            != f"sig:{model}:{json.dumps([before, part['functionCall']['name'], part['functionCall']['args']], sort_keys=True)}"
        ):
            raise RuleBroken("Corrupted thought signature.")


def thinking(server: GeminiServer, body: Wire, model: str) -> None:
    """A level or a budget, never both; a level from Gemini 3 on; 2.5 Pro cannot switch thinking off; older models take neither
    [T].
    """
    config = (body.get("generationConfig") or {}).get("thinkingConfig")
    if config is None:
        return
    if {"thinkingLevel", "thinkingBudget"} <= config.keys():
        raise RuleBroken("You can only set only one of thinking budget and thinking level.")
    if re.match(r"gemini-(1|2\.0)", model):
        raise RuleBroken("Unable to submit request because thinking is not supported by this model.")
    if "thinkingLevel" in config and re.match(r"gemini-2", model):
        raise RuleBroken("Thinking level is not supported for this model.")
    if "thinkingBudget" in config and not re.match(r"gemini-2", model):
        raise RuleBroken("Use thinking_level: thinking budgets are not supported for this model.")
    if config.get("thinkingBudget") == 0 and "2.5-pro" in model:
        raise RuleBroken("Budget 0 is invalid. This model only works in thinking mode.")


def calling(server: GeminiServer, body: Wire, model: str) -> None:
    """Allowed names must be declared, and are valid only with ANY or VALIDATED [G FunctionCallingConfig]."""
    config = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    declared = {tool["name"] for group in body.get("tools") or () for tool in group["functionDeclarations"]}
    allowed = config.get("allowedFunctionNames")
    if allowed is None:
        return
    if config["mode"] not in ("ANY", "VALIDATED"):
        raise RuleBroken("Allowed function names should only be set when the mode is ANY or VALIDATED.")
    if not allowed or not set(allowed) <= declared:
        raise RuleBroken("Allowed function names must be a non-empty subset of the declared functions.")


def formats(server: GeminiServer, body: Wire, model: str) -> None:
    """Before Gemini 3, a JSON type and functions exclude each other [F]."""
    config = body.get("generationConfig") or {}
    if body.get("tools") and config.get("responseMimeType") and re.match(r"gemini-[12]\b", model):
        raise RuleBroken("Function calling with a response mime type: 'application/json' is unsupported")


RULES: list[Callable[[GeminiServer, Wire, str], None]] = [
    known_fields, turns, responses_follow_calls, signatures, thinking, calling, formats
]  # fmt: skip


def _candidate(token: Wire) -> Wire:
    """A token in Gemini's form (ai.google.dev/api/generate-content, `LogprobsResult.Candidate`)."""
    return {"token": token["token"], "tokenId": 7, "logProbability": token["logprob"]}
