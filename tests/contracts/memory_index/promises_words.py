"""What the port promises of words, in whatever script. Collected by `test_index`, the one file that starts OpenSearch."""

from __future__ import annotations

from hibernaut.ports.memory.memory_index import MemoryIndex
from tests.contracts.memory_index.documents import EAST, SPACE, by_words, document, query

FORMS = [
    ("RUNNING dog", "The dogs ran, he runs."),
    ("cafe", "Im Café um acht"),
    ("café", "the CAFE at eight"),
    ("strasse", "die lange Straße"),
    ("smorrebrod", "Smørrebrød"),
    ("東京", "彼女は東京タワーに住んでいます"),
    ("タワー", "彼女は東京タワーに住んでいます"),
    ("서울", "나는 서울시에 산다"),
    ("北京大学", "他在北京大学读书"),
    ("ｶﾀｶﾅ", "カタカナ"),
    ("川", "川 が見える"),
    ("Ｔｅａ", "tea"),
    ("Москва", "я живу: москва"),
    ("हिन्दी", "वह हिन्दी बोलती है"),
    ("load config", "see load_config.py"),
    ("load_config", "load config"),
    ("don't panic", "DON’T PANIC"),
    ("to be or not to be", "to be, or not to be"),
    ("ana@example.com", "write to ana@example.com!"),
    ('"quoted" AND (NOT near/2 OR *:* column:x)', "a quoted thing"),
    ("3.14", "pi is 3.14"),
]


def test_words_are_found_whatever_their_form_and_script(index: MemoryIndex) -> None:
    places = [f"place {number}" for number in range(len(FORMS))]
    both = zip(places, FORMS, strict=True)
    index.put(SPACE, [document(f"it in {place}", text, place=place) for place, (_, text) in both])
    index.put(SPACE, [document(f"other in {place}", "völlig anders, 別のもの, иной", place=place) for place in places])
    for place, (asked, _) in zip(places, FORMS, strict=True):
        assert by_words(index, asked, places=(place,)) == [f"it in {place}"], asked


def test_single_characters_of_longer_words_do_not_match(index: MemoryIndex) -> None:
    index.put(SPACE, [document("kyoto", "京都"), document("tokyo", "東京")])
    assert by_words(index, "東京") == ["tokyo"]


def test_a_query_without_words_has_no_lexical_hits(index: MemoryIndex) -> None:
    index.put(SPACE, [document("one", 'fact 🙂 ?! " *', EAST)])
    for asked in (None, "", "   ", "?!…—", '"', "*", "()", "🙂", "\x00"):
        found = index.search(SPACE, query(asked, EAST))
        assert found.lexical == ()
        assert [hit.id for hit in found.vector] == ["one"]
        assert index.search(SPACE, query(asked)).vector == ()


def test_a_huge_query_counts_by_its_first_words(index: MemoryIndex) -> None:
    index.put(SPACE, [document("first", "walnuts"), document("last", "volcano")])
    many = " ".join(f"word{number}" for number in range(120_000))
    assert by_words(index, f"walnuts {many} volcano") == ["first"]
    assert by_words(index, "x" * 1_000_000) == []
    assert by_words(index, "東" * 1_000_000) == []
    index.put(SPACE, [document("tokyo", "東京にいます")])
    many = "".join(chr(0x4E00 + number % 20_000) for number in range(100_000))
    assert by_words(index, f"東京{many}") == ["tokyo"]


def test_a_huge_text_is_found_by_its_last_words(index: MemoryIndex) -> None:
    index.put(SPACE, [document("long", f"{'sand ' * 200_000} volcano"), document("odd", "y" * 100_000 + " volcano")])
    assert set(by_words(index, "volcano")) == {"long", "odd"}
