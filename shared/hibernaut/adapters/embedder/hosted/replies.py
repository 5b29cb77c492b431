"""Shared code for remote embedding models: the division of texts into requests, and the validation of vectors. Knows no wire
format.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from hibernaut.domain.models import tokens
from hibernaut.ports.memory.embedder import EmbedderFailed, Vector
from hibernaut.schemas.base import Json

BLANK = " "
"""The substitute for an empty text, which these services refuse."""
LONGEST_TOKEN = 8
"""Characters per token at most: text beyond this bound is cut without counting tokens."""
_NUMBERS = {float, int}


def fitting(text: str, limit: int) -> tuple[str, int]:
    """The text, cut if it is too long, and its size in tokens."""
    text = text[: limit * LONGEST_TOKEN].replace("\0", " ")
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate cannot be sent
    if not text.strip():
        return BLANK, 1
    size = tokens.count(text)
    while size > limit:
        text = text[: max(1, len(text) * limit // (size + limit // 20))]
        size = tokens.count(text)
    return text, size


def batches(texts: Sequence[str], *, limit: int, most: int, most_tokens: int) -> Iterator[list[str]]:
    """The texts in order, cut to `limit` tokens each, in requests of at most `most` texts and `most_tokens` tokens."""
    batch: list[str] = []
    token_count = 0
    for text in texts:
        fit, size = fitting(text, limit)
        if batch and (len(batch) >= most or token_count + size > most_tokens):
            yield batch
            batch, token_count = [], 0
        batch.append(fit)
        token_count += size
    if batch:
        yield batch


def vector_of(name: str, value: Json, dimension: int) -> Vector:
    """A vector of unit norm. Raises: EmbedderFailed unless the value is a list of `dimension` numbers that are not all zero."""
    if not isinstance(value, list) or not set(map(type, value)) <= _NUMBERS:
        raise EmbedderFailed(f"{name}: the answer holds no vector", retryable=True)
    if len(value) != dimension:
        raise EmbedderFailed(
            f"{name}: the vector has {len(value)} dimensions instead of {dimension}; create an archive, folder or agent with an "
            f"embedding_config whose embedding_dim is {len(value)}",
            retryable=False,
        )
    length = math.hypot(*value)
    if not 0 < length < math.inf:
        raise EmbedderFailed(f"{name}: the vector has no direction", retryable=False, of_texts=True)
    return tuple([number / length for number in value])
