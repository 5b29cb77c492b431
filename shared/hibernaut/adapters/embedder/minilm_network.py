"""The network of all-MiniLM-L6-v2: six layers of BERT with 384 dimensions and twelve heads, and mean pooling.

Uses only numpy, and is imported for the first vectors, because the import of numpy takes a tenth of a second. Several texts
share the wide matrix products, concatenated without padding, because a short text alone is limited by memory and not by
computation. Each text attends only to itself. numpy releases the interpreter's lock within its products.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hibernaut.schemas.immutable import immutable

Numbers: TypeAlias = NDArray[np.float32]
Weights: TypeAlias = Mapping[str, Numbers]

LAYERS, HEADS, HEAD_SIZE, SIZE = 6, 12, 32, 384
_EPSILON = np.float32(1e-12)
_SCALE = np.float32(HEAD_SIZE**-0.5)
_ROWS = 32
"""The number of rows of the widest product to which the activation is applied at once, so that they remain in the processor's
cache.
"""
_HALF, _ONE, _ROOT_HALF = np.float32(0.5), np.float32(1), np.float32(0.5**0.5)
# 1 - erf(x) for x >= 0 by Abramowitz and Stegun 7.1.26: exact to 1.5e-7, the precision of these numbers.
_ERF_T = np.float32(0.3275911)
_ERF = tuple(np.float32(a) for a in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592))


@immutable
class _Dense:
    """A linear layer. `weight` is transposed, as in the file: no copy is made."""

    weight: Numbers
    bias: Numbers

    @classmethod
    def named(cls, weights: Weights, name: str) -> Self:
        return cls(weights[f"{name}.weight"].T, weights[f"{name}.bias"])

    def of(self, rows: Numbers) -> Numbers:
        product: Numbers = rows @ self.weight
        product += self.bias
        return product


@immutable
class _Norm:
    """A layer normalization."""

    weight: Numbers
    bias: Numbers

    @classmethod
    def named(cls, weights: Weights, name: str) -> Self:
        return cls(weights[f"{name}.LayerNorm.weight"], weights[f"{name}.LayerNorm.bias"])

    def over(self, rows: Numbers) -> Numbers:
        """Normalize in place: each row to mean zero and variance one, then scale and shift."""
        rows -= rows.mean(axis=1, keepdims=True)
        rows /= np.sqrt(np.square(rows).mean(axis=1, keepdims=True) + _EPSILON)
        rows *= self.weight
        rows += self.bias
        return rows


@immutable
class _Layer:
    """A transformer layer."""

    query: _Dense
    key: _Dense
    value: _Dense
    mixed: _Dense
    mixed_norm: _Norm
    wide: _Dense
    narrow: _Dense
    norm: _Norm

    @classmethod
    def numbered(cls, weights: Weights, number: int) -> Self:
        name = f"encoder.layer.{number}"
        return cls(
            query=_Dense.named(weights, f"{name}.attention.self.query"),
            key=_Dense.named(weights, f"{name}.attention.self.key"),
            value=_Dense.named(weights, f"{name}.attention.self.value"),
            mixed=_Dense.named(weights, f"{name}.attention.output.dense"),
            mixed_norm=_Norm.named(weights, f"{name}.attention.output"),
            wide=_Dense.named(weights, f"{name}.intermediate.dense"),
            narrow=_Dense.named(weights, f"{name}.output.dense"),
            norm=_Norm.named(weights, f"{name}.output"),
        )

    def over(self, rows: Numbers, texts: Sequence[slice]) -> Numbers:
        query, key, value = self.query.of(rows), self.key.of(rows), self.value.of(rows)
        attended = np.empty_like(rows)
        for text in texts:
            attended[text] = _attention(query[text], key[text], value[text])
        mixed = self.mixed.of(attended)
        mixed += rows
        rows = self.mixed_norm.over(mixed)
        changed = self.narrow.of(_gelu(self.wide.of(rows)))
        changed += rows
        return self.norm.over(changed)


class MiniLmNetwork:
    """The network. `weights` are named as in the file and used in place. Stateless, so that threads can share it."""

    def __init__(self, weights: Weights) -> None:
        self._words = weights["embeddings.word_embeddings.weight"]
        # All tokens have type 0: type 1 marks the second text of a pair.
        self._places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
        self._norm = _Norm.named(weights, "embeddings")
        self._layers = [_Layer.numbered(weights, number) for number in range(LAYERS)]

    def vectors(self, texts: Sequence[Sequence[int]]) -> Numbers:
        """A row of unit norm for each text; a text is the ids of its pieces with special tokens."""
        rows = self._norm.over(np.concatenate([self._words[list(text)] + self._places[: len(text)] for text in texts]))
        slices = _slices(texts)
        for layer in self._layers:
            rows = layer.over(rows, slices)
        means = np.stack([rows[text].mean(axis=0) for text in slices])
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        return means

    def likeness(self, query: Sequence[int], texts: Sequence[Sequence[int]]) -> list[float]:
        """The cosine of the query and each text by the vectors of their words alone, without the layers: their mean, weighted by
        rarity among the texts, without what all texts have in common (Arora et al. 2017, "A Simple but Tough-to-Beat Baseline
        for Sentence Embeddings"). A text is the ids of its pieces; 0 for one without any.
        """
        if not texts:
            return []
        in_texts = Counter(chain.from_iterable(map(set, texts)))
        pieces = np.array(sorted({*query, *in_texts}), dtype=int)
        rarity = np.log(1 + len(texts) / (np.array([in_texts[piece] for piece in pieces.tolist()]) + 0.5))
        weights = dict(zip(pieces.tolist(), rarity / np.linalg.norm(self._words[pieces], axis=1), strict=True))

        def mean(text: Sequence[int]) -> Numbers:
            of_words = np.array([weights[piece] for piece in text], dtype=self._words.dtype)
            return of_words @ self._words[list(text)] / np.float32(max(1, len(text)))

        rows = np.stack([mean(text) for text in texts])
        common = rows.mean(axis=0)
        sought = mean(query) - common
        return [_cosine(sought, row - common) if text else 0.0 for text, row in zip(texts, rows, strict=True)]


def _cosine(one: Numbers, other: Numbers) -> float:
    """The cosine of two vectors; 0 where one has no length."""
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / lengths if lengths else 0.0


def _slices(texts: Sequence[Sequence[int]]) -> list[slice]:
    ends = np.cumsum([len(text) for text in texts]).tolist()
    return [slice(end - len(text), end) for text, end in zip(texts, ends, strict=True)]


def _attention(query: Numbers, key: Numbers, value: Numbers) -> Numbers:
    """The self-attention of one text, for all heads side by side."""
    length = len(query)
    by_head = [part.reshape(length, HEADS, HEAD_SIZE).transpose(1, 0, 2) for part in (query, key, value)]
    shares: Numbers = np.multiply(by_head[0], _SCALE) @ by_head[1].transpose(0, 2, 1)
    shares -= shares.max(axis=2, keepdims=True)
    np.exp(shares, out=shares)
    weighted: Numbers = shares @ by_head[2]
    weighted /= shares.sum(axis=2, keepdims=True)
    return weighted.transpose(1, 0, 2).reshape(length, SIZE)


def _gelu(rows: Numbers) -> Numbers:
    """x·Φ(x), in place: max(x, 0) - |x|/2 · (1 - erf(|x|/√2))."""
    spare = [np.empty((_ROWS, rows.shape[1]), np.float32) for _ in range(3)]
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        size, t, tail = (each[: len(part)] for each in spare)
        np.abs(part, out=size)
        size *= _ROOT_HALF
        np.multiply(size, _ERF_T, out=t)
        t += _ONE
        np.reciprocal(t, out=t)
        np.multiply(t, _ERF[0], out=tail)
        for factor in _ERF[1:]:
            tail += factor
            tail *= t
        np.square(size, out=size)
        np.negative(size, out=size)
        np.exp(size, out=size)
        tail *= size
        np.abs(part, out=t)
        tail *= t
        tail *= _HALF
        np.maximum(part, 0, out=part)
        part -= tail
    return rows
