"""OpenAI's Responses API as a server of the kit: what it says. What it refuses stands in `responses_rules`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tests.contracts.model.kit.chat_server import BYTES_PER_TOKEN, refusal
from tests.contracts.model.kit.openai_chat import MOST_TOOLS
from tests.contracts.model.kit.plays import ModelSpeech, Speak, Think, ToolUse
from tests.contracts.model.kit.responses_rules import MODELS, RESPONSES_RULES, effort_of, items_of
from tests.contracts.model.kit.rules import ErrorResponse, ServerMemory
from tests.contracts.model.kit.server import KitServer, Provider
from tests.support.provider_http import Recorded, Wire, as_text
from tests.support.responses_server import ScriptedResponses


class ResponsesServer(KitServer, ScriptedResponses):
    """The wire. A model thinks unless its effort is `none`, and its thoughts are sealed if that is asked for."""

    most_tools = MOST_TOOLS

    def answer(self, asked: Recorded) -> Wire:
        if asked.body.get("model") == "gpt-6.2-astra":
            self.memory.dropped += _behind_a_changed_prefix(asked, self.memory)
        return super().answer(asked)

    def items(self, play: ModelSpeech, asked: Recorded) -> Sequence[Wire]:
        made = [self._made(part, play, asked) for part in play.parts]
        return [item for item in made if item is not None]

    def _made(self, part: Think | Speak | ToolUse, play: ModelSpeech, asked: Recorded) -> Wire | None:
        match part:
            case Think():
                return self._thought(part.text, asked) if effort_of(asked) != "none" else None
            case Speak():
                calls = any(isinstance(each, ToolUse) for each in play.parts)
                made = {"id": self.new_id("msg_"), "type": "message", "role": "assistant", "status": "completed"}
                said: Wire = {"type": "output_text", "text": part.text, "annotations": [], "logprobs": []}
                content = {"type": "refusal", "refusal": part.text} if play.refused else said
                return made | {"content": [content], "phase": "commentary" if calls else "final_answer"}
            case ToolUse():
                call = {"id": self.new_id("fc_"), "type": "function_call", "status": "completed", "call_id": self.new_id("call_")}
                return call | {"name": part.name, "arguments": as_text(dict(part.arguments))}

    def _thought(self, text: str, asked: Recorded) -> Wire:
        """Reasoning; a summary only if it is asked for."""
        shown = (asked.body.get("reasoning") or {}).get("summary")
        made: Wire = {"id": self.new_id("rs_"), "type": "reasoning", "summary": [], "content": None, "encrypted_content": None}
        if shown:
            made["summary"] = [{"type": "summary_text", "text": text}, {"type": "summary_text", "text": "That is why."}]
        if "reasoning.encrypted_content" in (asked.body.get("include") or ()):
            made["encrypted_content"] = f"gAAAAA{self.new_id('')}"
            self.memory.seals[made["encrypted_content"]] = made
        return made

    def ending(self, play: ModelSpeech, items: Sequence[Wire]) -> Wire:
        del play, items
        return {"finish_reason": "stop"}

    def used(self, whole: int, cached: int, play: ModelSpeech) -> Wire:
        del play
        prompt, known = whole // BYTES_PER_TOKEN, cached // BYTES_PER_TOKEN
        return {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": known, "cache_write_tokens": prompt - known},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 9},
            "total_tokens": prompt + 20,
        }

    def prompt(self, asked: Recorded) -> bytes:
        """The order of `PromptCacheDiagnosticsCacheMiss` (openai/types/responses/response.py): settings and tools before the
        input.
        """
        body = asked.body
        return json.dumps([body["model"], body.get("tools"), body.get("text"), body.get("reasoning"), body["input"]]).encode()

    def fault(self, kind: str) -> ErrorResponse:
        match kind:
            case "too_long":
                text = "Your input exceeds the context window of this model. Please adjust your input and try again."
                return refusal(text, code="context_length_exceeded", param="input")
            case "rate_limit":
                said = refusal("Rate limit reached for this model. Please try again in 7s.", 429, code="rate_limit_exceeded")
                return ErrorResponse(said.status, said.body, {"retry-after": "7"})
            case "wrong_key":
                return refusal("Incorrect API key provided.", 401, code="invalid_api_key")
            case "no_credit":
                text = "You exceeded your current quota, please check your plan and billing details."
                return refusal(text, 429, code="insufficient_quota")
            case "image":
                return refusal(
                    "The image data you provided does not represent a valid image.", code="image_parse_error", param="input"
                )
            case "gone":
                return refusal(f"The model `{self.provider.model}` does not exist.", 404, code="model_not_found")
            case _:
                return refusal("The server is overloaded. Please try again later.", 503, code="server_error")

    def _frame(self, status: str) -> Wire:
        return super()._frame(status) | {"model": self.requests[-1].body["model"]}


def _behind_a_changed_prefix(asked: Recorded, memory: ServerMemory) -> int:
    """How much reasoning GPT-6.2 withholds: what stood before it is not what the model saw (guides/keep-prefix-unchanged)."""
    saw = {item["id"]: each.asked.body for each in memory.issued for item in each.items if item["type"] == "reasoning"}
    dropped = 0
    for at, item in items_of(asked, "reasoning"):
        then = saw.get(item["id"], {"input": None})
        same = then["input"] == asked.body["input"][: len(then["input"] or ())] and then.get("tools") == asked.body.get("tools")
        dropped += at >= 0 and not same
    return dropped


def _variables(address: str) -> Mapping[str, str]:
    return {"OPENAI_API_KEY": "sk-kit", "OPENAI_BASE_URL": f"{address}/v1", "OPENAI_WIRE": "responses"}


def _provider(model: str) -> Provider:
    lists = [{"id": each} for each in MODELS if each != model]
    return Provider(f"openai-responses-{model}", f"openai/{model}", ResponsesServer, RESPONSES_RULES, _variables, lists=lists)


class AzureResponsesServer(ResponsesServer):
    """Azure's v1 route (learn.microsoft.com/azure/foundry/openai/how-to/responses). Its list names no deployment."""

    prefix = "/openai/v1"

    @property
    def chat_models(self) -> list[str]:
        return []


def _azure(address: str) -> Mapping[str, str]:
    return {"AZURE_API_KEY": "sk-kit", "AZURE_BASE_URL": address, "AZURE_WIRE": "responses"}


AZURE = Provider("azure-responses", "azure/gpt-6-astra", AzureResponsesServer, RESPONSES_RULES, _azure)
"""A deployment with its model's name; this model takes tools by this wire alone."""
PROVIDERS = (*(_provider(model) for model in ("gpt-5.4", "gpt-5.6-sol", "gpt-6-astra", "gpt-6.2-astra")), AZURE)
