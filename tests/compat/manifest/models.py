"""The lists of models (API 2.13)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done, out_of_reach

ROWS = (
    done("models.list", "API 2.13", "Lists the models of all configured providers, the default first.", "GET /v1/models/"),
    done("models.list.filters", "API 2.13", "Filters: category, provider name and provider type."),
    done(
        "models.list.limits",
        "API 2.13",
        "Each model is listed with the window that its provider reports, and V1's default limit of replies; an agent "
        "uses 128,000 tokens unless its settings name more.",
    ),
    diverging(
        "models.ollama.window",
        "RT 11.1",
        "An agent's `context_window_limit` is at most what Ollama reads of a prompt, and `context_window_note` of its context says what limits it.",
        "V1 takes any limit, and Ollama cuts the beginning of a longer prompt without an error: a bug.",
    ),
    done(
        "models.bedrock",
        "RT 11.1",
        "Models of Amazon Bedrock are listed, and agents with handles `bedrock/<id>` reply, without a key: by the AWS "
        "credentials of the process.",
    ),
    done(
        "models.embedding",
        "API 2.13",
        "The embedding models of all configured providers, the default first: those of their lists, and a table for Voyage.",
        "GET /v1/models/embedding",
    ),
    diverging(
        "models.embedding.types",
        "API 4.12",
        "An archive whose endpoint type is `hugging-face` is embedded in OpenAI's format, which Text Embeddings "
        "Inference serves under /v1; `pinecone`, `anthropic` and others without embeddings have no embeddings, and "
        "search uses words only.",
        "V1 calls an address of any of these types, and fails when it embeds the text.",
    ),
    out_of_reach(
        "models.letta",
        "RT 11.1",
        "The handles `letta/letta-free` and `letta/auto` name models.",
        "These models run on servers of Letta. A request that names one is 404 with the handles that exist. Without `embedding` "
        "the included model embeds; an imported agent gets it instead, and a note says so.",
    ),
)
