"""A public set of ten long conversations and the questions about them: LoCoMo (Maharana et al., 2024), whose licence (CC BY-NC
4.0) keeps it out of this repository.

Who has its file (`data/locomo10.json` of snap-research/locomo) measures it with
`python -m benchmarks.retrieval --conversations FILE`. Each conversation is a corpus of its own, each turn a text. A question that
the conversation does not answer (category 5), or whose evidence is no turn, is left out.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.retrieval.corpora import Corpus, Question

UNANSWERED = 5
"""The category of the questions whose answer is not in the conversation."""
_SESSION = re.compile(r"session_\d+")
_TURN = re.compile(r"D:?\d+:\d+")
"""A turn's id. One is spelled `D:11:26`, and several stand together in one text."""


def corpora(file: Path) -> list[Corpus]:
    """The corpora of the conversations in the file. Raises: OSError, ValueError if it is not that file."""
    samples = json.loads(file.read_text(encoding="utf-8"))
    try:
        return [_corpus(str(sample.get("sample_id", number)), sample) for number, sample in enumerate(samples)]
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{file}: not the conversations of LoCoMo ({error})") from error


def _corpus(name: str, sample: dict[str, Any]) -> Corpus:
    conversation = sample["conversation"]
    sessions = sorted(filter(_SESSION.fullmatch, conversation), key=lambda session: int(session.rpartition("_")[2]))
    turns = [turn for session in sessions for turn in conversation[session]]
    places = {turn["dia_id"]: place for place, turn in enumerate(turns)}
    questions = []
    for asked in sample["qa"]:
        evidence = [turn.replace("D:", "D") for text in asked["evidence"] for turn in _TURN.findall(text)]
        answers = tuple(dict.fromkeys(places[turn] for turn in evidence if turn in places))
        if answers and asked["category"] != UNANSWERED:
            questions.append(Question(f"category {asked['category']}", asked["question"], answers))
    return Corpus(name, tuple(f"{turn['speaker']}: {turn['text']}" for turn in turns), tuple(questions))
