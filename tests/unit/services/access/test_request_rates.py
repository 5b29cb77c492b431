"""Limits on requests per second: counted in the memory of a server that is alone, and in the table by several that serve
together.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hibernaut.schemas.access.api_key import CreateApiKey, Principal
from hibernaut.schemas.access.budget import SetBudget
from hibernaut.schemas.access.scope import Scope
from hibernaut.schemas.errors import BudgetExceeded
from hibernaut.services.access.access import Access
from hibernaut.services.access.request_rates import TokenBuckets
from tests.support.clocks import ManualClock
from tests.unit.services.access.conftest import Deployment

ME = Principal("acme", Scope.WRITE)


def admitted(access: Access, times: int, path: str = "/v1/agents") -> int:
    """How many of so many requests are admitted at once."""
    count = 0
    for _ in range(times):
        try:
            for limit in access.rates.concerning(ME, path):
                access.rates.admit(limit)
        except BudgetExceeded:
            continue
        count += 1
    return count


def limited(access: Access, limit: int) -> None:
    access.budgets_of("acme").set("tenant", SetBudget(requests_per_second=limit))


def test_a_server_that_is_alone_admits_as_many_requests_in_a_second(deployment: Deployment) -> None:
    access = deployment.process(alone=True)
    limited(access, 3)
    assert admitted(access, 5) == 3
    deployment.clock.sleep(1)
    assert admitted(access, 5) == 3
    deployment.clock.sleep(0.34)
    assert admitted(access, 5) == 1


def test_a_refused_request_may_be_sent_again_after_a_second(deployment: Deployment) -> None:
    access = deployment.process(alone=True)
    limited(access, 1)
    assert admitted(access, 1) == 1
    (limit,) = access.rates.concerning(ME, "/v1/agents")
    with pytest.raises(BudgetExceeded, match="requests_per_second of the tenant is used up: 1 requests in a second") as refused:
        access.rates.admit(limit)
    assert (refused.value.budget, refused.value.subject, refused.value.retry_after) == ("requests_per_second", "tenant", 1)


def test_processes_that_serve_together_admit_as_many_together(deployment: Deployment) -> None:
    first, second = deployment.process(), deployment.process()
    key = first.keys_of("acme").create(CreateApiKey(scope=Scope.WRITE)).key
    limited(first, 3)
    second.authentication.authenticate(key)  # it reads the limits beside the key
    assert admitted(first, 2) + admitted(second, 5) == 3
    deployment.clock.sleep(1)
    assert admitted(second, 5) == 3


def test_a_process_learns_of_a_limit_by_the_read_that_finds_a_key(deployment: Deployment) -> None:
    admin, server = deployment.process(), deployment.process()
    key = admin.keys_of("acme").create(CreateApiKey(scope=Scope.WRITE)).key
    server.authentication.authenticate(key)
    limited(admin, 1)
    deployment.clock.sleep(6)
    deployment.reads()
    server.authentication.authenticate(key)
    assert deployment.reads() == 1
    assert admitted(server, 3) == 1
    admin.budgets_of("acme").delete("tenant")
    deployment.clock.sleep(6)
    server.authentication.authenticate(key)
    assert admitted(server, 3) == 3


def test_without_limits_no_request_costs_anything(deployment: Deployment) -> None:
    access = deployment.process()
    deployment.reads()
    assert admitted(access, 5) == 5
    assert deployment.reads() == 0


def test_the_limit_of_an_agent_concerns_the_requests_whose_path_names_it(deployment: Deployment) -> None:
    access = deployment.process()
    agent = "agent-12345678-1234-4234-8234-123456789012"
    access.rates._rates.limits = {f"acme#{agent}": 1, f"other#{agent}": 1}
    for path, concerned in (
        (f"/v1/agents/{agent}/messages", 1),
        (f"/v1/agents/{agent}", 1),
        ("/v1/agents", 0),
        (f"/v1/agents/{agent}x", 0),
    ):
        assert len(access.rates.concerning(ME, path)) == concerned


@given(limit=st.integers(1, 20), gaps=st.lists(st.floats(0, 2), max_size=60))
def test_no_second_and_a_half_admits_more_than_its_share(limit: int, gaps: list[float]) -> None:
    clock = ManualClock()
    buckets, times = TokenBuckets(clock), []
    for gap in gaps:
        clock.sleep(gap)
        if buckets.take("x", limit):
            times.append(clock.monotonic())
    for begin in times:
        within = [at for at in times if begin <= at <= begin + 0.5]
        assert len(within) <= limit + limit / 2 + 1


def test_limits_that_cannot_be_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="requests_per_second"):
        SetBudget(requests_per_second=1001)
