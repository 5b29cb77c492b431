"""Routes that inspect their endpoints at the first request. Must not know what is served.

FastAPI inspects an endpoint when its route is created, and builds the models of its parameters and its reply: about 3 ms for each
route. A cold Lambda function serves one route and would pay for all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial, wraps
from threading import RLock
from typing import Any, get_origin

from fastapi import Response
from starlette.routing import Match, compile_path
from starlette.types import Receive, Scope, Send

from hibernaut.rest.access import permissions
from hibernaut.rest.dependencies import TheThreadPools
from hibernaut.rest.http.async_bridge import ThreadPools
from hibernaut.rest.http.lanes import Lane, lane_of
from hibernaut.rest.http.strict_json import JsonRoute
from hibernaut.store.table.lost_records import tolerating

LOST = "x-hibernaut-lost"
"""The header of a list that omits records with lost contents. Its value: their ids, separated by commas."""
MOST_LOST = 50
"""The largest number of ids in that header."""
_examining = RLock()


def on_lane(endpoint: Callable[..., object], lane: Lane) -> Callable[..., object]:
    """The endpoint, run on a thread of the lane. An async endpoint is returned unchanged: it uses the pools itself."""
    if inspect.iscoroutinefunction(endpoint):
        return endpoint

    @wraps(endpoint)
    async def run(*, lanes_of_app: ThreadPools, **values: object) -> object:
        return await lanes_of_app.run(lane, partial(endpoint, **values))

    signature = inspect.signature(endpoint)
    ours = inspect.Parameter("lanes_of_app", inspect.Parameter.KEYWORD_ONLY, annotation=TheThreadPools)
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), ours])  # type: ignore[attr-defined]
    return run


def tolerant(endpoint: Callable[..., Response]) -> Callable[..., Response]:
    """The endpoint of a list that omits records with lost contents, and names them in a header."""

    @wraps(endpoint)
    def run(**values: object) -> Response:
        with tolerating() as lost:
            response = endpoint(**values)
        if lost:
            response.headers[LOST] = ",".join([*dict.fromkeys(lost)][:MOST_LOST])
        return response

    return run


def _is_list(options: Mapping[str, Any]) -> bool:
    """Whether a route answers GET with a list."""
    return options["methods"] == ["GET"] and get_origin(options.get("response_model")) is list


class LazyRoute(JsonRoute):
    """A route that is built with its path and methods only. Its first request, or the description of the API, completes it.

    A mistake in an endpoint's declaration is therefore raised then, and not when its module is imported.
    """

    def __init__(self, path: str, endpoint: Callable[..., object], *, methods: list[str], **options: Any) -> None:
        self.path = path
        self.endpoint = endpoint
        self.methods = set(methods)
        self.path_regex, self.path_format, self.param_convertors = compile_path(path)
        self._beginning = path.partition("{")[0]
        self._slashes = None if ":path}" in path else path.count("/")
        self._options = {**options, "methods": methods}

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """As Starlette's. The beginning of the path and its length are compared first, because a request meets every route before
        its own.
        """
        path: str = scope["path"]
        if not scope.get("root_path") and not (path.startswith(self._beginning) and self._slashes in (None, path.count("/"))):
            return Match.NONE, {}
        return super().matches(scope)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the permissions of the request's API key, then serve the request."""
        await permissions.check(scope, self.path)
        await super().handle(scope, receive, send)

    def __getattr__(self, name: str) -> object:
        with _examining:
            options = vars(self).pop("_options", None)
            if options is not None:
                reads = _is_list(options) and not inspect.iscoroutinefunction(self.endpoint)  # a coroutine reads no record
                endpoint = tolerant(self.endpoint) if reads else self.endpoint
                super().__init__(self.path, on_lane(endpoint, lane_of(self.path, self.methods or ())), **options)
        return object.__getattribute__(self, name)
