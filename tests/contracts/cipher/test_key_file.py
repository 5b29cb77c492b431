"""The key file of the `Cipher` port: made once and whole, private, and missed aloud."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from hibernaut.adapters.cipher.key_file import KeyFileCipher
from hibernaut.ports.storage.cipher import SealBroken
from hibernaut.schemas.errors import MasterKeyUnavailable

PLACE = {"tenant": "default", "id": "provider-1"}


def test_the_file_is_private_and_the_folder_holds_nothing_else(tmp_path: Path) -> None:
    KeyFileCipher(tmp_path / "secrets.key").seal(b"sk-1", PLACE)
    assert [path.name for path in tmp_path.iterdir()] == ["secrets.key"]
    assert stat.S_IMODE((tmp_path / "secrets.key").stat().st_mode) == 0o600


def test_nothing_is_made_before_something_is_sealed(tmp_path: Path) -> None:
    KeyFileCipher(tmp_path / "secrets.key")
    assert list(tmp_path.iterdir()) == []


def test_the_next_process_opens_what_this_one_sealed(tmp_path: Path) -> None:
    sealed = KeyFileCipher(tmp_path / "secrets.key").seal(b"sk-1", PLACE)
    assert KeyFileCipher(tmp_path / "secrets.key").unseal(sealed, PLACE) == b"sk-1"


def test_of_several_that_make_the_file_at_once_all_use_one_key(tmp_path: Path) -> None:
    ciphers = [KeyFileCipher(tmp_path / "secrets.key") for _ in range(8)]
    sealed: list[bytes] = []
    gate = threading.Barrier(len(ciphers))

    def seal(cipher: KeyFileCipher) -> None:
        gate.wait()
        sealed.append(cipher.seal(b"sk-1", PLACE))

    threads = [threading.Thread(target=seal, args=(cipher,)) for cipher in ciphers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [cipher.unseal(one, PLACE) for cipher in ciphers for one in sealed] == [b"sk-1"] * 64


def test_a_missing_file_is_named_and_no_other_key_is_made_in_its_place(tmp_path: Path) -> None:
    file = tmp_path / "secrets.key"
    sealed = KeyFileCipher(file).seal(b"sk-1", PLACE)
    file.unlink()
    with pytest.raises(MasterKeyUnavailable, match=r"secrets\.key is missing.*backup"):
        KeyFileCipher(file).unseal(sealed, PLACE)
    assert not file.exists()


def test_another_key_opens_nothing(tmp_path: Path) -> None:
    sealed = KeyFileCipher(tmp_path / "one").seal(b"sk-1", PLACE)
    other = KeyFileCipher(tmp_path / "two")
    other.seal(b"", PLACE)
    with pytest.raises(SealBroken, match="another key"):
        other.unseal(sealed, PLACE)


def test_a_key_that_is_put_before_another_one_seals_and_both_open(tmp_path: Path) -> None:
    file = tmp_path / "secrets.key"
    old = KeyFileCipher(file).seal(b"old", PLACE)
    first = file.read_text()
    file.write_text("ab" * 32 + "\n" + first)
    rotated = KeyFileCipher(file)
    new = rotated.seal(b"new", PLACE)
    assert [rotated.unseal(sealed, PLACE) for sealed in (old, new)] == [b"old", b"new"]
    file.write_text("ab" * 32 + "\n")
    assert KeyFileCipher(file).unseal(new, PLACE) == b"new"
    with pytest.raises(SealBroken):
        KeyFileCipher(file).unseal(old, PLACE)


TOO_MANY = b"\n".join([b"0" * 64] * 17)


@pytest.mark.parametrize("text", [b"", b"short", b"z" * 64, b"0" * 63, b"0" * 66, b"\xff" * 64, TOO_MANY, b"0" * 64 + b"\nx"])
def test_a_file_that_holds_no_key_is_refused_and_stays(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "secrets.key"
    file.write_bytes(text)
    with pytest.raises(MasterKeyUnavailable, match="does not hold a key"):
        KeyFileCipher(file).seal(b"sk-1", PLACE)
    assert file.read_bytes() == text


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_text("0" * 64)
    (tmp_path / "secrets.key").symlink_to(target)
    with pytest.raises(MasterKeyUnavailable, match="symbolic link"):
        KeyFileCipher(tmp_path / "secrets.key").seal(b"sk-1", PLACE)
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "nowhere")
    with pytest.raises(MasterKeyUnavailable, match="symbolic link"):
        KeyFileCipher(dangling).seal(b"sk-1", PLACE)
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(MasterKeyUnavailable, match=r"missing/secrets\.key cannot be used"):
        KeyFileCipher(tmp_path / "missing" / "secrets.key").seal(b"sk-1", PLACE)
