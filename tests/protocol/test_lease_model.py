"""The lease of a step that its worker renews: no order of actions breaks it, and each seeded mistake is found."""

from __future__ import annotations

import pytest

from hibernaut.ports.storage.table import Condition
from tests.protocol.lease_model import Broken, LeaseModel


def without(action: str, *names: str) -> LeaseModel:
    """The model in which the condition of an action lacks the terms on these attributes."""

    def weaken(name: str, condition: Condition) -> Condition:
        return condition if name != action else tuple(term for term in condition if term.name not in names)

    return LeaseModel(weaken)


def test_no_order_of_renewals_takeovers_and_deaths_breaks_the_lease() -> None:
    assert LeaseModel().explored() > 1000


@pytest.mark.parametrize(
    ("action", "names", "breaks"),
    [
        ("take", ("lease",), "L2"),
        ("renew", ("lease",), "L3"),
        ("commit", ("attempt",), "L1"),
        ("take", ("attempt", "lease"), "L2"),
    ],
)
def test_a_condition_that_lacks_a_term_is_found(action: str, names: tuple[str, ...], breaks: str) -> None:
    with pytest.raises(Broken, match=breaks):
        without(action, *names).explored()


def test_a_run_that_nobody_sweeps_stays_open() -> None:
    with pytest.raises(Broken, match="L4"):
        LeaseModel(sweeps=False).explored()
