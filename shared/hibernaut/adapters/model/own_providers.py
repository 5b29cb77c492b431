"""Providers with keys of a tenant's own, by the wires of the deployment (port `ProviderConnections`).

Each provider has a factory of its own, which removes its key from errors and stored payloads beside the deployment's. Its key is
sent to its own address only.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from hibernaut.adapters.addresses import THIS_MACHINE
from hibernaut.adapters.door import Door
from hibernaut.adapters.google_credentials import service_account
from hibernaut.adapters.model.bedrock_endpoints import NAME as BEDROCK
from hibernaut.adapters.model.dialects import DIALECTS
from hibernaut.adapters.model.prices.context_windows import ContextWindows
from hibernaut.adapters.model.provider import CatalogueProvider, capped_config
from hibernaut.adapters.model.provider_settings import (
    ANTHROPIC,
    VERTEX,
    ProviderSettings,
    of_anthropic,
    of_bedrock,
    of_dialect,
    of_vertex,
    redaction_of,
)
from hibernaut.adapters.model.wire.connections import Dial
from hibernaut.adapters.model.wire.provider_client import dial_any
from hibernaut.adapters.model.wire_factory import WireFactory
from hibernaut.domain.models.embedding_models import BEDROCK_MODELS, KnownEmbedding, description, known
from hibernaut.ports.memory.embedder import Embedder
from hibernaut.ports.model import Model, ProviderAccess
from hibernaut.ports.storage.secrets import Secrets
from hibernaut.schemas.errors import InvalidArgument, NotImplementedHere
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.models.llm_config import EmbeddingConfig, EmbeddingModelDescription, LLMConfig, ModelDescription
from hibernaut.schemas.models.model_call import CacheLife

if TYPE_CHECKING:
    from httpx2 import Client

SERVED = tuple(sorted({ANTHROPIC, BEDROCK, VERTEX, *(dialect.name for dialect in DIALECTS)}))
"""The types of providers that a tenant may add."""
MOST_EMBEDDERS = 16
"""The largest number of cached embedders of one provider, each with its recent vectors."""
MakeEmbedder = Callable[[ProviderSettings, EmbeddingConfig, Dial["Client"], Callable[[], float]], Embedder]
"""Makes the embedder for a model of a provider. It connects by the dial, and has a clock in seconds. Opens no connection."""
_HOST = re.compile(r"[A-Za-z0-9._:\[\]-]+")


@immutable
class OwnWires:
    """What connections share: the factory of a provider's wires and embedders, the dial, the table of windows, and a clock in
    seconds.
    """

    of: Callable[[ProviderSettings], WireFactory]
    embedder: MakeEmbedder
    dial: Dial[Client]
    windows: ContextWindows
    now: Callable[[], float]


class OwnConnection:
    """One provider with its lists (port `ConnectedProvider`). Its adapters are created at their first use. `now` is in
    seconds.
    """

    def __init__(self, access: ProviderAccess, settings: ProviderSettings, wires: OwnWires) -> None:
        self._name = access.name
        self._type = access.provider_type
        self._settings = settings
        self._wires = wires
        self._windows = wires.windows
        self._now = wires.now
        self._lock = threading.Lock()
        self._embedders: dict[tuple[str, int, int], Embedder] = {}

    @cached_property
    def _provider(self) -> CatalogueProvider:
        return self._wires.of(self._settings).provider(self._settings)

    @property
    def model(self) -> Model:
        """As the port says."""
        return self._provider.model

    def config(self, model: str) -> LLMConfig | None:
        """As the port says."""
        row = self._provider.description(self._name, model, self._windows, self._now)
        return None if row is None else capped_config(self._own(row))

    def list(self) -> list[ModelDescription]:
        """As the port says."""
        self._provider.refresh(self._now)
        return [self._own(row) for row in self._provider.known]

    def embeddings(self) -> Sequence[EmbeddingModelDescription]:
        """As the port says."""
        if not _embeds(self._settings):
            return []
        if self._settings.kind == BEDROCK:  # its list does not tell what embeds
            return [self._known(model, facts) for model in BEDROCK_MODELS if (facts := known(model))]
        self._provider.refresh(self._now)
        return [self._own_embedding(row) for row in self._provider.known_embeddings]

    def embedding(self, model: str) -> EmbeddingModelDescription | None:
        """As the port says."""
        listed = self.embeddings()
        row = next((each for each in listed if each.embedding_model == model), None)
        facts = known(model)
        if row is not None or facts is None or listed or self._provider.known or not _embeds(self._settings):
            return row
        return self._known(model, facts)

    def embedder(self, config: EmbeddingConfig) -> Embedder:
        """As the port says."""
        if not _embeds(self._settings):
            raise InvalidArgument(
                f"{self._name}: providers of the type {self._type} have no embedding models here; choose another one"
            )
        key = (config.embedding_model, config.embedding_dim, config.batch_size)
        with self._lock:
            if key not in self._embedders:
                while len(self._embedders) >= MOST_EMBEDDERS:
                    self._embedders.pop(next(iter(self._embedders)))
                self._embedders[key] = self._wires.embedder(self._settings, config, self._wires.dial, self._now)
            return self._embedders[key]

    def _known(self, model: str, facts: KnownEmbedding) -> EmbeddingModelDescription:
        return self._own_embedding(description(self._name, model, facts.dimension, kind=self._settings.kind))

    def _own_embedding(self, row: EmbeddingModelDescription) -> EmbeddingModelDescription:
        """The row without an address: it is that of the provider's record, whenever the model is called."""
        return row.model_copy(update={"provider_type": self._type, "embedding_endpoint": None})

    def _own(self, row: ModelDescription) -> ModelDescription:
        return row.model_copy(update={"provider_category": "byok", "provider_type": self._type})


class OwnProviders:
    """Connects tenants' providers. `door`: what judges the addresses that clients name; if its policy has no private ones, they
    must use https. None: this machine may be named. `embedder` makes the embedders; None: nothing is embedded.
    """

    def __init__(
        self,
        secrets: Secrets,
        *,
        prompt_cache: CacheLife = "5m",
        door: Door | None = None,
        embedder: MakeEmbedder | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._secrets = secrets
        self._door = door or Door(THIS_MACHINE)
        self._schemes = ("https", "http") if self._door.policy.private else ("https",)
        self._embedder = embedder or _embeds_nothing
        self._now = now
        self._prompt_cache = prompt_cache

    @cached_property
    def _windows(self) -> ContextWindows:
        return ContextWindows()

    def connect(self, access: ProviderAccess) -> OwnConnection:
        """As the port says."""
        settings, dial = self._settings(access), self._dial_of(access)
        wires = OwnWires(lambda each: self._wires(each, dial), self._embedder, dial, self._windows, self._now)
        return OwnConnection(access, settings, wires)

    def check(self, access: ProviderAccess) -> None:
        """As the port says."""
        settings = self._settings(access)
        self._wires(settings, self._dial_of(access)).check(settings)

    def _dial_of(self, access: ProviderAccess) -> Dial[Client]:
        """The door, where the client names an address; the key of a service account names that of its tokens."""
        return self._door.dial if access.url or access.provider_type == VERTEX else dial_any

    def _wires(self, settings: ProviderSettings, dial: Dial[Client]) -> WireFactory:
        redaction = redaction_of(self._secrets, (settings,))
        azure_wire = self._secrets.get("AZURE_WIRE")
        return WireFactory(redaction, azure_wire=azure_wire, prompt_cache=self._prompt_cache, windows=self._windows, dial=dial)

    def _settings(self, access: ProviderAccess) -> ProviderSettings:
        if access.url:
            self._check_address("base_url", access.url)
        found, needed = self._found(access)
        if found is None:
            raise InvalidArgument(f"INVALID_ARGUMENT: A provider of the type {access.provider_type} needs {needed}.")
        return replace(found, own=True, region=access.region, access_key=access.access_key)

    def _found(self, access: ProviderAccess) -> tuple[ProviderSettings | None, str]:
        """What the access configures; None, and the field that is missing."""
        match access.provider_type:
            case "anthropic":
                return of_anthropic(access.key, access.url, access.name), "api_key"
            case "bedrock":
                region, url = access.region, access.url
                return of_bedrock(region, url=url, access_key=access.access_key, key=access.key, own=access.name), "region"
            case "google_vertex":
                return self._vertex(access), "region"
            case _:
                dialect = next((each for each in DIALECTS if each.name == access.provider_type), None)
        if dialect is None:
            raise InvalidArgument(
                f"INVALID_ARGUMENT: Providers of the type {access.provider_type} are not served; choose one of {', '.join(SERVED)}."
            )
        return of_dialect(dialect, access.key, access.url, access.name), "api_key" if dialect.url else "base_url"

    def _vertex(self, access: ProviderAccess) -> ProviderSettings | None:
        """A service account names its project, and where it gets tokens."""
        try:
            account = service_account(access.key or "")
        except ValueError as error:
            raise InvalidArgument(
                f"INVALID_ARGUMENT: api_key of a provider of the type google_vertex must be the key of a service account, as JSON: {error}."
            ) from None
        self._check_address("token_uri of the service account", account["token_uri"])
        return of_vertex(account["project_id"], access.region, access.key, access.url, own=access.name)

    def _check_address(self, field: str, url: str) -> None:
        parts = _parts(url)
        if (
            parts is None
            or parts.scheme not in self._schemes
            or parts.query
            or parts.fragment
            or not _HOST.fullmatch(parts.hostname or "")
        ):
            raise InvalidArgument(
                f"INVALID_ARGUMENT: {field} must be an address like https://api.example.com/v1 ({' or '.join(self._schemes)}, without a query)."
            )
        if parts.username or parts.password:
            raise InvalidArgument(f"INVALID_ARGUMENT: {field} must not contain a user or a password; put the key into api_key.")


def _embeds(settings: ProviderSettings) -> bool:
    """Whether providers of this kind have an embedding route that is served here."""
    return settings.kind in (VERTEX, BEDROCK) or (settings.dialect is not None and settings.dialect.embeds)


def _embeds_nothing(settings: ProviderSettings, config: EmbeddingConfig, dial: object, now: object) -> Embedder:  # noqa: ARG001
    raise NotImplementedHere(f"{settings.name}: this deployment embeds nothing by keys of its users")


def _parts(url: str) -> SplitResult | None:
    """The parts of an address in printable ASCII; None for any other text."""
    try:
        parts = urlsplit(url)
        return None if re.search(r"[^\x21-\x7e]", url) or parts.port == 0 else parts
    except ValueError:
        return None
