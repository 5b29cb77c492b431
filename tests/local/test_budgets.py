"""`hibernaut budgets`: the budgets of a data folder, without a server and beside one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from letta_client import Letta, RateLimitError

from tests.local.test_command import administered, ended, serving, sorry

STRANGER = "agent-12345678-1234-4234-8234-123456789012"


def budgets(data: Path, *arguments: str) -> str:
    done = administered("budgets", *arguments, "--data-dir", str(data))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_budget_is_set_listed_and_deleted(tmp_path: Path) -> None:
    told = budgets(tmp_path, "set", "--tokens-per-day", "1000", "--cost-per-month", "12.50")
    assert told.startswith("Set tenant: tokens_per_day 0 of 1000, cost_per_month 0 of 12.50.")
    (listed,) = json.loads(budgets(tmp_path, "list", "--json"))
    assert (listed["subject"], listed["tokens_per_day"], listed["cost_per_month"]) == ("tenant", 1000, 12.5)
    assert budgets(tmp_path, "delete").startswith("Deleted the budget of tenant.")
    assert budgets(tmp_path, "list") == "The tenant default has no budgets.\n"
    budgets(tmp_path, "set", "--tokens-per-day", "1000")
    assert json.loads(budgets(tmp_path, "delete", "--json")) == {"tenant": "default", "deleted": "tenant"}


def test_a_running_server_without_keys_obeys_a_budget(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, url, _):
        with Letta(base_url=url, max_retries=0) as client:
            agent = client.agents.create(memory_blocks=[])
            budgets(tmp_path, "set", "--agent", agent.id, "--steps-per-day", "1")
            client.agents.messages.create(agent.id, input="hi")
            with pytest.raises(RateLimitError, match="steps_per_day"):
                client.agents.messages.create(agent.id, input="again")
            assert "steps_per_day 1 of 1" in budgets(tmp_path, "list")
        ended(process)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("set", "--tokens-per-day", "0"), "--tokens-per-day: Input should be greater than or equal to 1"),
        (("set", "--tokens-per-day", "many"), "--tokens-per-day: Input should be a valid integer"),
        (("set", "--cost-per-day", "-1"), "--cost-per-day: "),
        (("set",), "A budget needs at least one limit"),
        (("set", "--agent", STRANGER, "--steps-per-day", "1"), f"Agent with ID {STRANGER} not found"),
        (("set", "--agent", "Ada", "--steps-per-day", "1"), "'Ada' is no subject of a budget"),
        (("delete",), "Budget of tenant not found"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    assert told in sorry(administered("budgets", *arguments, "--data-dir", str(tmp_path)))
