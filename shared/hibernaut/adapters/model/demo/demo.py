"""`hibernaut/demo`: a scripted model that needs no key and no network, and that calls the tools it is offered.

It is deterministic: the same request gets the same reply, including call ids. It introduces itself in its first reply.
"""

from __future__ import annotations

from collections.abc import Callable

from hibernaut.ports.model import Delta, ModelReply, ModelRequest, OnOpen
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.models.llm_config import EmbeddingModelDescription, ModelDescription

PROVIDER = "hibernaut"
CONTEXT_WINDOW = 128_000


class DemoModel:
    """The scripted model. Stateless."""

    def complete(
        self,
        request: ModelRequest,
        on_delta: Callable[[Delta], None] | None = None,
        on_open: OnOpen | None = None,  # noqa: ARG002 - there is no connection
    ) -> ModelReply:
        """As the port says. Never fails; an exception from `on_delta` propagates."""
        # Every catalogue has a demo, and few agents use it: the script is imported by its first reply.
        from hibernaut.adapters.model.demo.demo_reply import scripted_reply

        return scripted_reply(request, on_delta)

    def payload(self, request: ModelRequest) -> JsonObject:
        """The input of the script as JSON; it is never sent."""
        return {
            "model": "demo",
            "system": request.system,
            "messages": [{"role": row.role, "content": row.text()} for row in request.messages],
            "tools": [tool.name for tool in request.callable_tools],
        }

    def models(self) -> list[ModelDescription]:
        return [
            ModelDescription(
                model="demo",
                name="demo",
                display_name="demo",
                handle=f"{PROVIDER}/demo",
                model_endpoint_type=PROVIDER,
                provider_name=PROVIDER,
                provider_type=PROVIDER,
                provider_category="base",
                context_window=CONTEXT_WINDOW,
                max_context_window=CONTEXT_WINDOW,
                enable_reasoner=False,
                parallel_tool_calls=None,
            )
        ]

    def embedding_models(self) -> list[EmbeddingModelDescription]:
        """None: another adapter serves `hibernaut/minilm`."""
        return []
