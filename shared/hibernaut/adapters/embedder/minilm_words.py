"""WordPiece as all-MiniLM-L6-v2 was trained with it: a text becomes the numbers of its pieces (BERT's uncased vocabulary).

Knows: the rules of BERT's normalizer (control characters out, a space around each CJK character and each mark of punctuation, accents
off, lower case) and the greedy, longest-first cutting of words. Markers that a text spells out itself ("[SEP]") are only words to it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

BEGIN, END, UNKNOWN = 101, 102, 100
LONGEST_WORD = 100
"""Characters: a longer word is unknown as a whole."""
KEPT_WORDS = 50_000
"""Words whose pieces are remembered: some 10 MB. Texts repeat their words, and finding one costs a hundredth of cutting it."""
KEPT_COUNTS = 100_000
"""Written words whose number of pieces is remembered: some 10 MB. Long texts have more of these, for they come with their marks."""
STRIDE = 65_536
"""Characters that are read at once, so that a text of megabytes needs no lists of its own size."""
_DROPPED = frozenset({"Mn", "Cc", "Cf", "Cs", "Co"})
_SYMBOLS = frozenset("$+<=>^`|~")
"""Punctuation to BERT, though Unicode calls them symbols."""
_CJK = (
    range(0x3400, 0x4DC0),
    range(0x4E00, 0xA000),
    range(0xF900, 0xFB00),
    range(0x20000, 0x2A6E0),
    range(0x2A700, 0x2CEB0),
    range(0x2F800, 0x2FA20),
)


class WordPieces:
    """`vocabulary`: its pieces in the order of their numbers. Thread-safe."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._characters = _Characters()
        self._pieces = _Pieces({piece: number for number, piece in enumerate(vocabulary)})
        self._counts = _Counts(self._characters, self._pieces)

    def count(self, text: str) -> int:
        """How many pieces it has, markers not counted."""
        plain = text.replace("\n", " ").replace("\t", " ").replace("\r", " ")
        if plain.isprintable():  # then only spaces part its words, and what stands between them is normalized by itself
            return sum(map(self._counts.__getitem__, plain.split()))
        return sum(sum(map(len, map(self._pieces.__getitem__, words))) for words in self._words(text))

    def numbers(self, text: str, limit: int) -> list[int]:
        """Its first pieces, at most `limit`, between the markers of a beginning and an end."""
        found: list[int] = []
        for words in self._words(text, first=limit * LONGEST_WORD // 10):
            found += chain.from_iterable(map(self._pieces.__getitem__, words))
            if len(found) >= limit:
                break
        return [BEGIN, *found[:limit], END]

    def _words(self, text: str, first: int = STRIDE) -> Iterator[list[str]]:
        """The normalized words, from as many characters at once as `first` says, and then from STRIDE."""
        start, stride = 0, first
        while start < len(text):
            end = len(text) if len(text) <= start + stride else _after_a_space(text, start, start + stride)
            part = text[start:end]
            yield (part if part.isascii() else unicodedata.normalize("NFD", part)).translate(self._characters).split()
            start, stride = end, STRIDE


def _after_a_space(text: str, start: int, end: int) -> int:
    """Where to cut without cutting a word; where there is no space for that long, anywhere."""
    return max(text.rfind(" ", start, end), text.rfind("\n", start, end)) + 1 or end


class _Characters(dict[int, str]):
    """What becomes of a character that stands decomposed; learnt as they come, at most the whole of Unicode."""

    def __missing__(self, point: int) -> str:
        self[point] = shown = _normalized(chr(point))
        return shown


def _normalized(character: str) -> str:
    if character in "\t\n\r":
        return " "
    category = unicodedata.category(character)
    if category in _DROPPED or character == "\N{REPLACEMENT CHARACTER}":
        return ""
    if character.isspace():
        return " "
    if category[0] == "P" or character in _SYMBOLS or any(ord(character) in block for block in _CJK):
        return f" {character} "
    return character.lower()


class _Counts(dict[str, int]):
    """How many pieces has what stands between two spaces, as it was written; remembered for what was met last and is no longer than a
    word."""

    def __init__(self, characters: _Characters, pieces: _Pieces) -> None:
        super().__init__()
        self._characters = characters
        self._pieces = pieces

    def __missing__(self, written: str) -> int:
        number = self._counted(written)
        if len(written) <= LONGEST_WORD:
            if len(self) >= KEPT_COUNTS:
                self.clear()
            self[written] = number
        return number

    def _counted(self, written: str) -> int:
        length = self._pieces.length
        if written.isascii():  # most are a word, or a word and a mark behind it
            if written.isalnum():
                return length(written.lower())
            if not written[-1].isalnum() and written[:-1].isalnum():
                return length(written[:-1].lower()) + 1
            plain = written
        else:
            plain = unicodedata.normalize("NFD", written)
        return sum(map(length, plain.translate(self._characters).split()))


class _Pieces(dict[str, tuple[int, ...]]):
    """The pieces of a word, remembered for the words met last."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        super().__init__()
        self._vocabulary = vocabulary

    def __missing__(self, word: str) -> tuple[int, ...]:
        pieces = self._cut(word)
        if len(self) >= KEPT_WORDS:
            self.clear()
        self[word] = pieces
        return pieces

    def length(self, word: str) -> int:
        return 1 if word in self._vocabulary else len(self._cut(word))

    def _cut(self, word: str) -> tuple[int, ...]:
        """Always the longest piece that fits next; a word of which any part has no piece is unknown."""
        if len(word) > LONGEST_WORD:
            return (UNKNOWN,)
        found: list[int] = []
        start, end, prefix = 0, len(word), ""
        while start < end:
            piece = self._vocabulary.get(prefix + word[start:end])
            if piece is not None:
                found.append(piece)
                start, end, prefix = end, len(word), "##"
            elif end - start == 1:
                return (UNKNOWN,)
            else:
                end -= 1
        return tuple(found)
