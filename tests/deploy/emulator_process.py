"""The emulator's process, run by its own Python: ministack with the adaptations below. It ends when its standard input does.

Each adaptation stands for a rule of AWS that this release of ministack lacks; `gaps.py` says what therefore is not shown.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

import emulator_releases
from ministack.app import main
from ministack.core import lambda_runtime
from ministack.services import apigateway_v1
from ministack.services.cloudformation import provisioners

CONCURRENCY, UNRESERVED = 1000, 100
"""An account's quota of concurrent executions, and the part that no function may reserve
(docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html).
"""
WEB_SERVER = "run.sh"


def adapt() -> None:
    """Change ministack in this process, before it serves."""
    _streamed_routes()
    _functions_behind_the_web_adapter()
    _alarms_over_several_metrics()
    _quota_of_concurrency()
    _firewall_of_names()
    emulator_releases.adapt()


def _streamed_routes() -> None:
    """An integration that streams names its function by another path (docs.aws.amazon.com/apigateway/latest/developerguide,
    "Configure a Lambda proxy integration with payload response streaming").
    """
    known = apigateway_v1._extract_lambda_ref_from_integration_uri

    def reference(uri: str) -> str:
        return str(known(uri.replace("/response-streaming-invocations", "/invocations")))

    apigateway_v1._extract_lambda_ref_from_integration_uri = reference


def _functions_behind_the_web_adapter() -> None:
    """The adapter's layer is not there, so a function that it would start as a web server serves the same app by its events."""
    begin = lambda_runtime.Worker.__init__

    def init(self: Any, name: str, config: dict[str, Any], code: bytes) -> None:
        if config.get("Handler", "").endswith(WEB_SERVER):
            config = {**config, "Handler": "functions.api.handler.handler"}
        begin(self, name, config, code)

    lambda_runtime.Worker.__init__ = init


def _alarms_over_several_metrics() -> None:
    """An alarm on an expression is created as an alarm on the first of its metrics."""
    known = provisioners._cw_metric_alarm_record

    def record(name: str, properties: dict[str, Any]) -> Any:
        metrics = [one["MetricStat"]["Metric"] for one in properties.get("Metrics", ()) if "MetricStat" in one]
        plain = {key: value for key, value in properties.items() if key != "Metrics"}
        return known(name, {**plain, **metrics[0]} if metrics else properties)

    provisioners._cw_metric_alarm_record = record


def _quota_of_concurrency() -> None:
    """Lambda refuses a reservation that leaves the account too little, and so fails the update of the stack."""
    handlers = provisioners._RESOURCE_HANDLERS["AWS::Lambda::Function"]
    known = handlers["update"]

    def update(physical_id: str, before: dict[str, Any], after: dict[str, Any], *more: Any, **named: Any) -> Any:
        if int(after.get("ReservedConcurrentExecutions") or 0) > CONCURRENCY - UNRESERVED:
            raise ValueError(
                "Specified ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution below its "
                f"minimum value of [{UNRESERVED}]."
            )
        return known(physical_id, before, after, *more, **named)

    handlers["update"] = update


def _firewall_of_names() -> None:
    """The parts of a firewall of the VPC's resolver are created as names, which are asked of nobody."""
    for kind in ("FirewallDomainList", "FirewallRuleGroup", "FirewallRuleGroupAssociation"):
        provisioners._RESOURCE_HANDLERS[f"AWS::Route53Resolver::{kind}"] = {
            "create": lambda logical, _properties, _stack: (f"rslvr-{logical}", {"Id": f"rslvr-{logical}"}),
            "delete": lambda _physical, _properties: None,
        }


def _end_with_the_parent() -> None:
    """Wait for the end of the standard input, then kill this process and the functions that it started: its process group."""
    while sys.stdin.buffer.read(1):
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    adapt()
    sys.argv[1:] = []
    main()
