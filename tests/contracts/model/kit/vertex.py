"""Gemini on Vertex AI as a server of the kit: Gemini's rules, and what differs there."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.contracts.model.kit.gemini_native import RULES as GEMINI_RULES
from tests.contracts.model.kit.gemini_native import NativeGeminiServer, refusal
from tests.contracts.model.kit.plays import ModelSpeech
from tests.contracts.model.kit.rules import ErrorResponse, Rule, ServerMemory
from tests.contracts.model.kit.server import Provider
from tests.support.google_tokens import shared_token_server
from tests.support.provider_http import Recorded, Wire

PROJECT, LOCATION = "test-project", "europe-west4"
PUBLISHER = f"/v1/projects/{PROJECT}/locations/{LOCATION}/publishers/google"


def _parts(asked: Recorded, name: str) -> list[Wire]:
    return [part[name] for content in asked.body["contents"] for part in content["parts"] if name in part]


def bearer_token(asked: Recorded, memory: ServerMemory) -> ErrorResponse | None:
    """A request has an access token that the token service issued, and no key."""
    del memory
    sent = asked.headers.get("authorization", "").removeprefix("Bearer ")
    if sent in shared_token_server().issued and "x-goog-api-key" not in asked.headers:
        return None
    text = (
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid credential."
    )
    return refusal(asked, text, 401, "UNAUTHENTICATED")


def no_call_ids(asked: Recorded, memory: ServerMemory) -> ErrorResponse | None:
    """Ids of calls and responses are unknown names."""
    del memory
    for name, field in (("functionCall", "function_call"), ("functionResponse", "function_response")):
        if any("id" in each for each in _parts(asked, name)):
            text = f"Invalid JSON payload received. Unknown name \"id\" at 'contents[1].parts[0].{field}': Cannot find field."
            return refusal(asked, text)
    return None


def names_with_a_forced_call_alone(asked: Recorded, memory: ServerMemory) -> ErrorResponse | None:
    """Allowed function names come with the mode ANY alone."""
    del memory
    config = asked.body.get("toolConfig", {}).get("functionCallingConfig", {})
    if "allowedFunctionNames" in config and config.get("mode") != "ANY":
        return refusal(
            asked, "Function calling config is set to AUTO mode but allowed_function_names is set, which requires ANY mode."
        )
    return None


def files_with_their_type(asked: Recorded, memory: ServerMemory) -> ErrorResponse | None:
    """A file names its media type."""
    del memory
    if any(not each.get("mimeType") for each in _parts(asked, "fileData")):
        return refusal(asked, "Unable to submit request because it must have a mimeType parameter. Add a mimeType and try again.")
    return None


class VertexServer(NativeGeminiServer):
    """The wire, at the address of a project and a location."""

    prefix = ""

    def serves(self, path: str) -> bool:
        return (
            re.fullmatch(re.escape(PUBLISHER) + r"/models/[\w.%-]+:(generateContent|streamGenerateContent\?alt=sse)", path)
            is not None
        )

    def listed(self, request: Recorded) -> Wire:
        if not request.path.startswith("/v1beta1/publishers/google/models?"):
            return {"status": 404, "body": {"error": {"code": 404, "message": "Not Found", "status": "NOT_FOUND"}}}
        if bearer_token(request, self.memory):
            return {"status": 401, "body": {"error": {"code": 401, "message": "no token", "status": "UNAUTHENTICATED"}}}
        rows = [{"name": f"publishers/google/models/{model['id']}", "versionId": "default"} for model in self.models]
        return {"raw": json.dumps({"publisherModels": rows}).encode()}

    def items(self, play: ModelSpeech, asked: Recorded) -> Sequence[Wire]:
        """Calls have no ids there."""
        parts = super().items(play, asked)
        for part in parts:
            part.get("functionCall", {}).pop("id", None)
        return parts

    def fault(self, kind: str) -> ErrorResponse:
        asked = self.requests[-1]
        match kind:
            case "wrong_key":
                return refusal(asked, "Request had invalid authentication credentials.", 401, "UNAUTHENTICATED")
            case "no_credit":
                text = "This API method requires billing to be enabled. Please enable billing on project #1."
                return refusal(asked, text, 403, "PERMISSION_DENIED")
            case _:
                return super().fault(kind)


def _variables(address: str) -> Mapping[str, str]:
    return {
        "GOOGLE_CLOUD_PROJECT": PROJECT,
        "GOOGLE_CLOUD_LOCATION": LOCATION,
        "GOOGLE_APPLICATION_CREDENTIALS": shared_token_server().credentials(),
        "GOOGLE_VERTEX_BASE_URL": address,
    }


_OWN: tuple[tuple[Any, str], ...] = (
    (bearer_token, "cloud.google.com/vertex-ai/docs/authentication"),
    (no_call_ids, "vercel/ai#15664, charmbracelet/fantasy#265, looplj/axonhub#874"),
    (names_with_a_forced_call_alone, "tensorzero/tensorzero#4875; cloud.google.com/vertex-ai docs, FunctionCallingConfig"),
    (files_with_their_type, "cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference, fileData"),
)
RULES = (*(Rule(f"vertex_{check.__name__}", source, check) for check, source in _OWN), *GEMINI_RULES)
VERTEX = Provider("vertex", "google_vertex/gemini-3.8-flash", VertexServer, RULES, _variables)
PROVIDERS = (VERTEX,)
