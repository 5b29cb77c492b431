"""`hibernaut/minilm` is all-MiniLM-L6-v2: its words are cut and its vectors lie as those of the official model, and nothing else
is taken for it.
"""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from hibernaut.adapters.embedder import minilm_files, minilm_words
from hibernaut.adapters.embedder.minilm import MAX_TOKENS, MiniLM
from hibernaut.adapters.embedder.minilm_words import WordPieces
from hibernaut.ports.memory.embedder import EmbedderFailed
from tests.contracts.embedder.pairs import PAIRS
from tests.contracts.embedder.test_contract import cosine

# As the `tokenizers` library cuts them with the model's own tokenizer.json, markers at both ends.
OFFICIAL = {
    "": [101, 102],
    "Hello, world!": [101, 7592, 1010, 2088, 999, 102],
    "Déjà vu: naïve café": [101, 2139, 3900, 24728, 1024, 15743, 7668, 102],
    "我爱北京 天安门": [101, 1855, 100, 1781, 1755, 1811, 1820, 100, 102],
    "don't stop-believing": [101, 2123, 1005, 1056, 2644, 1011, 8929, 102],
    "antidisestablishmentarianism": [101, 3424, 10521, 4355, 7875, 13602, 3672, 12199, 2964, 102],
    "🎉 party": [101, 100, 2283, 102],
    "ΣΊΣΥΦΟΣ": [101, 1173, 18199, 29733, 29735, 29736, 29730, 29733, 102],
    "a\u200bb\0c\u00a0d": [101, 5925, 1040, 102],
    "x" * 101: [101, 100, 102],
    "$5.00 + 10%": [101, 1002, 1019, 1012, 4002, 1009, 2184, 1003, 102],
    "İstanbul ẞ": [101, 9960, 1096, 102],
    "한국어": [101, 1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008, 102],
}


@pytest.fixture(scope="module")
def words() -> WordPieces:
    return WordPieces(minilm_files.vocabulary(minilm_files.installed_folder()))


@pytest.mark.parametrize("text", OFFICIAL)
def test_words_are_cut_as_the_official_tokenizer_cuts_them(words: WordPieces, text: str) -> None:
    assert words.numbers(text, MAX_TOKENS) == OFFICIAL[text]
    assert words.count(text) == len(OFFICIAL[text]) - 2


def test_an_estimate_tells_mostly_what_answers_a_question_without_its_words() -> None:
    """Of 20 texts the answer is mostly among the nearest five; by chance that happens to a quarter of the questions."""
    embedder, answers = MiniLM(), [answer for _, answer in PAIRS]
    among_nearest = 0
    for question, answer in PAIRS:
        estimates = embedder.likeness(question, answers)
        assert estimates is not None
        nearest = sorted(zip(estimates, answers, strict=True), reverse=True)[:5]
        among_nearest += answer in [text for _, text in nearest]
    assert among_nearest >= 15


def test_a_text_is_cut_alike_in_parts_and_whole(words: WordPieces) -> None:
    text = "Unbelievably, antidisestablishmentarianism prospers in Åland.\n" * 4000
    assert len(text) > 3 * minilm_words.STRIDE
    whole = words.numbers(text, 10**6)
    assert words.count(text) == len(whole) - 2 == 4000 * words.count(text.splitlines()[0])
    assert words.numbers(text, MAX_TOKENS) == [*whole[: MAX_TOKENS + 1], minilm_words.END]


def test_the_words_it_remembers_are_bounded(words: WordPieces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm_words, "MOST_WORDS", 10)
    monkeypatch.setattr(minilm_words, "MOST_COUNTS", 10)
    text = " ".join(f"word{number}" for number in range(200))
    assert words.count(text) == words.count(text) == len(words.numbers(text, 10**6)) - 2
    assert len(words._pieces) <= 10
    assert len(words._counts) <= 10


def test_a_long_run_without_a_space_is_counted_and_not_remembered(words: WordPieces) -> None:
    run = "=".join(["word"] * 1000)
    assert words.count(run) == 1999
    assert run not in words._counts


@pytest.mark.parametrize(
    "between",
    ["\x0b", "\x1c", "\x85", "\u00a0", "\u2028", "\u2003", "\n", "\r\n", "\t", "\u200b", "\u0301", " \u0301", "##", "[unused0] "],
)
def test_what_parts_words_parts_them_for_the_count_as_well(words: WordPieces, between: str) -> None:
    text = f"un{between}believable things, Straße"
    assert words.count(text) == len(words.numbers(text, 10**6)) - 2


def test_sentences_are_as_near_as_the_models_own_documentation_says(minilm: MiniLM) -> None:
    """The quick start of the Sentence Transformers documentation, whose model this is."""
    weather, sunny, stadium = minilm.embed(["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."])
    assert cosine(weather, sunny) == pytest.approx(0.6660, abs=1e-4)
    assert cosine(weather, stadium) == pytest.approx(0.1046, abs=1e-4)
    assert cosine(sunny, stadium) == pytest.approx(0.1411, abs=1e-4)


def test_what_is_meant_is_found_without_a_word_in_common(minilm: MiniLM) -> None:
    questions, memories = minilm.embed([one for one, _ in PAIRS], query=True), minilm.embed([other for _, other in PAIRS])
    nearest = [max(range(len(PAIRS)), key=lambda place: cosine(question, memories[place])) for question in questions]
    assert nearest == list(range(len(PAIRS)))


def test_it_is_loaded_with_the_first_text_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    model = MiniLM()
    with caplog.at_level(logging.INFO, logger="hibernaut"):
        assert caplog.messages == []
        model.embed(["one"])
        model.embed(["two"])
    assert caplog.messages == ["local embedding model loaded"]


def test_all_embedders_of_a_process_share_the_model_until_its_files_change(tmp_path: Path) -> None:
    vocabulary = minilm_files.installed_folder() / minilm_files.VOCABULARY
    folder = changed(tmp_path, minilm_files.VOCABULARY, vocabulary.read_bytes())
    first, second = MiniLM(folder), MiniLM(folder)
    assert first.embed(["one"]) == second.embed(["one"])
    assert first._loaded is second._loaded
    (folder / minilm_files.VOCABULARY).write_bytes(b"something else")
    with pytest.raises(EmbedderFailed, match="is not the official file"):
        MiniLM(folder).embed(["one"])


def test_the_terminal_shows_that_it_is_loaded() -> None:
    script = "from hibernaut.local import logs; from hibernaut.adapters.embedder.minilm import MiniLM; logs.to_terminal(); MiniLM().embed(['one'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert " INFO local embedding model loaded model=all-MiniLM-L6-v2 milliseconds=" in done.stderr


def test_making_one_loads_nothing() -> None:
    script = "import sys; from hibernaut.adapters.embedder.minilm import MiniLM; MiniLM(); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_its_products_take_one_core_each(minilm: MiniLM) -> None:
    from threadpoolctl import threadpool_info

    minilm.embed(["some words"])
    pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    assert set(pools) <= {1}


def changed(folder: Path, name: str, to: bytes) -> Path:
    for each in minilm_files.SUMS:
        if each != name:
            (folder / each).symlink_to(minilm_files.installed_folder() / each)
    (folder / name).write_bytes(to)
    return folder


@pytest.mark.parametrize("name", list(minilm_files.SUMS))
def test_a_file_that_is_not_the_official_one_is_refused_for_good(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    model = MiniLM(changed(tmp_path, name, b"something else"))
    for _ in range(2):
        with pytest.raises(EmbedderFailed, match=f"{name} is not the official file") as failed:
            model.embed(["one"])
        assert not failed.value.retryable
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    shutil.copy(minilm_files.installed_folder() / minilm_files.VOCABULARY, tmp_path)
    with pytest.raises(EmbedderFailed, match=r"model\.safetensors cannot be read: No such file"):
        MiniLM(tmp_path).count("one")


def test_a_long_text_in_pieces_is_read_whole(minilm: MiniLM) -> None:
    from hibernaut.domain.search.chunking import chunks

    text = "\n\n".join(f"{question} {answer}" for question, answer in PAIRS) * 5
    pieces = list(chunks(text, minilm.max_tokens, minilm.count))
    assert max(minilm.count(piece.text) for piece in pieces) <= MAX_TOKENS
    assert all(one.end <= other.start for one, other in pairwise(pieces))
