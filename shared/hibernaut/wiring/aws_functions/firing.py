"""Composes what fires schedules on AWS, and what removes orphaned alarms."""

from __future__ import annotations

from dataclasses import replace

from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.schedules.firing_worker import FiringWorker
from hibernaut.services.schedules.reconciliation import AlarmReconciliation
from hibernaut.wiring.aws import composition_of
from hibernaut.wiring.settings import AwsSettings


def firing_worker(function: str) -> FiringWorker:
    """The worker of `fire_schedule`. `function`: its ARN, which its alarms need and which its own variables cannot contain."""
    settings = AwsSettings.from_environment()
    composed = composition_of(replace(settings, schedules=replace(settings.schedules, function=function)))
    return FiringWorker(PerTenant(lambda tenant: composed.engines.of(tenant).firing), composed.host.scheduler)


def reconciliation() -> AlarmReconciliation:
    """For `sweep_runs`, beside its sweep."""
    composed = composition_of(AwsSettings.from_environment())
    return AlarmReconciliation(composed.stores, composed.host.scheduler)
