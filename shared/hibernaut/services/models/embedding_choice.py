"""The embedding of a new agent, archive or folder, by the fields of its request (Letta V1 API, API 2.2).

Knows the catalogue of models by its port. Stores nothing.
"""

from __future__ import annotations

from hibernaut.ports.model import Models
from hibernaut.schemas.agents.agent import CreateAgentRequest
from hibernaut.schemas.memory.folder import CreateFolder
from hibernaut.schemas.memory.passage import CreateArchive
from hibernaut.schemas.models.llm_config import EmbeddingConfig


def chosen_embedding(request: CreateAgentRequest | CreateArchive | CreateFolder, models: Models) -> EmbeddingConfig | None:
    """The embedding of what is created; None if the request sets it to null or the deployment has none. Raises: NotFound (the
    handle).
    """
    if request.embedding_config is not None and request.embedding is None:
        return request.embedding_config
    explicit = "embedding" in request.model_fields_set or "embedding_config" in request.model_fields_set
    handle = request.embedding or (None if explicit else models.default_embedding_handle())
    if handle is None:
        return None
    config = models.embedding(handle)
    chunk_size = None if isinstance(request, CreateArchive) else request.embedding_chunk_size
    return config if chunk_size is None else config.model_copy(update={"embedding_chunk_size": chunk_size})
