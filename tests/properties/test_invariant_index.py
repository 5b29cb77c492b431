"""Which test shows which of the ten invariants of the turn machine, and that each of them is there.

Beside these: the rules of the run protocol (`tests/protocol`), which say what each invariant would lose, and the proof
(`tests/proof`), which strikes at every point.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
INVARIANTS: dict[str, list[str]] = {
    "1. a step is one transaction": [
        "properties/test_invariant_one_step.py::test_at_every_moment_a_step_is_there_whole_or_not_at_all",
        "proof/test_proof.py::test_wherever_a_fault_strikes_at_home_nothing_is_lost_doubled_or_bricked",
    ],
    "2. input is never lost": [
        "properties/test_invariant_one_writer.py::test_what_was_accepted_stands_in_the_log_once_and_what_was_refused_never",
        "properties/test_runs_any_order.py::Lives",
    ],
    "3. a redelivered or doubled heartbeat is harmless": [
        "properties/test_invariant_side_effects.py::test_a_call_happens_at_most_once_and_is_told_whatever_strikes_and_how_often",
        "properties/test_runs_doubled.py::test_of_two_workers_at_one_run_neither_spoils_what_the_other_does",
    ],
    "4. a journaled reply is never asked for again": [
        "properties/test_runs_doubled.py::race",
        "properties/test_invariant_side_effects.py::test_a_journaled_reply_is_what_is_committed_however_often_its_worker_dies",
    ],
    "5. a side effect is not repeated behind the model's back": [
        "properties/test_invariant_side_effects.py::test_a_call_happens_at_most_once_and_is_told_whatever_strikes_and_how_often",
    ],
    "6. every prefix of the log is valid for every provider": [
        "properties/test_runs_any_model.py::test_every_run_ends_with_a_valid_log_whatever_the_model_says",
        "properties/test_runs_any_order.py::Lives",
        "properties/test_turn_machine.py::test_deciding_and_absorbing_are_pure",
    ],
    "7. every run ends": [
        "properties/test_runs_any_model.py::test_every_run_ends_with_a_valid_log_whatever_the_model_says",
        "properties/test_invariant_every_run_ends.py::test_a_run_that_can_never_go_on_is_closed_and_the_next_message_is_answered",
    ],
    "8. one writer per conversation": [
        "properties/test_invariant_one_writer.py::test_what_was_accepted_stands_in_the_log_once_and_what_was_refused_never",
        "properties/test_runs_any_order.py::Lives",
    ],
    "9. compaction never fails a turn": [
        "properties/test_runs_any_summariser.py::test_every_run_ends_well_and_every_request_is_valid",
        "properties/test_window.py::test_whole_turns_go_from_the_front_and_no_more_than_needed",
    ],
    "10. the prompt prefix is stable": [
        "properties/test_invariant_prompt_prefix.py::test_what_a_provider_was_sent_is_the_beginning_of_what_it_is_sent_next",
        "properties/test_runs_any_model.py::test_what_was_sent_to_the_model_stays_the_beginning_of_what_is_sent_next",
    ],
}


def test_there_are_ten_invariants() -> None:
    assert [int(name.split(".")[0]) for name in INVARIANTS] == list(range(1, 11))


@pytest.mark.parametrize("invariant", INVARIANTS)
def test_each_invariant_is_shown_by_tests_that_exist(invariant: str) -> None:
    for node in INVARIANTS[invariant]:
        file, name = node.split("::")
        tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
        assert name in {found.name for found in tree.body if isinstance(found, ast.FunctionDef | ast.ClassDef)}, node
