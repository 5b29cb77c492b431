"""The decoding of a file's bytes to text.

Pure. `charset_normalizer` determines an encoding that no mark states, from a sample; it is imported at the first such text. A
text that fits no encoding is refused. Two code pages of related languages may be confused in a text of a few words.
"""

from __future__ import annotations

import codecs
import re
from contextlib import suppress

from hibernaut.domain.files.file_texts import Unreadable

SAMPLE = 64 * 1024
"""The number of bytes from which the encoding is determined."""
ENCODINGS = (
    "cp1252", "cp1251", "cp932", "gb18030", "big5", "euc_jp", "cp949", "cp1250", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257",
    "koi8_r", "iso8859_2", "cp874",
)  # fmt: skip
MULTI_BYTE = frozenset({"cp932", "gb18030", "big5", "euc_jp", "cp949"})
"""The encodings that a text without a byte order mark may have, other than UTF-8, the likeliest first."""
SAME_COHERENCE = 0.03
"""Two encodings whose texts are equally much like a language, within this share, are as likely as their places in ENCODINGS."""
WEB_ENCODINGS = frozenset({
    "utf-8", "utf-16", "utf-16-le", "utf-16-be", "ascii", "cp866", "cp874", "tis-620", "koi8-r", "koi8-u", "mac-roman",
    "mac-cyrillic", "gbk", "gb2312", "gb18030", "big5", "big5hkscs", "euc_jp", "iso2022_jp", "shift_jis", "cp932", "euc_kr", "cp949",
    *(f"iso8859-{part}" for part in (*range(1, 12), *range(13, 17))), *(f"cp{page}" for page in range(1250, 1259)),
})  # fmt: skip
"""Python's names of the encodings of the WHATWG Encoding Standard. Python knows others, of which some take a time that grows with
the square of the text.
"""
_WIDER = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "tis-620": "cp874", "iso8859-11": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs",
}  # fmt: skip
"""What pages mean by these names (the labels of the standard): encodings that hold more characters."""
_BREAKS = re.compile(r"\r\n?|\u2028|\u2029|\x0b|\x0c|\x85")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decoded(data: bytes) -> str:
    """The decoded text: by its byte order mark, as UTF-8, or in one of ENCODINGS.

    Lines end with a line feed. Raises: Unreadable.
    """
    return _plain(_decoded(data))


def _plain(text: str) -> str:
    return _BREAKS.sub("\n", text).replace("\0", "")


def in_web_encoding(data: bytes, encoding: str) -> str | None:
    """The text in an encoding that a web page names, with replacement characters for errors; None if pages have no such one."""
    try:
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        return None
    return data.decode(_WIDER.get(name, name), "replace") if name in WEB_ENCODINGS else None


def web_text(data: bytes, encoding: str) -> str:
    """The text of a page that is no HTML: by its byte order mark, in the encoding that its header names ("": none), or as a
    file's. A page that is UTF-8 but for some bytes, such as the last ones of a page that was cut, has replacement characters for
    these.

    Lines end with a line feed. Raises: Unreadable.
    """
    if not any(data.startswith(mark) for mark, _ in _BOMS):
        named = in_web_encoding(data, encoding)
        if named is None or _is_utf8(encoding):
            named = _mostly_utf8(data)
        if named is not None:
            return _plain(named)
    return decoded(data)


def _mostly_utf8(data: bytes) -> str | None:
    """The text if more of its characters beyond ASCII are valid UTF-8 than are not, and it holds no zero bytes."""
    text = data.decode("utf-8", "replace")
    foreign, errors = len(text) - len(text.encode("ascii", "ignore")), text.count("\ufffd")
    return text if errors * 2 <= foreign and b"\0" not in data[:SAMPLE] else None


def _is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name == "utf-8"


def _decoded(data: bytes) -> str:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _by(data, encoding)
    if b"\0" in data[:SAMPLE]:
        return _by(data, _wide(data[:SAMPLE]))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _guessed(data)


def _by(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        raise Unreadable(f"The text is not valid {encoding.upper()}. Save it as UTF-8 and upload it again.") from None


def _wide(sample: bytes) -> str:
    """The UTF-16 variant of text without a byte order mark, determined by the positions of zero bytes. Raises: Unreadable for
    binary data.
    """
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = max(1, len(sample) // 2)
    if odd > half * 0.4 and even < half * 0.05:
        return "utf-16-le"
    if even > half * 0.4 and odd < half * 0.05:
        return "utf-16-be"
    raise Unreadable("The file is no text: it holds zero bytes.")


def _guessed(data: bytes) -> str:
    """The text in the likeliest encoding that all of it fits. Raises: Unreadable."""
    for encoding in _likely(_sample(data)):
        with suppress(UnicodeDecodeError):
            return data.decode(encoding)
    raise Unreadable("The encoding of the text cannot be determined. Save it as UTF-8 and upload it again.")


def _likely(sample: bytes) -> list[str]:
    """The encodings in which a sample is a text, the likeliest first."""
    from charset_normalizer import from_bytes

    matches = list(from_bytes(sample, cp_isolation=list(ENCODINGS)))
    found: list[tuple[float, int, int]] = []
    for match in matches:
        # Encodings that read the sample alike are one match.
        place = min(ENCODINGS.index(name) for name in match.could_be_from_charset if name in ENCODINGS)
        # No language is seen in a text of a few words: then other single-byte encodings than the first fit by chance.
        if match.coherence > 0 or place == 0 or ENCODINGS[place] in MULTI_BYTE or len(matches) == 1:
            found.append((match.chaos, -round(match.coherence / SAME_COHERENCE), place))
    return [ENCODINGS[place] for _, _, place in sorted(found)]


def _sample(data: bytes) -> bytes:
    """The beginning of the data up to a white-space byte, which is no part of another character in any encoding."""
    if len(data) <= SAMPLE:
        return data
    end = max(data.rfind(space, 0, SAMPLE) for space in (b" ", b"\n"))
    return data[: end if end > 0 else SAMPLE]
