"""Servers that enforce the documented rules of the providers' embedding routes. Each rule has its source beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from tests.support.google_tokens import shared_token_server
from tests.support.hashing_embedder import hashed
from tests.support.json_server import JsonServer

Body = dict[str, Any]
KEY = "sk-planted-secret-key"
ADDRESS = "http://address-of-the-server"


class Refused(Exception):
    """A request that breaks a rule of the provider."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


def needs(condition: bool, message: str, status: int = 400) -> None:
    if not condition:
        raise Refused(status, message)


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: Body


def vector(text: str, size: int, length: float = 3.0) -> list[float]:
    return [length * each for each in hashed(text.lower().split(), size)]


def words(texts: list[str]) -> int:
    return sum(len(text.split()) for text in texts)


@dataclass(frozen=True)
class OpenAIRules:
    """A route in OpenAI's format: its path, the members that it takes, and its limits (in words, of which each is a token or
    more).
    """

    path: str
    members: frozenset[str]
    most_texts: int
    most_words: int
    longest: int
    own_size: int
    sizes: frozenset[int] = frozenset()
    encodings: frozenset[str] = frozenset({"float", "base64"})
    kinds: frozenset[str] = frozenset()

    def __call__(self, asked: Asked) -> Body:
        body = asked.body
        needs(asked.headers.get("authorization") == f"Bearer {KEY}", "Incorrect API key provided", 401)
        needs(asked.path == self.path, "Not Found", 404)
        needs(set(body) <= self.members, f"extra_forbidden: {sorted(set(body) - self.members)}", 422)
        texts = body["input"]
        needs(
            isinstance(texts, list) and 0 < len(texts) <= self.most_texts, "Too many inputs in request, split into more batches."
        )
        needs(all(isinstance(text, str) and text for text in texts), "'$.input' is invalid: an empty string")
        needs(words(texts) <= self.most_words, "Requested too many tokens in the list")
        needs(max(len(text.split()) for text in texts) <= self.longest, "`inputs` must have less tokens", 413)
        if "encoding_format" in body:
            needs(body["encoding_format"] in self.encodings, "encoding_format is not one of the allowed values")
        if self.kinds:
            needs(body.get("input_type") in self.kinds, "input_type must be query or document")
        size = body.get("dimensions") or body.get("output_dimension") or self.own_size
        needs(size in self.sizes | {self.own_size}, "the model does not support this dimension")
        kind = str(body.get("input_type", ""))
        rows = [
            {"object": "embedding", "index": at, "embedding": vector(f"{kind} {text}", size)} for at, text in enumerate(texts)
        ]
        return {"object": "list", "model": body["model"], "data": rows[::-1]}


COMMON = frozenset({"model", "input", "encoding_format", "user"})
OPENAI = OpenAIRules("/v1/embeddings", COMMON | {"dimensions"}, 2048, 300_000, 8192, 1536, frozenset(range(1, 1536)))
# openai/types/embedding_create_params.py: at most 2,048 texts, 300,000 tokens, 8,192 each, none of them empty
AZURE = OpenAIRules("/openai/v1/embeddings", COMMON | {"dimensions"}, 2048, 300_000, 8192, 1536, frozenset(range(1, 1536)))
# learn.microsoft.com/azure/ai-foundry/openai/latest: the same members; at most 2,048 texts
MISTRAL = OpenAIRules(
    "/v1/embeddings",
    frozenset({"model", "input", "encoding_format", "output_dimension", "output_dtype"}),
    256,
    16_000,
    8192,
    1024,
)
# docs.mistral.ai/api/endpoint/embeddings; docs.rs/rig-core: 256 texts; other members are `extra_forbidden`
TOGETHER = OpenAIRules("/v1/embeddings", frozenset({"model", "input"}), 2048, 300_000, 512, 1024)
# docs.together.ai/reference/embeddings; bge-large-en-v1.5 reads 512 tokens
OPENROUTER = OpenAIRules(
    "/api/v1/embeddings", COMMON | {"dimensions", "provider", "input_type"}, 2048, 300_000, 8192, 1536, frozenset(range(1, 1536))
)  # openrouter.ai/docs/client-sdks/python/api-reference/embeddings
OLLAMA = OpenAIRules("/v1/embeddings", COMMON | {"dimensions"}, 2048, 300_000, 8192, 768)
# docs.ollama.com/api/openai-compatibility: input (text or texts), encoding_format, dimensions, user
LLAMACPP = OpenAIRules("/v1/embeddings", COMMON, 2048, 300_000, 8192, 1024)  # llama.cpp, tools/server/README.md
VLLM = OpenAIRules("/v1/embeddings", COMMON | {"dimensions"}, 2048, 300_000, 8192, 1024)
# docs.vllm.ai, serving/openai_compatible_server: `dimensions` is an error for a model without Matryoshka representation; a text
# beyond max_model_len is an error, unless truncate_prompt_tokens is set
SGLANG = OpenAIRules("/v1/embeddings", COMMON, 2048, 300_000, 8192, 1024)  # docs.sglang.ai/basic_usage/openai_api_embeddings.html
LMSTUDIO = OpenAIRules("/v1/embeddings", frozenset({"model", "input"}), 2048, 300_000, 2048, 768)
# lmstudio.ai/docs/developer/openai-compat/embeddings
TEI = OpenAIRules("/v1/embeddings", COMMON, 32, 16_384, 512, 384)
# huggingface/text-embeddings-inference#50 (32 texts), #218 (413 beyond 512 tokens, also with --auto-truncate)
VOYAGE = OpenAIRules(
    "/v1/embeddings",
    frozenset({"model", "input", "input_type", "truncation", "output_dimension", "output_dtype", "encoding_format"}),
    1000, 120_000, 32_000, 1024, frozenset({256, 512, 2048}), frozenset({"base64"}), frozenset({"query", "document"}),
)  # fmt: skip
# docs.voyageai.com/reference/embeddings-api; mongodb.com/docs/api/doc/atlas-embedding-and-reranking-api: constraint violations
# are 400


def gemini(asked: Asked) -> Body:
    """`batchEmbedContents` (ai.google.dev/api/embeddings)."""
    needs(asked.headers.get("x-goog-api-key") == KEY, "API key not valid. Please pass a valid API key.")
    model = unquote(asked.path).removeprefix("/v1beta/models/").removesuffix(":batchEmbedContents")
    needs(unquote(asked.path) == f"/v1beta/models/{model}:batchEmbedContents", "Not Found", 404)
    needs(set(asked.body) == {"requests"}, "Invalid JSON payload received. Unknown name")
    requests = asked.body["requests"]
    # langchain-ai/langchainjs#4491
    needs(len(requests) <= 100, "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch")
    return {"embeddings": [{"values": _gemini_one(model, one)} for one in requests]}


def _gemini_one(model: str, one: Body) -> list[float]:
    members = {"model", "content", "taskType", "title", "outputDimensionality"}
    needs(set(one) <= members, "Invalid JSON payload received. Unknown name")
    needs(one.get("model") == f"models/{model}", "the model of each request must match that of the batch")
    [part] = one["content"]["parts"]  # several parts are fused into one vector (vectorize-io/hindsight#4001)
    needs(set(part) == {"text"} and part["text"] != "", "empty Part")
    second = model.startswith("gemini-embedding-2")
    task = one.get("taskType")
    if second:
        # ai.google.dev/gemini-api/docs/embeddings: no task type; the text begins with the task
        needs(task is None, "taskType is not supported by this model")
        needs(part["text"].startswith(("title: none | text: ", "task: search result | query: ")), "a text without its task")
    else:
        needs(task in ("RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"), "a retrieval task is what the port asks for")
    needs(len(part["text"].split()) <= (8192 if second else 2048), "input token count exceeds the maximum")
    size = one.get("outputDimensionality", 3072)
    needs(128 <= size <= 3072, "outputDimensionality must be between 128 and 3072")
    # Vectors are of unit norm at the full dimension alone.
    return vector(f"{task} {part['text']}", size, 1.0 if size == 3072 else 0.6)


def vertex(asked: Asked) -> Body:
    """`:predict` (cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api; limits:
    get-text-embeddings).
    """
    token = asked.headers.get("authorization", "").removeprefix("Bearer ")
    needs(token in shared_token_server().issued, "Request had invalid authentication credentials.", 401)
    model, _, method = asked.path.removeprefix(VERTEX_PATH).partition(":")
    needs(asked.path == f"{VERTEX_PATH}{model}:{method}", "Not Found", 404)
    # The second generation has `:embedContent` alone, and one text in it (vercel/ai#16238, googleapis/python-genai#2165).
    second = model.startswith("gemini-embedding-2")
    needs(method == ("embedContent" if second else "predict"), "Precondition check failed.")
    if second:
        needs(set(asked.body) <= {"content", "title", "outputDimensionality", "autoTruncate"}, "Unknown name")
        [part] = asked.body["content"]["parts"]
        needs(part["text"].startswith(("title: none | text: ", "task: search result | query: ")), "a text without its task")
        needs(len(part["text"].split()) <= 8192, "input token count exceeds the maximum")
        return {"embedding": {"values": vector(part["text"], asked.body.get("outputDimensionality", 3072))}, "truncated": False}
    needs(set(asked.body) <= {"instances", "parameters"}, "Invalid JSON payload received. Unknown name")
    instances, parameters = asked.body["instances"], asked.body.get("parameters", {})
    needs(len(instances) <= (1 if model.startswith("gemini-") else 250), "too many instances in one request")
    needs(
        all(set(one) <= {"content", "task_type", "title"} and one["content"] for one in instances), "The text content is empty."
    )
    needs(words([one["content"] for one in instances]) <= 20_000, "The input token count exceeds 20000")
    needs(set(parameters) <= {"outputDimensionality", "autoTruncate"}, "Unknown parameter")
    own = 3072 if model.startswith("gemini-") else 768
    size = parameters.get("outputDimensionality", own)
    needs(1 <= size <= own, "outputDimensionality is too large")
    made = [vector(f"{one.get('task_type')} {one['content']}", size) for one in instances]
    return {"predictions": [{"embeddings": {"values": each, "statistics": {"truncated": False}}} for each in made]}


VERTEX_PATH = "/v1/projects/test-project/locations/global/publishers/google/models/"


def _vertex_settings() -> dict[str, str]:
    return {
        "GOOGLE_CLOUD_PROJECT": "test-project",
        "GOOGLE_CLOUD_LOCATION": "global",
        "GOOGLE_APPLICATION_CREDENTIALS": shared_token_server().credentials(),
        "GOOGLE_VERTEX_BASE_URL": ADDRESS,
    }


class RuledServer(JsonServer):
    """A server on loopback that applies `rules` to each request and keeps what it was sent."""

    def __init__(self, rules: Callable[[Asked], Body]) -> None:
        self.rules = rules
        self.asked: list[Asked] = []
        super().__init__(self._ruled)

    def _ruled(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Body]:
        asked = Asked(path, dict(headers), json.loads(body))
        self.asked.append(asked)
        try:
            return 200, self.rules(asked)
        except Refused as refused:
            return refused.status, {"error": {"message": str(refused), "code": refused.status}}


@dataclass(frozen=True)
class Case:
    """A provider under the suite: its rules, its settings (`ADDRESS` is the server's), and a handle with a dimension. `many`:
    more texts than it takes in one request.
    """

    rules: Callable[[Asked], Body]
    secrets: dict[str, str] | Callable[[], dict[str, str]]
    handle: str
    dimension: int
    many: int = 2100

    def settings(self, address: str, key: str = KEY) -> dict[str, str]:
        """The variables for a server at `address`. `key` is the provider's; a wrong one is the credentials of nobody."""
        if not isinstance(self.secrets, dict):
            nobody = {} if key == KEY else {"GOOGLE_APPLICATION_CREDENTIALS": '{"type": "nobody"}'}
            return {name: value.replace(ADDRESS, address) for name, value in self.secrets().items()} | nobody
        return {name: value.replace(ADDRESS, address).replace(KEY, key) for name, value in self.secrets.items()}


CASES = {
    "openai": Case(OPENAI, {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{ADDRESS}/v1"}, "openai/text-embedding-3-small", 512),
    "azure": Case(AZURE, {"AZURE_API_KEY": KEY, "AZURE_BASE_URL": ADDRESS}, "azure/text-embedding-3-small", 256),
    "mistral": Case(MISTRAL, {"MISTRAL_API_KEY": KEY, "MISTRAL_BASE_URL": ADDRESS}, "mistral/mistral-embed", 1024, many=600),
    "together": Case(TOGETHER, {"TOGETHER_API_KEY": KEY, "TOGETHER_BASE_URL": ADDRESS}, "together/BAAI/bge-large-en-v1.5", 1024),
    "openrouter": Case(
        OPENROUTER, {"OPENROUTER_API_KEY": KEY, "OPENROUTER_BASE_URL": ADDRESS}, "openrouter/openai/text-embedding-3-small", 512
    ),
    "ollama": Case(OLLAMA, {"OLLAMA_API_KEY": KEY, "OLLAMA_BASE_URL": ADDRESS}, "ollama/nomic-embed-text", 768),
    "llamacpp": Case(LLAMACPP, {"LLAMACPP_API_KEY": KEY, "LLAMACPP_BASE_URL": ADDRESS}, "llamacpp/bge-m3", 1024),
    "vllm": Case(VLLM, {"VLLM_API_KEY": KEY, "VLLM_API_BASE": ADDRESS}, "vllm/BAAI/bge-m3", 1024),
    "sglang": Case(SGLANG, {"SGLANG_API_KEY": KEY, "SGLANG_API_BASE": ADDRESS}, "sglang/BAAI/bge-m3", 1024),
    "lmstudio": Case(LMSTUDIO, {"LMSTUDIO_API_KEY": KEY, "LMSTUDIO_BASE_URL": ADDRESS}, "lmstudio_openai/nomic-embed-text", 768),
    "voyage": Case(VOYAGE, {"VOYAGE_API_KEY": KEY, "VOYAGE_BASE_URL": f"{ADDRESS}/v1"}, "voyage/voyage-4-large", 2048, many=1100),
    "gemini": Case(gemini, {"GEMINI_API_KEY": KEY, "GEMINI_BASE_URL": ADDRESS}, "google_ai/gemini-embedding-001", 768, many=250),
    "vertex": Case(vertex, _vertex_settings, "google_vertex/gemini-embedding-001", 1536, many=30),
    "vertex-2": Case(vertex, _vertex_settings, "google_vertex/gemini-embedding-2", 768, many=30),
    "vertex-005": Case(vertex, _vertex_settings, "google_vertex/text-embedding-005", 768, many=600),
    "gemini-2": Case(gemini, {"GEMINI_API_KEY": KEY, "GEMINI_BASE_URL": ADDRESS}, "google_ai/gemini-embedding-2", 3072, many=250),
}
