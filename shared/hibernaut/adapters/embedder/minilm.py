"""`hibernaut/minilm`: all-MiniLM-L6-v2 in this process, without a key and without a network.

Loaded when the first text comes, which a line of the log tells. Knows no wire and no provider.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hibernaut.adapters.embedder import minilm_files
from hibernaut.adapters.embedder.minilm_files import NotTheModel
from hibernaut.adapters.embedder.minilm_words import WordPieces
from hibernaut.ports.embedder import EmbedderFailed, Vector

if TYPE_CHECKING:
    from hibernaut.adapters.embedder.minilm_network import Network

SPACE, DIMENSION, MAX_TOKENS = "minilm-l6-v2-384", 384, 254
TOKENS_AT_ONCE = 256
"""Pieces of several short texts that go through the network together; a long one goes alone."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Loaded:
    words: WordPieces
    network: Network


class MiniLM:
    """The `Embedder`. `folder`: where its files lie, else in the installed package. Threads compute side by side, one core each."""

    space, dimension, max_tokens = SPACE, DIMENSION, MAX_TOKENS

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None
        self._refused: str | None = None

    def count(self, text: str) -> int:
        """Raises: EmbedderFailed where the model cannot be loaded."""
        return self._ready().words.count(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:  # noqa: ARG002 - it reads both alike
        """As the port says; of a longer text, the beginning. Between texts other threads get their turn."""
        loaded = self._ready()
        vectors: list[Vector] = []
        for group in _groups([loaded.words.numbers(text, MAX_TOKENS) for text in texts]):
            vectors += (tuple(row) for row in loaded.network.vectors(group).tolist())
            time.sleep(0)
        return vectors

    def _ready(self) -> _Loaded:
        with self._lock:
            if self._refused is not None:
                raise EmbedderFailed(self._refused, retryable=False)
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> _Loaded:
        begun = time.perf_counter()
        try:
            folder = minilm_files.checked(self._folder or minilm_files.installed_folder())
            loaded = _loaded(folder)
        except (NotTheModel, ImportError) as error:
            self._refused = f"hibernaut/minilm cannot be used: {error}"
            logger.error("local embedding model refused, search goes by words alone", extra={"reason": str(error)})
            raise EmbedderFailed(self._refused, retryable=False) from error
        spent = round((time.perf_counter() - begun) * 1000)
        logger.info("local embedding model loaded", extra={"model": "all-MiniLM-L6-v2", "milliseconds": spent})
        return loaded


def _loaded(folder: Path) -> _Loaded:
    from threadpoolctl import threadpool_limits

    from hibernaut.adapters.embedder.minilm_network import Network

    # A product on all cores is ten times slower as soon as one of them is busy; work is shared out by texts instead.
    threadpool_limits(limits=1, user_api="blas")
    return _Loaded(WordPieces(minilm_files.vocabulary(folder)), Network(minilm_files.weights(folder)))


def _groups(texts: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
    """The texts in order, as many together as are short enough."""
    group: list[Sequence[int]] = []
    for text in texts:
        if group and sum(map(len, group)) + len(text) > TOKENS_AT_ONCE:
            yield group
            group = []
        group.append(text)
    if group:
        yield group
