"""Every key of a blob, and the item that owns it. No other module builds such a key.

records/, ephemeral/   pk/sk/name         the body of a record that is too large for its item; ephemeral: with a time to live
files/                 tenant/file        a file's bytes that were sent to the API
uploads/               tenant/file        a file's bytes that the client uploads to the bucket
texts/                 tenant/file/part   a part of a file's text
tool_packages/         tenant/name        the packages of tools, which no item owns (`store/package_blobs.py`)
"""

from __future__ import annotations

from hibernaut.ports.storage.table import Key
from hibernaut.store.table import keys
from hibernaut.store.table.tenants import checked, is_tenant

UPLOADS = "uploads/"
"""The key prefix of uploaded blobs. The creation of such a blob triggers ingestion."""
RECORDS, EPHEMERAL, FILES, TEXTS = "records/", "ephemeral/", "files/", "texts/"
"""The key prefixes of all other blobs: bodies of records, bodies of records with a time to live, files, texts of files."""
PACKAGES = "tool_packages/"
"""The key prefix of the packages of tools. It is no name that a tenant could have."""
TRACE = "/trace"
"""The end of the key of a step's trace."""
EPHEMERAL_DAYS = 8
"""Days after which the engine may drop a blob with the prefix EPHEMERAL: a day more than its owner's longest time to live."""


def body_blob(owner: Key, name: str, *, ephemeral: bool = False) -> str:
    """The blob key of a body that is too large for its item `owner`. `name` is unique: no two writes share a blob."""
    return f"{EPHEMERAL if ephemeral else RECORDS}{owner.pk}/{owner.sk}/{name}".replace("#", "/")


def trace(tenant: str, run_id: str, step_id: str) -> str:
    """The blob key of a step's trace. The step does not name the blob, so the collector deletes it after a day."""
    return body_blob(keys.step(tenant, run_id, step_id), TRACE.removeprefix("/"), ephemeral=True)


def blob_prefixes(tenant: str) -> tuple[str, ...]:
    """The key prefixes of all blobs of a tenant. The last one covers bodies that the first versions wrote."""
    return tuple(f"{kind}{checked(tenant)}/" for kind in (RECORDS, EPHEMERAL, FILES, UPLOADS, TEXTS, PACKAGES, ""))


def blob_owner(blob: str) -> Key | None:
    """The only item that may name a blob: the owner of a body, the file of bytes and texts. None: another layout.

    The partition of a record has the tenant, a noun, and mostly an id. Without an id the record's sort key is one part, so the
    number of parts tells the two forms apart.
    """
    prefixed = blob.startswith((RECORDS, EPHEMERAL, FILES, UPLOADS, TEXTS))
    parts = blob.split("/")[1 if prefixed else 0 :]
    if not is_tenant(parts[0]):
        return None
    if blob.startswith((FILES, UPLOADS, TEXTS)):
        return keys.file(parts[0], parts[1]) if len(parts) > 1 else None
    if len(parts) < 4:
        return None
    partition = 2 if len(parts) == 4 else 3
    return Key("#".join(parts[:partition]), "#".join(parts[partition:-1]))


def file_blob(tenant: str, file_id: str) -> str:
    """The blob key of a file's bytes that were sent to the API."""
    return f"{FILES}{checked(tenant)}/{file_id}"


def package_blob(tenant: str, name: str) -> str:
    """The blob key of a part of a set of packages (`services/tools/package_builds.py`)."""
    return f"{PACKAGES}{checked(tenant)}/{name}"


def of_package_blob(blob: str) -> tuple[str, str]:
    """The tenant and the name in the key of a part of a set of packages."""
    tenant, _, name = blob.removeprefix(PACKAGES).partition("/")
    return tenant, name


def upload_blob(tenant: str, file_id: str) -> str:
    """The blob key of a file's bytes that the client uploads to the bucket. The creation of the blob triggers ingestion."""
    return f"{UPLOADS}{checked(tenant)}/{file_id}"


def of_upload_blob(key: str) -> tuple[str, str]:
    """The tenant and the file id of an upload's blob key."""
    tenant, _, file_id = key.removeprefix(UPLOADS).rpartition("/")
    return tenant, file_id


def text_blob(tenant: str, file_id: str, part: int) -> str:
    """The blob key of a part of a file's text."""
    return f"{TEXTS}{checked(tenant)}/{file_id}/{part:06d}"


def of_text_blob(key: str) -> int:
    """The part number of a text's blob key."""
    return int(key.rpartition("/")[2])
