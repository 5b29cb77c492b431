"""Public questions and answers: the FAQs of two Debian packages, read from the installed packages.

`apt-get install python3.11-doc debian-faq` installs them. The first has the PSF licence, the second permits verbatim copies; this
repository copies neither. A text is a part of an answer of about 110 words. A question counts as answered if a part of its answer
is found.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from benchmarks.retrieval.corpora import Corpus, Question

PYTHON = Path("usr/share/doc/python3.11/html/_sources/faq")
DEBIAN = Path("usr/share/doc/debian/FAQ/debian-faq.en.txt.gz")
WORDS = 110
_UNDERLINE = re.compile("[-=]{5,}")
_ROLE = re.compile(":[\\w:]+:`~?([^`<]*)[^`]*`")


def corpora(root: Path = Path("/")) -> list[Corpus]:
    """The corpora of the installed packages. `root`: the folder with the unpacked packages."""
    found = []
    if (root / PYTHON).is_dir():
        found.append(_corpus("Python FAQ", _of_python(root / PYTHON)))
    if (root / DEBIAN).is_file():
        found.append(_corpus("Debian FAQ", _of_debian(root / DEBIAN)))
    return found


def _corpus(name: str, answered: Iterator[tuple[str, list[str]]]) -> Corpus:
    texts: list[str] = []
    questions = []
    for question, paragraphs in answered:
        parts = _parts(paragraphs)
        if parts and "?" in question:
            questions.append(Question("faq", question, tuple(range(len(texts), len(texts) + len(parts)))))
        texts += parts
    return Corpus(name, tuple(texts), tuple(questions), one_is_enough=True)


def _of_python(folder: Path) -> Iterator[tuple[str, list[str]]]:
    for file in sorted(folder.glob("*.rst.txt")):
        lines = file.read_text(encoding="utf-8").splitlines()
        heads = [
            place
            for place in range(len(lines) - 1)
            if lines[place].strip() and _UNDERLINE.fullmatch(lines[place + 1]) and not _UNDERLINE.fullmatch(lines[place])
        ]
        for place, end in pairwise([*heads, len(lines)]):
            body = _ROLE.sub(r"\1", "\n".join(lines[place + 2 : end]))
            if lines[place + 1].startswith("-"):
                yield lines[place].replace("``", ""), [each for each in body.split("\n\n") if not each.startswith(".. ")]


def _of_debian(file: Path) -> Iterator[tuple[str, list[str]]]:
    with gzip.open(file, "rt", encoding="utf-8") as text:
        blocks = re.split(r"^(?=\d+(?:\.\d+)+\. |Chapter |Appendix )", text.read().replace("\u00a0", " "), flags=re.MULTILINE)
    for block in blocks:
        head, _, body = block.partition("\n\n")
        if head[:1].isdigit() and body.startswith("    "):
            yield " ".join(head.split()[1:]), body.split("\n\n")


def _parts(paragraphs: list[str]) -> list[str]:
    """The paragraphs, joined to parts of about the same number of words."""
    found, part = list[str](), list[str]()
    for words in (paragraph.split() for paragraph in paragraphs):
        if part and len(part) + len(words) > WORDS:
            found.append(" ".join(part))
            part = []
        part += words
        while len(part) > 2 * WORDS:
            found.append(" ".join(part[:WORDS]))
            part = part[WORDS:]
    return [*found, " ".join(part)] if part else found
