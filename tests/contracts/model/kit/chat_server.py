"""Chat Completions as servers of the kit: OpenAI's own and those that are compatible with it, each with its traits.

The traits are facts about what a server sends; what it refuses are rules (`openai_chat`, `compatible`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tests.contracts.model.kit.plays import ModelSpeech, Speak, Think, ToolUse
from tests.contracts.model.kit.rules import ErrorResponse
from tests.contracts.model.kit.server import KitServer, Provider
from tests.support.provider_http import Recorded, Wire, as_text, pieces
from tests.support.provider_servers import ScriptedOpenAI

BYTES_PER_TOKEN = 4


@dataclass(frozen=True)
class Traits:
    """How a server's replies look where servers differ.

    `thoughts`: the member that holds the model's thoughts, `<think>` in the text, or None where there are none. `index`: the
    number of the first streamed call (pipecat-ai/pipecat#4987: 1 behind LiteLLM), None where there are no numbers
    (sgl-project/sglang#5661); `counts` False: all have the same (ollama/ollama#15457). `ids`: whether calls have an id, an empty
    one or none (continuedev/continue#13225). `calls_whole`: a call comes in one piece. `usage`: where it stands; `tells_usage`:
    also if it is not asked for. `errors`: the form of an error's
    body. `no_credit`, `wrong_key_status`: how an empty account and a wrong key are told. `call_id`: makes the id of the nth call.
    `signs`: each step's first call is signed.
    """

    thoughts: Literal["reasoning_content", "reasoning", "reasoning_details", "<think>", "<reasoning>"] | None = None
    index: int | None = 0
    counts: bool = True
    ids: Literal["given", "empty", "none"] = "given"
    calls_whole: bool = False
    usage: Literal["last", "x_groq", "choice", "top"] = "last"
    tells_usage: bool = False
    errors: Literal["object", "array", "raw", "mistral", "plain", "text"] = "object"
    call_id: Callable[[int], str] = lambda number: f"call_{number:024d}"
    signs: bool = False
    too_long: str = "This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens."
    too_long_status: int = 400
    limit: str = "Rate limit reached for this model. Please try again in 7s."
    limit_status: int = 429
    no_credit: str = "Insufficient Balance"
    no_credit_status: int = 402
    wrong_key_status: int = 401
    keep_alive: bytes = b""
    most_tools: int | None = None


def refusal(message: str, status: int = 400, *, code: Any = None, param: Any = None) -> ErrorResponse:
    """OpenAI's form (openai/types/shared/error_object.py)."""
    return ErrorResponse(status, {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}})


class ChatServer(KitServer, ScriptedOpenAI):
    """The wire with a provider's traits."""

    traits = Traits()

    def listing(self) -> Any:
        return super().listing()

    def items(self, play: ModelSpeech, asked: Recorded) -> Sequence[Wire]:
        """One message, as a whole reply holds it."""
        traits, message = self.traits, {"role": "assistant", "content": None}
        thoughts = "\n".join(part.text for part in play.parts if isinstance(part, Think))
        said = "\n".join(part.text for part in play.parts if isinstance(part, Speak))
        if traits.thoughts in ("<think>", "<reasoning>") and thoughts:
            said = f"{traits.thoughts}{thoughts}</{traits.thoughts[1:]}{said}"
        elif traits.thoughts == "reasoning_details" and thoughts:
            sealed = {
                "type": "reasoning.encrypted",
                "data": self.new_id("enc-"),
                "id": None,
                "format": "google-gemini-v1",
                "index": 0,
            }
            message |= {"reasoning": thoughts, "reasoning_details": [sealed]}
        elif traits.thoughts and thoughts:
            message[traits.thoughts] = thoughts
        message["content"] = said or None
        if calls := [self._made(part) for part in play.parts if isinstance(part, ToolUse)]:
            if traits.signs:
                calls[0]["extra_content"] = {"google": {"thought_signature": self.new_id("sig-")}}
            message["tool_calls"] = calls
        del asked
        return [message]

    def _made(self, call: ToolUse) -> Wire:
        self._issued += 1
        function = {"name": call.name, "arguments": as_text(dict(call.arguments))}
        made = {"id": self.traits.call_id(self._issued), "type": "function", "function": function}
        match self.traits.ids:
            case "empty":
                return made | {"id": ""}
            case "none":
                return {"type": "function", "function": function}
            case _:
                return made

    def ending(self, play: ModelSpeech, items: Sequence[Wire]) -> Wire:
        if play.refused:
            return {"finish_reason": "content_filter"}
        return {"finish_reason": "tool_calls" if items[0].get("tool_calls") else "stop"}

    def used(self, whole: int, cached: int, play: ModelSpeech) -> Wire:
        del play
        prompt, known = whole // BYTES_PER_TOKEN, cached // BYTES_PER_TOKEN
        counts: Wire = {"prompt_tokens": prompt, "completion_tokens": 20, "total_tokens": prompt + 20}
        if self.traits.usage == "top":
            return counts | {"cached_tokens": known}
        return counts | {"prompt_tokens_details": {"cached_tokens": known}, "completion_tokens_details": {"reasoning_tokens": 9}}

    def prompt(self, asked: Recorded) -> bytes:
        """Tools and messages, in the order in which they are rendered (platform.openai.com/docs/guides/prompt-caching)."""
        return json.dumps([asked.body.get("tools"), asked.body["messages"]]).encode()

    # the reply on the wire

    def whole(self, say: Wire) -> Wire:
        choice = {"index": 0, "message": say["items"][0], "finish_reason": say["finish_reason"]}
        return self._with_usage(self._frame(choices=[choice], object="chat.completion"), say["usage"])

    def events(self, say: Wire) -> Iterator[bytes]:
        message, beat = say["items"][0], self.traits.keep_alive
        yield self._delta({"role": "assistant", "content": ""})
        if beat:
            yield beat
        for name in ("reasoning_content", "reasoning", "content"):
            yield from (self._delta({name: piece}) for piece in pieces(message.get(name) or ""))
        if details := message.get("reasoning_details"):
            yield self._delta({"reasoning_details": details})
        for number, call in enumerate(message.get("tool_calls") or ()):
            yield from self._call_deltas(number, call)
        last = {"index": 0, "delta": {}, "finish_reason": say["finish_reason"]}
        if self.traits.usage == "choice":
            last["usage"] = say["usage"]
        frame = self._frame(choices=[last], object="chat.completion.chunk")
        yield self._event(self._with_usage(frame, say["usage"]) if self.traits.usage == "x_groq" else frame)
        if self.traits.usage in ("last", "top") and self._tells_usage():
            yield self._event(self._with_usage(self._frame(choices=[], object="chat.completion.chunk"), say["usage"]))
        yield b"data: [DONE]\n\n"

    def _tells_usage(self) -> bool:
        """Whether it is asked for (openai/types/chat/chat_completion_stream_options_param.py), or told always."""
        wanted = self.requests[-1].body.get("stream_options") or {}
        return bool(wanted.get("include_usage")) or self.traits.tells_usage

    def _call_deltas(self, number: int, call: Wire) -> Iterator[bytes]:
        begin, counts = self.traits.index, self.traits.counts
        place = {} if begin is None else {"index": begin + (number if counts else 0)}
        if self.traits.calls_whole:
            yield self._delta({"tool_calls": [call | place]})
            return
        function = call["function"]
        yield self._delta({"tool_calls": [call | place | {"function": function | {"arguments": ""}}]})
        for piece in pieces(function["arguments"]):
            yield self._delta({"tool_calls": [place | {"function": {"arguments": piece}}]})

    def _with_usage(self, frame: Wire, used: Wire) -> Wire:
        return frame | ({"x_groq": {"id": "req_1", "usage": used}} if self.traits.usage == "x_groq" else {"usage": used})

    def _frame(self, **fields: Any) -> Wire:
        return super()._frame(**fields) | {"model": self.requests[-1].body["model"]}

    # its refusals

    def fault(self, kind: str) -> ErrorResponse:
        traits = self.traits
        match kind:
            case "too_long":
                return self.error(traits.too_long, traits.too_long_status)
            case "rate_limit":
                said = self.error(traits.limit, traits.limit_status, code="rate_limit_exceeded")
                return ErrorResponse(said.status, said.body, {"retry-after": "7"})
            case "wrong_key":
                return self.error("Incorrect API key provided.", traits.wrong_key_status, code="invalid_api_key")
            case "no_credit":
                return self.error(traits.no_credit, traits.no_credit_status)
            case "image":  # ollama/ollama#17301
                return self.error("this model does not support image input", 400)
            case "gone":
                return self.error(f"The model `{self.provider.model}` does not exist.", 404, code="model_not_found")
            case _:
                return self.error("The server is overloaded. Please try again later.", 503)

    def error(self, message: str, status: int, *, code: Any = None) -> ErrorResponse:
        """An error in the provider's form."""
        match self.traits.errors:
            case "array":
                return ErrorResponse(status, [{"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}])
            case "raw":
                raw = json.dumps({"error": {"message": message, "code": status}})
                told = {"message": "Provider returned error", "code": status, "metadata": {"raw": raw, "provider_name": "Google"}}
                return ErrorResponse(status, {"error": told, "user_id": "user_1"})
            case "mistral":
                return ErrorResponse(
                    status,
                    {"object": "error", "message": message, "type": "invalid_request_error", "param": None, "code": "3051"},
                )
            case "plain":
                return ErrorResponse(
                    status, {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": status}
                )
            case "text":
                return ErrorResponse(status, {"code": "Client specified an invalid argument", "error": message})
            case _:
                return refusal(message, status, code=code)


def served(traits: Traits, prefix: str = "/v1") -> Callable[[Provider], ChatServer]:
    """Makes servers with these traits, with routes under this path."""
    return type("ChatServer", (ChatServer,), {"traits": traits, "prefix": prefix, "most_tools": traits.most_tools})
