"""The encodings of texts: by their marks, or determined, or refused."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hibernaut.domain.files.file_texts import Unreadable
from hibernaut.domain.files.text_encodings import decoded, in_web_encoding, web_text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_a_text_is_read_in_its_encoding(encoding: str) -> None:
    text = "Grüße aus Köln: „viele“ Vögel – und mehr davon.\n"
    assert decoded(text.encode(encoding)) == text


FRENCH = "Les élèves ont été très étonnés de voir l'été arriver si tôt cette année, même à Besançon. "
CZECH = "Příliš žluťoučký kůň úpěl ďábelské ódy. Včera večer jsme šli do divadla, protože tam hráli zajímavou hru. "
RUSSIAN = "Вчера вечером мы пошли в театр, потому что там показывали интересный спектакль о жизни в большом городе. "
GREEK = "Χθες το βράδυ πήγαμε στο θέατρο, γιατί έπαιζαν ένα ενδιαφέρον έργο για τη ζωή στη μεγάλη πόλη. "
JAPANESE = "昨日の夜、私たちは劇場に行きました。大都市での生活についての面白い演劇が上演されていたからです。"


@pytest.mark.parametrize("times", [1, 20, 2000], ids=["a line", "a page", "more than the sample"])
@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (FRENCH, "cp1252"),
        (CZECH, "cp1250"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (GREEK, "cp1253"),
        (JAPANESE, "shift-jis"),
        (JAPANESE, "euc-jp"),
        ("昨天晚上我们去了剧院，因为那里正在上演一部关于大城市生活的有趣戏剧。", "gb18030"),
        ("昨天晚上我們去了劇院，因為那裡正在上演一部關於大城市生活的有趣戲劇。", "big5"),
        ("어제 저녁에 우리는 대도시 생활에 관한 재미있는 연극을 보기 위해 극장에 갔습니다. ", "euc-kr"),
        ("Dün akşam büyük şehirdeki yaşam hakkında ilginç bir oyun oynandığı için tiyatroya gittik. ", "cp1254"),
    ],
)
def test_an_encoding_that_no_mark_states_is_determined(text: str, encoding: str, times: int) -> None:
    assert decoded((text * times).encode(encoding)) == text * times


def test_a_few_western_words_are_read_as_such() -> None:
    for text in ("café", "Grüße\n", "naïve “café” – €5"):
        assert decoded(text.encode("cp1252")) == text


def test_no_guess_is_imported_before_the_first_text_that_needs_one() -> None:
    code = (
        "import sys, hibernaut.wiring.embedded\n"
        "from hibernaut.domain.files.text_encodings import decoded\n"
        "assert decoded('Grüße'.encode()) == 'Grüße'\n"
        "assert 'charset_normalizer' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": "shared"}, timeout=60)


@pytest.mark.parametrize(
    "data",
    [
        "Привет, мир".encode("koi8-r"),
        b"\x7fELF\x02\x01\x01" + bytes(range(0x80, 0x100)) * 9,
        b"\x00\x01\x02" * 50,
        b"\xff\xfe\x00",
        bytes(range(256)),
    ],
)
def test_what_cannot_be_told_is_refused_rather_than_guessed(data: bytes) -> None:
    with pytest.raises(Unreadable):
        decoded(data)


def test_every_end_of_a_line_is_a_line_feed() -> None:
    assert decoded(b"a\r\nb\rc\x0cd") == "a\nb\nc\nd"


@pytest.mark.parametrize("name", ["utf8", "latin1", "windows-1251", "Shift_JIS", "gb2312", "iso-2022-jp", "utf-16", "macintosh"])
def test_a_page_is_read_in_an_encoding_of_the_web(name: str) -> None:
    assert in_web_encoding("abc".encode(name), name) == "abc"


@pytest.mark.parametrize(
    "name", ["punycode", "idna", "utf-7", "unicode_escape", "raw_unicode_escape", "hz", "zlib", "none", "a\0", ""]
)
def test_another_encoding_is_none_of_a_page(name: str) -> None:
    assert in_web_encoding(b"abc", name) is None


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        ("Привет".encode("koi8-r"), "KOI8-R", "Привет"),
        ("Καλημέρα".encode("iso8859-7"), "iso-8859-7", "Καλημέρα"),
        ("日本語".encode("euc-jp"), "euc-jp", "日本語"),
        ("“Tea” – 5 €".encode("cp1252"), "iso-8859-1", "“Tea” – 5 €"),
        ("“Tea” – 5 €".encode("cp1252"), "us-ascii", "“Tea” – 5 €"),
        ("Größe\r\n".encode("utf-16-le"), "utf-16le", "Größe\n"),
        ("\ufeffGröße".encode(), "iso-8859-1", "Größe"),
        ("Größe".encode(), "no-such-one", "Größe"),
        ("Größe".encode(), "", "Größe"),
        ("Größe".encode("utf-16"), "", "Größe"),
        (FRENCH.encode("cp1252"), "utf-8", FRENCH),
        (FRENCH.encode("cp1252"), "", FRENCH),
        ("éé".encode()[:-1], "utf-8", "é\ufffd"),
        ("éé".encode()[:-1], "", "é\ufffd"),
        (b"plain \xff text " + "é".encode(), "", "plain \ufffd text é"),
    ],
)
def test_a_page_is_read_in_the_encoding_of_its_header_else_in_its_own(data: bytes, encoding: str, text: str) -> None:
    assert web_text(data, encoding) == text


@pytest.mark.parametrize("encoding", ["", "utf-8", "no-such-one"])
def test_a_page_of_bytes_is_no_text(encoding: str) -> None:
    with pytest.raises(Unreadable):
        web_text(bytes(range(256)) * 8, encoding)
