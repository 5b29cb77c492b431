"""The REST face without a house behind it: for tests that look at routes and never call one."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hibernaut.rest.dependencies import Services
from hibernaut.services.per_tenant import PerTenant


class _Nothing:
    """Stands where a use case would; any use is an AttributeError."""


def no_services() -> PerTenant[Services]:
    nothing: Any = _Nothing()
    return PerTenant(lambda _tenant: Services(**{field.name: nothing for field in fields(Services)}))
