"""Texts and keys that a command line gives directly, or by a file behind `@`."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from hibernaut.wiring.configuration.variables import BadSetting


def key_of(value: str) -> str:
    """The key, or the one in the file behind `@`. Raises: BadSetting."""
    return read(Path(value[1:])).strip() if value.startswith("@") else value


def read(path: Path) -> str:
    """The text of a file. Raises: BadSetting."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}") from None


def address(text: str) -> str:
    """An address of a server. Raises: ArgumentTypeError for anything else."""
    if not re.fullmatch(r"https?://[^/\s]+(/\S*)?", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not an address: it begins with http:// or https://")
    return text
