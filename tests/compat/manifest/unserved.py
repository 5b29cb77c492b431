"""The routes that are not served: made from the table that answers them with 501 (`rest.unserved_routes`)."""

from __future__ import annotations

from hibernaut.rest.unserved_routes import unserved
from tests.compat.manifest.form import out_of_reach

ROWS = tuple(out_of_reach(route.id, route.source, route.what, route.never, route.endpoint) for route in unserved())
