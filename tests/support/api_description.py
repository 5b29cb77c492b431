"""The OpenAPI description of the API, which takes seconds to generate. Must not be changed: all tests of a process share it."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hibernaut.rest.app import create_app
from tests.support.faces import no_services

ROOT = Path(__file__).parents[2]


@cache
def api_description() -> Mapping[str, Any]:
    """The description, generated once for these sources and kept in the folder `build`."""
    kept = _kept()
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        # Renamed into place, so that another process sees a whole description or none.
        half = kept.with_suffix(f".{os.getpid()}")
        half.write_text(json.dumps(create_app(no_services()).openapi()), encoding="utf-8")
        half.rename(kept)
    described: Mapping[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    return described


def _kept() -> Path:
    digest = hashlib.sha256(sys.version.encode())
    for file in (*sorted((ROOT / "shared").rglob("*.py")), *sorted((ROOT / "requirements").glob("*.lock"))):
        digest.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
    return ROOT / "build" / "api-description" / f"{digest.hexdigest()[:20]}.json"
