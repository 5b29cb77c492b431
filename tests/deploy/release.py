"""A gradual release of the deployed stack: both versions serve, an alarm fires, and the former version serves alone again.

The alarm gets its state from here, because the emulator measures nothing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from infra.constructs.releases import LIVE, SHIFTED
from tests.deploy.cdk import STACK
from tests.deploy.clients import Unexpected, client, expect
from tests.deploy.emulator import Emulator

ALARM = f"{STACK}-GatewayErrors"
PATIENCE = 300.0
"""Seconds until the update reaches the aliases."""
CANARY = 120.0
"""Seconds in which the alarm fires while two versions serve: it does so as soon as they were seen."""
INVOCATIONS = 10
EVENT = b'{"tenant": "default", "run_id": "run-00000000-0000-4000-8000-000000000000", "deny": true}'
"""An event that changes nothing: `advance_turn` finds no such approval, and the others refuse it."""


class GradualRelease:
    """The aliases of one deployed stack."""

    def __init__(self, running: Emulator) -> None:
        self._running = running
        self._lambda = client(running, "lambda")
        self._alarms = client(running, "cloudwatch")
        functions = self._lambda.list_functions()["Functions"]
        self._names = [one["FunctionName"] for one in functions if _folder(one["Handler"]) in SHIFTED]

    def ends_by_alarm(self, deploy: Callable[[], object]) -> None:
        """`deploy` must fail and return. Raises: Unexpected, CommandFailed."""
        before = self.versions()
        expect(len(before) == len(SHIFTED), f"these functions have an alias: {sorted(before)}")
        with self._running.canaries_of(CANARY), ThreadPoolExecutor(1) as other:
            deploying = other.submit(deploy)
            name = self._first_shifted(deploying)
            served = self._served(name)
            self._set("ALARM")
            deploying.result()
        self._set("OK")
        expect(len(served) == 2 and min(served.values()) == INVOCATIONS // 10, f"the versions of {name} served {dict(served)}")
        expect(self.versions() == before, f"the aliases were {before} and are {self.versions()}")
        expect(set(self._served(name)) == {before[name]}, f"{name} is served by {set(self._served(name))}")

    def _first_shifted(self, deploying: Future[object]) -> str:
        """The function whose alias names two versions first."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and not deploying.done():
            for name in self._names:
                if self._alias(name).get("RoutingConfig"):
                    return name
            time.sleep(0.2)
        deploying.result()
        raise Unexpected("the update shifted no alias")

    def _served(self, name: str) -> Counter[str]:
        """How many of some invocations of the alias each version served."""
        answers = [self._lambda.invoke(FunctionName=f"{name}:{LIVE}", Payload=EVENT) for _ in range(INVOCATIONS)]
        return Counter(str(answer["ExecutedVersion"]) for answer in answers)

    def versions(self) -> dict[str, str]:
        """The version of each alias; two, while it is shifted."""
        found = {name: self._alias(name) for name in self._names}
        return {name: " ".join([one["FunctionVersion"], *_further(one)]) for name, one in found.items()}

    def _alias(self, name: str) -> dict[str, Any]:
        return dict(self._lambda.get_alias(FunctionName=name, Name=LIVE))

    def _set(self, state: str) -> None:
        self._alarms.set_alarm_state(AlarmName=ALARM, StateValue=state, StateReason="the check says so")


def _further(alias: dict[str, Any]) -> list[str]:
    return list(alias.get("RoutingConfig", {}).get("AdditionalVersionWeights", {}))


def _folder(handler: str) -> str:
    return handler.replace("/", ".").split(".")[1]
