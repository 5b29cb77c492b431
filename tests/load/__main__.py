"""`make load`: 64 callers for a minute beside 32 that send background runs, with faults in every service."""

from __future__ import annotations

import argparse
import io
import sys
from contextlib import redirect_stdout

from tests.load.run import Load, LoadPlan, deployed


def main() -> int:
    """Play the load and print the report. Returns 1 if anything was lost, doubled or stuck."""
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    for name in ("callers", "background", "messages", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(LoadPlan, name))
    for name in ("seconds", "model_seconds"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=getattr(LoadPlan, name))
    plan = LoadPlan(**vars(parser.parse_args()))
    with redirect_stdout(io.StringIO()), deployed() as aws:  # The functions log to it.
        report = Load(aws, plan).played()
    print("\n".join([str(plan), *report.lines()]))
    return int(bool(report.findings))


if __name__ == "__main__":
    sys.exit(main())
