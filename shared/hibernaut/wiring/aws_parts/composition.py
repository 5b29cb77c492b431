"""What a function of the profile `aws` is composed of."""

from __future__ import annotations

from hibernaut.ports.memory.embedder import Embedders
from hibernaut.ports.model import Models
from hibernaut.ports.storage.cipher import Cipher
from hibernaut.schemas.immutable import immutable
from hibernaut.services.host import Host
from hibernaut.store.stores import Stores
from hibernaut.wiring.run_engine import RunEngines
from hibernaut.wiring.settings import AwsSettings


@immutable
class Composition:
    """The composed parts of a function: settings, host, stores, models and run engines.

    Every part connects at its first use.
    """

    settings: AwsSettings
    host: Host
    stores: Stores
    models: Models
    embedders: Embedders
    engines: RunEngines
    cipher: Cipher
