"""What two releases side by side tell each other and leave for each other changes with a new version only."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from functions.events import Retryable, beat_of
from hibernaut.ports.runs.workflow import CONTRACT, NEWEST_CONTRACT
from hibernaut.store.table.bodies.formats import READ, WRITTEN
from tests.releases.contract import CONTRACT_FILE, RECORDS_FILE, breaches, contract, records
from tests.releases.executions import definition

NOW = Path(__file__).parent / "now"
AGAIN = "Raise the version, let this release read both, and record it: python -m tests.releases.record now"


def kept(name: str) -> Any:
    return json.loads((NOW / name).read_text(encoding="utf-8"))


def test_the_contract_of_state_machine_and_functions_changes_with_a_new_version_only() -> None:
    assert contract() == kept(CONTRACT_FILE), AGAIN


def test_what_the_state_machine_sends_carries_the_version_of_the_contract() -> None:
    sent = [each for each in contract()["sent"].values() if isinstance(each, dict)]
    assert {each["v"] for each in sent} == {CONTRACT}
    assert len(sent) == len(re.findall(r'"v": \d', definition()))


def test_a_release_accepts_what_it_sends_and_at_most_what_the_next_one_sends() -> None:
    assert NEWEST_CONTRACT in (CONTRACT, CONTRACT + 1)
    assert READ in (WRITTEN, WRITTEN + 1)


@pytest.mark.parametrize("version", range(NEWEST_CONTRACT + 1))
def test_an_event_of_this_or_an_older_release_is_read(version: int) -> None:
    event = {"tenant": "default", "run_id": "run-1"} | ({"v": version} if version else {})
    assert beat_of(event).run_id == "run-1"


def test_an_event_of_a_later_release_leaves_the_run_open() -> None:
    with pytest.raises(Retryable, match="NewerContract"):
        beat_of({"v": NEWEST_CONTRACT + 1, "tenant": "default", "run_id": "run-1"})


def test_records_change_so_that_the_release_before_can_read_them() -> None:
    assert breaches(kept(RECORDS_FILE), records()) == [], AGAIN


@pytest.fixture(scope="module")
def now() -> Any:
    return records()


def changed(now: Any, record: str, **fields: Any) -> Any:
    document = copy.deepcopy(now)
    document["records"][record]["fields"] |= fields
    return document


def test_a_new_field_with_a_default_is_no_breach(now: Any) -> None:
    assert breaches(now, changed(now, "StoredBlock", colour={"type": "string", "default": "red"})) == []


def test_a_field_that_is_needed_and_that_the_release_before_does_not_write_is_a_breach(now: Any) -> None:
    later = changed(now, "StoredBlock", colour={"type": "string"})
    later["records"]["StoredBlock"]["required"].append("colour")
    assert breaches(now, later) == ["StoredBlock.colour: the release before does not write it"]


def test_a_field_that_is_gone_or_of_another_type_is_a_breach(now: Any) -> None:
    later = changed(now, "StoredBlock", value={"type": "integer"})
    del later["records"]["StoredBlock"]["fields"]["id"]
    assert breaches(now, later) == [
        "StoredBlock.id: the release before needs it",
        "StoredBlock.value: its type or default changed",
    ]


def test_another_value_of_an_enumeration_is_a_breach(now: Any) -> None:
    later = copy.deepcopy(now)
    later["records"]["RunStatus"]["fields"].append("paused")
    assert breaches(now, later) == ["RunStatus: its values changed"]
