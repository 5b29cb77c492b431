"""A set of packages as one zip file. Equal sets have equal bytes: names are sorted, and times are none."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from hibernaut.adapters.packages.builder import PackageBuilder
from hibernaut.schemas.tools.package_set import PackageSet

_LEVEL = 6
_MODE = 0o444 << 16


class ZipArchiver:
    """The `PackageArchiver`: builds in a temporary folder."""

    def __init__(self, builder: PackageBuilder) -> None:
        self._builder = builder

    def archive(self, requirements: Sequence[str], find: Callable[[str], PackageSet | None]) -> tuple[PackageSet, bytes | None]:
        """As the port says."""
        with TemporaryDirectory(prefix="hibernaut-packages-") as folder:
            work = Path(folder)
            found = self._builder.build(requirements, work, find)
            lib = work / "lib"
            return found, _zipped(lib) if lib.is_dir() else None


def _zipped(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED, compresslevel=_LEVEL) as out:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            entry = ZipInfo(path.relative_to(folder).as_posix())
            entry.external_attr, entry.compress_type = _MODE, ZIP_DEFLATED
            out.writestr(entry, path.read_bytes(), compresslevel=_LEVEL)
    return buffer.getvalue()
