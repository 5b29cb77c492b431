"""The OpenAPI description of the API, which takes seconds to generate. Must not be changed: all tests of a process share it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from hibernaut.rest.app import create_app
from tests.support.faces import no_services


@cache
def api_description() -> Mapping[str, Any]:
    """The description, generated once for each process."""
    return create_app(no_services()).openapi()
