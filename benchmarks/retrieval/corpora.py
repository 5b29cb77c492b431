"""A corpus for retrieval: texts, and questions with the positions of the texts that answer them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """A question. `kind`: the kind of its difficulty. `answers`: the positions of the texts that answer it."""

    kind: str
    text: str
    answers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts and questions. `one_is_enough`: the answers are parts of one longer text, and finding any part counts in full."""

    name: str
    texts: tuple[str, ...]
    questions: tuple[Question, ...]
    one_is_enough: bool = False


Places = dict[Question, list[int]]
"""The positions of the texts that a search found for each question, best first."""


def recall(corpus: Corpus, found: Places, at: int, kind: str | None = None) -> float:
    """Recall at `at`: the mean share of the answers among the first `at` hits, in percent. `kind`: only questions of this
    kind.
    """
    parts = [_part(corpus, question, found[question][:at]) for question in corpus.questions if kind in (None, question.kind)]
    return 100 * sum(parts) / len(parts)


def _part(corpus: Corpus, question: Question, found: Sequence[int]) -> float:
    held = len(set(found) & set(question.answers))
    return float(held > 0) if corpus.one_is_enough else held / len(question.answers)
