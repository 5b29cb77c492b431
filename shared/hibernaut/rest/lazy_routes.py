"""A route that is examined when it is first needed. Knows nothing of what is served.

FastAPI examines an endpoint's parameters, and builds what reads them and what describes its answer, when a route is made: about 3 ms each. A cold
function is asked for one route and would pay for all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, wraps
from threading import RLock
from typing import Any

from starlette.routing import compile_path

from hibernaut.rest.async_bridge import Lanes
from hibernaut.rest.dependencies import TheLanes
from hibernaut.rest.lanes import Lane, lane_of
from hibernaut.rest.strict_json import JsonRoute

_examining = RLock()


def on_lane(endpoint: Callable[..., object], lane: Lane) -> Callable[..., object]:
    """The endpoint, done on a thread of the lane. One that is async already has its own way with threads."""
    if inspect.iscoroutinefunction(endpoint):
        return endpoint

    @wraps(endpoint)
    async def run(*, lanes_of_app: Lanes, **values: object) -> object:
        return await lanes_of_app.run(lane, partial(endpoint, **values))

    signature = inspect.signature(endpoint)
    ours = inspect.Parameter("lanes_of_app", inspect.Parameter.KEYWORD_ONLY, annotation=TheLanes)
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), ours])  # type: ignore[attr-defined]
    return run


class LateRoute(JsonRoute):
    """Knows its path and its methods; the rest comes with its first request, or when the API is described.

    What is wrong with an endpoint's declaration is therefore raised then, and not when its module is imported.
    """

    def __init__(self, path: str, endpoint: Callable[..., object], *, methods: list[str], **options: Any) -> None:
        self.path = path
        self.endpoint = endpoint
        self.methods = set(methods)
        self.path_regex, self.path_format, self.param_convertors = compile_path(path)
        self._options = {**options, "methods": methods}

    def __getattr__(self, name: str) -> object:
        with _examining:
            options = vars(self).pop("_options", None)
            if options is not None:
                super().__init__(self.path, on_lane(self.endpoint, lane_of(self.path, self.methods or ())), **options)
        return object.__getattribute__(self, name)
