"""The embedding models of one tenant: those of the deployment, and those of the tenant's own providers (port `Embedders`).

A configuration whose handle names a provider of the tenant's own has no address. Its embedder reads the provider's record at each
call, so that a changed, deleted or new key takes effect at the next call in every process. A failure of such a provider is final
for this call: the texts are found by words and embedded by a later pass, so that a server which a tenant chose holds up nothing
that others wait for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from hibernaut.domain.models import tokens
from hibernaut.domain.models.embedding_models import BEDROCK, OWN, max_tokens_of, own_space, provider_of
from hibernaut.ports.memory.embedder import Embedder, EmbedderFailed, Embedders, Vector
from hibernaut.schemas.errors import HibernautError, Unavailable
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.models.llm_config import EmbeddingConfig
from hibernaut.services.models.own_provider_list import OwnProviderList

OF_DEPLOYMENT = frozenset({OWN, "letta"})
"""First parts of handles that no provider of a tenant can have (`services.models.providers.RESERVED`)."""


@immutable
class OwnEmbedder:
    """A model at a provider of a tenant's own (port `Embedder`). Equal ones stand for the same model. No call but `embed` and
    `known` does I/O.
    """

    tenant: str
    provider: str
    config: EmbeddingConfig = field(hash=False)
    own: OwnProviderList = field(compare=False, repr=False)

    @property
    def space(self) -> str:
        return own_space(self.tenant, self.provider, self.config.embedding_model, self.config.embedding_dim)

    @property
    def dimension(self) -> int:
        return self.config.embedding_dim

    @property
    def max_tokens(self) -> int:
        return max_tokens_of(self.config.embedding_model)

    @property
    def batch(self) -> int:
        """As the port; on Bedrock the least that it can be, because some models there take one text."""
        return 1 if self.config.embedding_endpoint_type == "bedrock" else self.config.batch_size

    def count(self, text: str) -> int:
        """As the port; an estimate."""
        return tokens.count(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        """As the port. A failure names the provider. Only a failure of the table or of the master key is worth the same
        call later.
        """
        try:
            return self._connected().embed(texts, query=query)
        except Unavailable as error:
            raise EmbedderFailed(f"{self.provider}: its record or its key cannot be read now", retryable=True) from error
        except HibernautError as error:
            raise EmbedderFailed(error.detail, retryable=False) from error
        except EmbedderFailed as error:
            raise EmbedderFailed(f"{self.provider}/{error}", retryable=False, of_texts=error.of_texts) from error

    def known(self, texts: Sequence[str]) -> list[Vector | None]:
        """As the port; nothing is known while the provider's record cannot be read."""
        try:
            return self._connected().known(texts)
        except (HibernautError, EmbedderFailed):
            return [None] * len(texts)

    def likeness(self, query: str, texts: Sequence[str]) -> list[float] | None:  # noqa: ARG002 - no provider has one
        """None: a service has no estimate that is cheaper than a call."""
        return None

    def _connected(self) -> Embedder:
        found = self.own.get(self.provider)
        if found is None:
            raise EmbedderFailed(
                f"{self.config.embedding_model}: this provider does not exist any more; add it again (POST /v1/providers/), "
                "or create an archive, folder or agent with another embedding model",
                retryable=False,
            )
        return found.embedder(self.config)


class TenantEmbedders:
    """`base`: the embedding models of the deployment; `own`: the providers of the tenant."""

    def __init__(self, tenant: str, base: Embedders, own: OwnProviderList) -> None:
        self._tenant = tenant
        self._base = base
        self._own = own

    def of(self, config: EmbeddingConfig | None) -> Embedder | None:
        """As the port. A provider of the tenant's own comes before one of the deployment with the same name, which was configured
        later; only then the table is read.
        """
        if config is None:
            return None
        name, base = provider_of(config), self._base.of(config)
        if not name or name in OF_DEPLOYMENT or (base is not None and (name == BEDROCK or config.embedding_endpoint)):
            return base
        if (base is not None or config.embedding_endpoint) and not self._own.has(name):
            return base
        return OwnEmbedder(self._tenant, name, config, self._own)

    def default(self) -> EmbeddingConfig | None:
        """The deployment's."""
        return self._base.default()
