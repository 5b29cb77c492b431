"""`hibernaut/minilm`: all-MiniLM-L6-v2 in this process, without a key and without a network.

The model is loaded at the first text, and a log line reports it. Knows no wire format and no provider.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from hibernaut.adapters.embedder import minilm_files
from hibernaut.adapters.embedder.minilm_files import NotTheModel
from hibernaut.adapters.embedder.minilm_words import WordPieces
from hibernaut.adapters.embedder.uncached import UncachedEmbedder
from hibernaut.ports.memory.embedder import EmbedderFailed, Vector
from hibernaut.schemas.immutable import immutable

if TYPE_CHECKING:
    from hibernaut.adapters.embedder.minilm_network import MiniLmNetwork

SPACE, DIMENSION, MAX_TOKENS = "minilm-l6-v2-384", 384, 254
TOKENS_AT_ONCE = 256
"""The number of pieces of short texts that share one pass through the network; a long text has a pass of its own."""
BATCH = 128
"""Texts are no dearer alone: their lengths count, and not their number."""
logger = logging.getLogger(__name__)


@immutable
class _Loaded:
    """The loaded model: its tokenizer and its network."""

    words: WordPieces
    network: MiniLmNetwork


class MiniLM(UncachedEmbedder):
    """The embedder. `folder`: the location of the files, by default the installed package. Threads compute in parallel, one core
    each.
    """

    space, dimension, max_tokens, batch = SPACE, DIMENSION, MAX_TOKENS, BATCH

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None
        self._refused: str | None = None

    def count(self, text: str) -> int:
        """The number of pieces. Raises: EmbedderFailed if the model cannot be loaded."""
        return self._ready().words.count(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:  # noqa: ARG002 - it reads both alike
        """As the port says; of a longer text only the beginning counts. Other threads can run between texts."""
        loaded = self._ready()
        vectors: list[Vector] = []
        for group in _groups([loaded.words.numbers(text, MAX_TOKENS) for text in texts]):
            vectors += (tuple(row) for row in loaded.network.vectors(group).tolist())
            time.sleep(0)
        return vectors

    def likeness(self, query: str, texts: Sequence[str]) -> list[float] | None:
        """As the port says, by the beginning of each text."""
        loaded = self._ready()
        pieces = [loaded.words.numbers(text, MAX_TOKENS)[1:-1] for text in (query, *texts)]
        return loaded.network.likeness(pieces[0], pieces[1:])

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
            folder = self._folder or minilm_files.installed_folder()
            loaded = _loaded(folder, minilm_files.versions(folder))
        except (NotTheModel, ImportError) as error:
            self._refused = f"hibernaut/minilm cannot be used: {error}"
            logger.error("local embedding model refused, search uses words only", extra={"reason": str(error)})
            raise EmbedderFailed(self._refused, retryable=False) from error
        milliseconds = round((time.perf_counter() - begun) * 1000)
        logger.info("local embedding model loaded", extra={"model": "all-MiniLM-L6-v2", "milliseconds": milliseconds})
        return loaded


@lru_cache(maxsize=1)
def _loaded(folder: Path, _versions: tuple[tuple[int, int, int], ...]) -> _Loaded:
    """The model of these files, which all embedders of a process share. Raises: NotTheModel."""
    from threadpoolctl import threadpool_limits

    from hibernaut.adapters.embedder.minilm_network import MiniLmNetwork

    minilm_files.checked(folder)
    # A product on all cores is ten times slower as soon as one of them is busy, so the work is distributed by texts.
    threadpool_limits(limits=1, user_api="blas")
    return _Loaded(WordPieces(minilm_files.vocabulary(folder)), MiniLmNetwork(minilm_files.weights(folder)))


def _groups(texts: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
    """The texts in order, in groups that are short enough for one pass."""
    group: list[Sequence[int]] = []
    for text in texts:
        if group and sum(map(len, group)) + len(text) > TOKENS_AT_ONCE:
            yield group
            group = []
        group.append(text)
    if group:
        yield group
