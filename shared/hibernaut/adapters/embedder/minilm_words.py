"""The WordPiece tokenizer of all-MiniLM-L6-v2: converts a text to the ids of its pieces (BERT's uncased vocabulary).

Knows: the rules of BERT's normalizer (control characters are removed, CJK characters and punctuation are separated by spaces,
accents are removed, letters are lower-cased) and the greedy longest-first split of words. Special tokens spelled out in a text
("[SEP]") count as ordinary words.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from hibernaut.domain.combining_marks import without_long_runs

BEGIN, END, UNKNOWN = 101, 102, 100
LONGEST_WORD = 100
"""The longest word in characters; a longer one is unknown as a whole."""
MOST_WORDS = 50_000
"""The number of words in the cache of pieces: about 10 MB. Texts repeat words, and a look-up costs a hundredth of a split."""
MOST_COUNTS = 100_000
"""The number of written words in the cache of counts: about 10 MB. It is larger, because punctuation makes more variants."""
STRIDE = 65_536
"""The number of characters that are processed at once, so that a text of megabytes needs no lists of its size."""
_DROPPED = frozenset({"Mn", "Cc", "Cf", "Cs", "Co"})
_SYMBOLS = frozenset("$+<=>^`|~")
"""BERT treats these symbols as punctuation."""
_CJK = (
    range(0x3400, 0x4DC0),
    range(0x4E00, 0xA000),
    range(0xF900, 0xFB00),
    range(0x20000, 0x2A6E0),
    range(0x2A700, 0x2CEB0),
    range(0x2F800, 0x2FA20),
)


class WordPieces:
    """The tokenizer. `vocabulary`: the pieces in the order of their ids. Thread-safe."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._characters = _Characters()
        self._pieces = _Pieces({piece: number for number, piece in enumerate(vocabulary)})
        self._counts = _Counts(self._characters, self._pieces)

    def count(self, text: str) -> int:
        """The number of pieces of a text, without special tokens."""
        plain = text.replace("\n", " ").replace("\t", " ").replace("\r", " ")
        if plain.isprintable():  # then only spaces separate words, and each word can be normalized alone
            return sum(map(self._counts.__getitem__, plain.split()))
        return sum(sum(map(len, map(self._pieces.__getitem__, words))) for words in self._words(text))

    def numbers(self, text: str, limit: int) -> list[int]:
        """The ids of the first pieces, at most `limit`, between the special tokens for beginning and end."""
        found: list[int] = []
        for words in self._words(text, first=limit * LONGEST_WORD // 10):
            found += chain.from_iterable(map(self._pieces.__getitem__, words))
            if len(found) >= limit:
                break
        return [BEGIN, *found[:limit], END]

    def _words(self, text: str, first: int = STRIDE) -> Iterator[list[str]]:
        """The normalized words: from the first `first` characters, then from STRIDE characters at a time."""
        start, stride = 0, first
        while start < len(text):
            end = len(text) if len(text) <= start + stride else _after_a_space(text, start, start + stride)
            part = text[start:end]
            yield (
                (part if part.isascii() else unicodedata.normalize("NFD", without_long_runs(part)))
                .translate(self._characters)
                .split()
            )
            start, stride = end, STRIDE


def _after_a_space(text: str, start: int, end: int) -> int:
    """A position for a cut that does not split a word; if there is no space, any position."""
    return max(text.rfind(" ", start, end), text.rfind("\n", start, end)) + 1 or end


class _Characters(dict[int, str]):
    """The cache of normalized characters in decomposed form; at most all of Unicode."""

    def __missing__(self, point: int) -> str:
        self[point] = text = _normalized(chr(point))
        return text


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
    """The cache of piece counts for text between two spaces, as written; it holds recent entries of at most the length of a
    word.
    """

    def __init__(self, characters: _Characters, pieces: _Pieces) -> None:
        super().__init__()
        self._characters = characters
        self._pieces = pieces

    def __missing__(self, written: str) -> int:
        number = self._counted(written)
        if len(written) <= LONGEST_WORD:
            if len(self) >= MOST_COUNTS:
                self.clear()
            self[written] = number
        return number

    def _counted(self, written: str) -> int:
        length = self._pieces.length
        if written.isascii():  # most are a word, or a word followed by punctuation
            if written.isalnum():
                return length(written.lower())
            if not written[-1].isalnum() and written[:-1].isalnum():
                return length(written[:-1].lower()) + 1
            plain = written
        else:
            plain = unicodedata.normalize("NFD", without_long_runs(written))
        return sum(map(length, plain.translate(self._characters).split()))


class _Pieces(dict[str, tuple[int, ...]]):
    """The cache of word pieces for recent words."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        super().__init__()
        self._vocabulary = vocabulary

    def __missing__(self, word: str) -> tuple[int, ...]:
        pieces = self._cut(word)
        if len(self) >= MOST_WORDS:
            self.clear()
        self[word] = pieces
        return pieces

    def length(self, word: str) -> int:
        return 1 if word in self._vocabulary else len(self._cut(word))

    def _cut(self, word: str) -> tuple[int, ...]:
        """The pieces of a word: the longest matching piece at each position. If a part matches no piece, the word is unknown."""
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
