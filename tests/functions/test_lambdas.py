"""Lambda in this process treats handlers as Lambda does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context

import pytest

from hibernaut.local.aws_offline.lambdas import Abandoned, Lambdas, abandon
from tests.functions.probes import Probe, function
from tests.support.frozen import freeze_if_dead

PATIENCE = 30.0

NAMES = ("answers", "raises", "hangs", "dies", "answers_too_much")


@pytest.fixture
def probe() -> Probe:
    return Probe()


@pytest.fixture
def lambdas(probe: Probe) -> Iterator[Lambdas]:
    made = Lambdas([function(name, 0.05 if name == "hangs" else 5.0) for name in NAMES])
    # All probes are in one folder, `functions`, by which their third argument is found.
    made.deps["functions"] = probe
    yield made
    probe.go_on.set()
    made.over()


def test_a_handler_gets_event_and_context(lambdas: Lambdas) -> None:
    reply = lambdas.invoke("answers", {"a": [1]})
    assert not reply.failed
    assert (reply.payload["seen"], reply.payload["name"]) == ({"a": [1]}, "answers")
    assert 0 < reply.payload["left"] <= 5000


def test_a_function_is_found_by_its_address_too(lambdas: Lambdas) -> None:
    assert not lambdas.invoke(function("answers").arn, {}).failed


def test_no_object_passes_between_functions(lambdas: Lambdas, probe: Probe) -> None:
    event = {"a": {"b": 1}}
    lambdas.invoke("answers", event)
    event["a"]["b"] = 2
    assert probe.events == [{"a": {"b": 1}}]


def test_an_exception_is_reported_by_its_name(lambdas: Lambdas) -> None:
    reply = lambdas.invoke("raises", {})
    assert (reply.error, reply.payload["errorMessage"]) == ("LookupError", "no such thing")


def test_a_handler_that_passes_its_limit_is_left_alone(lambdas: Lambdas, probe: Probe) -> None:
    reply = lambdas.invoke("hangs", {})
    assert (reply.error, probe.after) == ("Sandbox.Timedout", 0)


def test_an_abandoned_handler_never_goes_on_while_aws_runs(lambdas: Lambdas, probe: Probe) -> None:
    reply = lambdas.invoke("dies", {})
    assert (reply.error, probe.after) == ("Runtime.ExitError", 0)


def test_only_a_handler_can_be_abandoned() -> None:
    with pytest.raises(RuntimeError, match="no handler runs here"):
        abandon()


def test_an_event_that_is_too_large_is_refused_unseen(lambdas: Lambdas, probe: Probe) -> None:
    reply = lambdas.invoke("answers", {"body": "x" * 7_000_000})
    assert (reply.error, probe.events) == ("RequestEntityTooLargeException", [])


def test_an_answer_that_is_too_large_is_an_error(lambdas: Lambdas) -> None:
    assert lambdas.invoke("answers_too_much", {}).error == "Function.ResponseSizeTooLarge"


def test_threads_of_a_pool_that_a_dead_handler_leaves_end_with_the_emulation(lambdas: Lambdas) -> None:
    """The interpreter waits at its own end for the threads of every pool, also for those that a daemon thread has started."""
    held, ended, died = threading.Event(), threading.Event(), threading.Event()

    def die() -> None:
        with suppress(Abandoned):
            abandon()

    def work() -> None:
        held.set()
        try:
            freeze_if_dead()
        finally:
            ended.set()

    def serve() -> None:
        with lambdas.served("answers", died.set):
            here = copy_context()
        threading.Thread(target=here.copy().run, args=(die,), daemon=True).start()
        died.wait()
        pool.submit(here.run, work)

    with ThreadPoolExecutor(1) as pool:
        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        serving.join()
        assert held.wait(PATIENCE)
        assert not ended.is_set()
        lambdas.over()
        assert ended.wait(PATIENCE)
