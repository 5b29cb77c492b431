"""The language models and the embedding models that agents may use (Letta V1 API, API 2.13)."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from hibernaut.rest.dependencies import TheServices
from hibernaut.rest.http.json_responses import replies
from hibernaut.rest.lazy_routes import LazyRoute
from hibernaut.schemas.models.llm_config import EmbeddingModelDescription, ModelDescription

router = APIRouter(prefix="/v1/models", tags=["models"], route_class=LazyRoute)


@router.get("", response_model=list[ModelDescription])
def list_models(
    services: TheServices,
    provider_category: Annotated[list[Literal["base", "byok"]] | None, Query()] = None,
    provider_name: str | None = None,
    provider_type: str | None = None,
) -> Response:
    """The language models of all configured providers. For a provider that does not answer, the reply has its last known
    models.
    """
    categories = provider_category or ()
    return replies(services.models.all(categories=categories, provider_name=provider_name, provider_type=provider_type))


@router.get("/embedding", response_model=list[EmbeddingModelDescription])
def list_embedding_models(services: TheServices) -> Response:
    """The embedding models of all configured providers."""
    return replies(services.models.all_embeddings())
