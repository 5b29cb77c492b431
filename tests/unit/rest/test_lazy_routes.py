"""A route is examined when it is first needed, once, whoever asks."""

from __future__ import annotations

from threading import Thread
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.exceptions import FastAPIError
from pydantic_core import core_schema
from starlette.testclient import TestClient

from hibernaut.rest.access.authentication import Authenticated
from hibernaut.rest.http.async_bridge import ThreadPools
from hibernaut.rest.lazy_routes import LazyRoute


def app_of(router: APIRouter) -> FastAPI:
    app = FastAPI(routes=router.routes)
    app.state.pools = ThreadPools()
    app.add_middleware(Authenticated, access=None, pools=app.state.pools)
    return app


def test_a_route_does_not_wait_for_what_others_need_and_its_faults_come_out_in_the_description() -> None:
    router = APIRouter(route_class=LazyRoute)

    @router.get("/works/{count}")
    def works(count: int) -> int:
        return count + 1

    @router.get("/fails", response_model=Thread)
    def fails() -> None: ...

    app = app_of(router)
    assert TestClient(app).get("/works/2").json() == 3
    with pytest.raises(FastAPIError, match="Invalid args for response field"):
        app.openapi()


def test_methods_and_paths_are_told_apart_before_anything_is_examined() -> None:
    router = APIRouter(prefix="/things", route_class=LazyRoute)

    @router.get("/{name}")
    def shown(name: str) -> str:
        return f"shown {name}"

    @router.post("/{name}")
    def made(name: str) -> str:
        return f"made {name}"

    client = TestClient(app_of(router))
    assert client.post("/things/a").json() == "made a"
    assert client.get("/things/a").json() == "shown a"
    assert (client.head("/things/a").status_code, client.get("/a").status_code) == (405, 404)


def test_a_thread_that_asks_meanwhile_waits_and_nothing_is_examined_twice() -> None:
    router = APIRouter(route_class=LazyRoute)
    meanwhile, answers = [], []

    class Answer:
        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
            other = Thread(target=lambda: answers.append(getattr(router.routes[0], "response_field", None)))
            other.start()
            meanwhile.append(other)
            return core_schema.any_schema()

    @router.get("/", response_model=Answer)
    def root() -> None: ...

    here = router.routes[0].response_field  # type: ignore[attr-defined]
    for other in meanwhile:
        other.join()
    assert here is not None
    assert answers == [here]


def test_what_a_route_does_not_have_is_missing() -> None:
    router = APIRouter(route_class=LazyRoute)

    @router.get("/")
    def root() -> None: ...

    assert not hasattr(router.routes[0], "ears")
    assert TestClient(app_of(router)).get("/").status_code == 200
