"""The reader of the public conversations that `benchmarks/retrieval` measures where somebody has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.retrieval import conversations
from benchmarks.retrieval.corpora import Question

CONVERSATION = {
    "speaker_a": "Ada",
    "speaker_b": "Bo",
    "session_10_date_time": "1:00 pm on 2 May, 2023",
    "session_10": [{"speaker": "Bo", "dia_id": "D10:1", "text": "It rains."}],
    "session_2_date_time": "1:00 pm on 1 May, 2023",
    "session_2": [
        {"speaker": "Ada", "dia_id": "D2:1", "text": "Good morning."},
        {"speaker": "Bo", "dia_id": "D2:2", "text": "I have a dog.", "blip_caption": "a dog"},
    ],
}


def asked(question: str, category: int, *evidence: str) -> dict[str, object]:
    return {"question": question, "answer": "", "category": category, "evidence": list(evidence)}


def written(folder: Path, content: object) -> Path:
    file = folder / "conversations.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def test_a_conversation_is_a_corpus_of_its_turns_in_the_order_of_the_sessions(tmp_path: Path) -> None:
    questions = [asked("Which pet?", 1, "D2:2"), asked("Which weather?", 4, "D:10:1", "D2:1; D2:2", "D9:9")]
    sample = {"sample_id": "conv-1", "qa": questions, "conversation": CONVERSATION}
    [corpus] = conversations.corpora(written(tmp_path, [sample]))
    assert corpus.name == "conv-1"
    assert corpus.texts == ("Ada: Good morning.", "Bo: I have a dog.", "Bo: It rains.")
    assert corpus.questions == (Question("category 1", "Which pet?", (1,)), Question("category 4", "Which weather?", (2, 0, 1)))


def test_what_no_turn_answers_is_left_out(tmp_path: Path) -> None:
    questions = [asked("Which cat?", 5, "D2:2"), asked("Why?", 3), asked("When?", 2, "D9:9")]
    [corpus] = conversations.corpora(written(tmp_path, [{"qa": questions, "conversation": CONVERSATION}]))
    assert corpus.questions == ()


@pytest.mark.parametrize("content", [{"a": 1}, [{"qa": []}], [3], [{"qa": [{}], "conversation": CONVERSATION}]], ids=str)
def test_another_file_is_refused(tmp_path: Path, content: object) -> None:
    with pytest.raises(ValueError, match="not the conversations of LoCoMo"):
        conversations.corpora(written(tmp_path, content))
