"""The templates that cfn-lint checks contain every pair of values, and every setting."""

from __future__ import annotations

import itertools
import re

from infra.artifacts import ROOT
from infra.settings import settings_in
from tests.deploy.templates import SETTINGS, combinations

OF_SYNTHESIS = {"bundle", "check"}
PLAIN_NUMBERS = {"searchInstance", "searchVolume"}


def test_every_pair_of_values_stands_in_a_template() -> None:
    made = [set(context.items()) for context in combinations()]
    for first, second in itertools.combinations(SETTINGS, 2):
        for one, other in itertools.product(first, second):
            assert any({*one.items(), *other.items()} <= context for context in made), (one, other)


def test_every_template_has_settings_that_a_deployment_accepts() -> None:
    assert all(settings_in(context) for context in combinations())


def test_every_setting_of_the_page_varies() -> None:
    page = (ROOT / "docs" / "aws.md").read_text(encoding="utf-8")
    table = page.partition("| context | meaning | default |")[2].partition("\n\n")[0]
    named = {
        name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1] if row.startswith("|") else "")
    }
    varied = {name for values in SETTINGS for value in values for name in value}
    assert varied | OF_SYNTHESIS | PLAIN_NUMBERS == named | OF_SYNTHESIS | PLAIN_NUMBERS
