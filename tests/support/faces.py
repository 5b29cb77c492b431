"""The REST app without use cases, for tests that inspect routes and never call one."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hibernaut.rest.dependencies import Services
from hibernaut.services.per_tenant import PerTenant


class _Nothing:
    """A placeholder of all use cases. Any access raises AttributeError."""


def no_services() -> PerTenant[Services]:
    nothing: Any = _Nothing()
    return PerTenant(lambda _tenant: Services(**{field.name: nothing for field in fields(Services)}))
