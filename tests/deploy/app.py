"""The CDK app of the check: the deployed stack with packages for this machine, because the emulator runs the functions on it."""

from __future__ import annotations

import os
import platform

from infra.app import synthesize
from tests.deploy.programs import node

if __name__ == "__main__":
    os.environ.setdefault("JSII_NODE", str(node()))
    synthesize(None, {}, platform=f"{platform.machine()}-manylinux2014")
