"""The private addresses that a deployment's outward requests may reach."""

from __future__ import annotations

import pytest

from infra.outward_settings import outward_variables_in
from tests.infra.reading import Template


def test_private_addresses_are_reached_where_the_deployment_names_them(dev: Template, large: Template) -> None:
    def named(template: Template) -> set[object]:
        functions = template.functions()
        told = [functions[name]["Environment"]["Variables"] for name in ("api", "advance_turn", "deliver_events")]
        return {variables.get("HIBERNAUT_PRIVATE_ADDRESSES") for variables in told}

    assert (named(dev), named(large)) == ({None}, {"10.1.0.0/16,tools.internal"})


@pytest.mark.parametrize("word", ["privateAddresses", "privatePages"])
@pytest.mark.parametrize("text", ["169.254.0.0/16", "0.0.0.0/0", "http://tools.internal"])
def test_addresses_that_are_not_private_are_refused(word: str, text: str) -> None:
    with pytest.raises(ValueError, match="HIBERNAUT_PRIVATE_"):
        outward_variables_in({word: text})
