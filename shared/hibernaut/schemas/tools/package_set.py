"""The Python packages of a tool, as they were chosen when the tool was saved. Later calls get the same files, never others."""

from hibernaut.schemas.base import Schema


class PackagePin(Schema):
    """One wheel: `name` is the normalized name of its project, `file` its name in the index, `sha256` that of its bytes in
    hexadecimal.
    """

    name: str
    version: str
    file: str
    sha256: str


class PackageSet(Schema):
    """The wheels of a tool. `digest` names the set: equal sets have equal digests. `target`: the Python and the platform that
    they fit. `size`: their files in bytes. `archive`: the SHA-256 of the set's zip file, where the deployment keeps one.
    """

    digest: str
    target: str
    size: int
    pins: list[PackagePin]
    archive: str | None = None
