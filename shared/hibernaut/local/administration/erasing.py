"""`hibernaut erase`: erases a person over the API of a server, follows the work, and prints the receipt (`docs/security.md`)."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

from hibernaut.local.profiles import CannotServe
from hibernaut.local.remote.agent_server import AgentServer, ServerRefused
from hibernaut.local.terminal import harmless
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.ids import is_id
from hibernaut.schemas.immutable import immutable

LOOK = 2.0
"""Seconds between two looks at an erasure."""
STOPPED = "the erasure goes on at the server; run the same command again to follow it"


@immutable
class Erasing:
    """The erasures of a server. `pause` waits for seconds between two looks."""

    server: AgentServer
    as_json: bool
    pause: Callable[[float], None] = time.sleep

    def erase(self, name: str, sure: Callable[[str], bool], *, wait: bool) -> int:
        """Erase a person, or follow a running erasure; returns the exit code. `name`: the id of the identity, its key, or the id
        of the erasure. Raises: CannotServe.
        """
        identity_id = self._identity(name)
        begun = self._find(erasure_id_of(identity_id))
        if begun is None and not sure(f"Erase {name} with everything that follows from it? It cannot be undone."):
            raise CannotServe("nothing was erased")
        return self._follow(lambda: self._start(identity_id), wait=wait)

    def check(self, name: str, *, wait: bool) -> int:
        """Search again for remains of an erased person. Raises: CannotServe."""
        erasure_id = erasure_id_of(self._identity(name))
        erasure = dict(self.server.post(f"/v1/erasures/{erasure_id}/check"))
        requested = erasure["check"]["requested_at"]

        def look() -> JsonObject:
            found = self._find(erasure_id) or erasure
            is_new = found["check"]["requested_at"] >= requested and found["check"]["state"] == "completed"
            return {**found, "state": "completed" if is_new else "running"}

        return self._follow(look, wait=wait)

    def show(self, name: str) -> int:
        """Print an erasure with its receipt. Raises: CannotServe."""
        erasure_id = erasure_id_of(self._identity(name))
        found = self._find(erasure_id)
        if found is None:
            raise CannotServe(f"{self.server.url} has no erasure {erasure_id}")
        return self._print(found)

    def list(self) -> int:
        """Print all erasures. Raises: CannotServe."""
        found: list[JsonObject] = []
        while page := list(self.server.get("/v1/erasures", limit=100, **({"after": found[-1]["id"]} if found else {}))):
            found += page
        if self.as_json:
            print(json.dumps(found, indent=1))
            return 0
        for one in found:
            print(f"{one['id']}  {one['state']}  {one['started_at']}")
        return 0

    def _identity(self, name: str) -> str:
        """The id of an identity. `name`: its id, its key, or the id of its erasure."""
        if is_id(name, "identity"):
            return name
        if is_id(name, "erasure"):
            return f"identity-{name[-36:]}"
        found = list(self.server.get("/v1/identities/", identifier_key=name))
        if not found:
            raise CannotServe(
                f"{self.server.url} has no identity with the key {name!r}; name a running erasure by the id of its identity"
            )
        return str(found[0]["id"])

    def _find(self, erasure_id: str) -> JsonObject | None:
        try:
            return dict(self.server.get(f"/v1/erasures/{erasure_id}"))
        except ServerRefused as refused:
            if refused.status == 404:
                return None
            raise

    def _start(self, identity_id: str) -> JsonObject:
        """Begin the erasure, or go on with it: a repeated request does both, so nobody waits for the next sweep."""
        return dict(self.server.post(f"/v1/identities/{identity_id}/erase"))

    def _follow(self, look: Callable[[], JsonObject], *, wait: bool) -> int:
        phase = ""
        try:
            while (found := look())["state"] != "completed":
                if not wait:
                    print(found["id"] if not self.as_json else json.dumps(found, indent=1))
                    return 0
                if found["phase"] != phase:
                    phase = str(found["phase"])
                    print(f"{phase} …", file=sys.stderr, flush=True)
                self.pause(LOOK)
        except KeyboardInterrupt:
            raise CannotServe(STOPPED) from None
        return self._print(found)

    def _print(self, erasure: JsonObject) -> int:
        """Print the receipt. The exit code is 1 if there are remains."""
        remains = list((erasure.get("check") or {}).get("found") or ())
        if self.as_json:
            print(json.dumps(erasure, indent=1))
            return 1 if remains else 0
        print(f"{erasure['id']}  {erasure['state']}")
        for line in erasure["receipt"]:
            counts = ", ".join(f"{number} {what}" for what, number in (line.get("counts") or {}).items())
            print(f"  {line['kind']:<10}{line['id']}  {line['extent']}  {harmless(counts)}".rstrip())
        for one in remains:
            print(f"  LEFT in the {one['where']}: {one['kind']} {one['id']}")
        if erasure["state"] == "completed":
            print(f"{len(remains)} records are left." if remains else "Nothing is left.")
        return 1 if remains else 0


def erasure_id_of(identity_id: str) -> str:
    """The id of the erasure of an identity."""
    return f"erasure-{identity_id[-36:]}"
