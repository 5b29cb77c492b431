"""Charges a run for what its invocations use of AWS, in the transactions that the run writes anyway.

A transaction that charges the run is itself charged for, and contains the figure: its own write units are estimated before it is
written. After the write the meter knows the true figure, and the difference goes to the run's next transaction. The estimate of
the last one stays. What happens after it (the reply, a handover, a callback) is not charged to the run.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.aws_prices import cost_of
from hibernaut.ports.meter import Meter
from hibernaut.ports.storage.table import Change
from hibernaut.schemas.aws_use import AwsUse
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.runs.step import StoredStep
from hibernaut.store.runs.write_estimates import acceptance_units, commit_units


@immutable
class ChargedWrite:
    """A run and a step with the price of their transaction and of all before it, and what the transaction charges for."""

    run: StoredRun
    step: StoredStep | None
    use: AwsUse


class AwsCharges:
    """Charges runs. At home nothing is measured, and nothing is charged."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def accept(self, run: StoredRun) -> None:
        """Charge the request's use so far, and the transaction itself, to a run that is not yet written."""
        use = self._meter.used()
        if use is not None:
            run.aws = use.plus(AwsUse(write_units=acceptance_units(run)))

    def accepted(self, run: StoredRun) -> None:
        """Note that the run with its charge was written."""
        if run.aws is not None:
            self._meter.charge(run.aws)

    def write(
        self, run: StoredRun, step: StoredStep | None, rows: Sequence[Message], edits: Sequence[Change], *, ends: bool
    ) -> ChargedWrite | None:
        """The run and its step with their charges; None on a host without a meter. `rows` and `edits` are those of the
        transaction.
        """
        measured = self._meter.used()
        if measured is None:
            return None
        units = commit_units(run, step, rows, edits, ends=ends)
        transitions = int(ends and self._meter.in_execution)  # The state in which the execution succeeds.
        use = measured.plus(AwsUse(write_units=units, transitions=transitions))
        total = (run.aws or AwsUse()).plus(use)
        if step is not None:
            # The first step has the acceptance of the request as well.
            step = step.model_copy(update={"aws_cost": cost_of(total if run.steps <= 1 else use)})
        return ChargedWrite(run.model_copy(update={"aws": total}), step, use)

    def written(self, charged: ChargedWrite | None) -> None:
        """Note that the transaction with these charges was written."""
        if charged is not None:
            self._meter.charge(charged.use)
