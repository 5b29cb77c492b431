"""Builds the packages of tools on AWS: a set becomes a zip file among the tenant's blobs, which the sandbox fetches.

    tool_packages/<tenant>/<digest>.zip     the files of a set
    tool_packages/<tenant>/<digest>.json    its description, written after the zip file: a set without it is none
    tool_packages/<tenant>/asked-<sum>      the answer to the requirements of this sum; it holds for `CHOICE_SECONDS`

A request that was repeated while the first one was being answered finds its answer here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from pydantic import ValidationError

from hibernaut.ports.clock import Clock
from hibernaut.ports.storage.blobs import Blobs
from hibernaut.ports.tools.packages import PackageArchiver
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.faults.package_faults import PackageIndexUnavailable, PackagesRefused
from hibernaut.schemas.tools.package_set import PackageSet
from hibernaut.store.table import blob_keys

CHOICE_SECONDS = 600.0
"""Seconds for which the choice of versions, or a refusal, holds for all requests for the same packages."""


class PackageBuilds:
    """Builds the sets of one tenant."""

    def __init__(self, tenant: str, blobs: Blobs, archiver: PackageArchiver, clock: Clock) -> None:
        self._tenant = tenant
        self._blobs = blobs
        self._archiver = archiver
        self._clock = clock

    def answer(self, requirements: Sequence[str]) -> JsonObject:
        """`packages`: the set, whose zip file exists; or `refused`: the reason why there is none; or `unavailable` and
        `retry_after`.

        Raises: OSError. Two concurrent builds of the same set write the same bytes.
        """
        key = self._key(f"asked-{hashlib.sha256(json.dumps(list(requirements)).encode()).hexdigest()}")
        stored = self._stored_answer(key)
        if stored is not None:
            return stored
        try:
            answer: JsonObject = {"packages": self._built(requirements).model_dump(mode="json")}
        except PackagesRefused as refused:
            answer = {"refused": refused.reason}
        except PackageIndexUnavailable as error:
            return {"unavailable": error.detail, "retry_after": error.retry_after}
        self._blobs.put(key, json.dumps({"at": self._clock.now().timestamp(), "answer": answer}).encode())
        return answer

    def _built(self, requirements: Sequence[str]) -> PackageSet:
        found, archive = self._archiver.archive(requirements, self._set)
        if archive is not None:
            found = found.model_copy(update={"archive": hashlib.sha256(archive).hexdigest()})
            self._blobs.put(self._key(f"{found.digest}.zip"), archive)
            self._blobs.put(self._key(f"{found.digest}.json"), found.model_dump_json().encode())
        return found

    def _set(self, digest: str) -> PackageSet | None:
        """The set of this digest, if it is complete. Its record is written again, so that the collector sees that it is in
        use.
        """
        try:
            found = PackageSet.model_validate_json(self._blobs.get(self._key(f"{digest}.json")))
        except (KeyError, ValidationError):
            return None
        self._blobs.put(self._key(f"{digest}.json"), found.model_dump_json().encode())
        return found

    def _stored_answer(self, key: str) -> JsonObject | None:
        try:
            record = json.loads(self._blobs.get(key))
        except (KeyError, ValueError):
            return None
        if self._clock.now().timestamp() - float(record["at"]) > CHOICE_SECONDS:
            return None
        answer: JsonObject = record["answer"]
        return answer

    def _key(self, name: str) -> str:
        return blob_keys.package_blob(self._tenant, name)
