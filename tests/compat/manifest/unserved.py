"""The routes that come later or not at all: made from the table that answers them with 501 (`rest.unserved_routes`)."""

from __future__ import annotations

from hibernaut.rest.unserved_routes import UnservedRoute, unserved
from tests.compat.manifest.form import LATER, Row, out_of_reach, todo


def _row(route: UnservedRoute) -> Row:
    if route.never:
        return out_of_reach(route.id, route.source, route.what, route.never, route.endpoint)
    return todo(route.id, route.source, route.what, LATER, route.endpoint)


ROWS = tuple(_row(route) for route in unserved())
