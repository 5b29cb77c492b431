"""Composes what fires schedules on AWS, and what removes orphaned alarms."""

from __future__ import annotations

from dataclasses import replace

from hibernaut.services.per_tenant import PerTenant
from hibernaut.services.schedules.firing_worker import FiringWorker
from hibernaut.services.schedules.reconciliation import AlarmReconciliation
from hibernaut.wiring.aws import composition_of
from hibernaut.wiring.settings import AwsSettings


def firing_worker(function: str) -> FiringWorker:
    """For `fire_schedule`, whose ARN is `function`: its alarms name it, and no variable of it can."""
    settings = AwsSettings.from_environment()
    composed = composition_of(replace(settings, schedules=replace(settings.schedules, function=function)))
    return FiringWorker(PerTenant(lambda tenant: composed.engines.of(tenant).firing), composed.host.scheduler)


def reconciliation() -> AlarmReconciliation:
    """For `sweep_runs`, beside its sweep."""
    composed = composition_of(AwsSettings.from_environment())
    return AlarmReconciliation(composed.stores, composed.host.scheduler)
