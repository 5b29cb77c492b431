"""`make proof`: every story, at every point, on every engine. Prints the tables, and fails if anything is lost, doubled or bricked.

python -m tests.proof                      all
python -m tests.proof home offline         only these engines: home (SQLite, in one process), killed, offline, dynamodb
python -m tests.proof --every 5            each fifth point
python -m tests.proof --only cancel        the stories whose names contain the word
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.conftest import FAKE_AWS
from tests.proof.engines import AT_HOME, Engine, Tally, killed, on_dynamodb_local
from tests.proof.stories import STORIES, Story
from tests.proof.table import points_of, sums_of
from tests.support.dynamodb_local import DynamoDbLocal, why_not
from tools.engines import DYNAMODB_LOCAL

SHOWN = 20
"""Number of findings that are printed in full."""


@contextmanager
def engines(wanted: list[str]) -> Iterator[dict[str, Engine]]:
    """The wanted engines by name. The engines of AWS are started here and stopped afterwards."""
    with ExitStack() as running:
        found: dict[str, Engine] = dict(AT_HOME) if "home" in wanted else {}
        if "killed" in wanted:
            found["killed"] = killed("embedded")
        if "offline" in wanted:
            from tests.proof.offline import on_aws_offline

            found["aws-offline"] = running.enter_context(on_aws_offline())
        if "dynamodb" in wanted:
            server = DynamoDbLocal()
            server.start()
            running.callback(server.close)
            found["DynamoDB Local"] = on_dynamodb_local(server)
        yield found


def fits(story: Story, engine: str) -> bool:
    """Whether an engine can play the story: a large body needs its blobs, and a deadline needs a clock that can be advanced."""
    return not (engine == "DynamoDB Local" and story.blobs) and not (engine in ("DynamoDB Local", "killed") and story.later)


def proved(wanted: list[str], only: str, every: int) -> dict[tuple[str, str], Tally]:
    tallies: dict[tuple[str, str], Tally] = {}
    with engines(wanted) as found:
        for name, engine in found.items():
            for story in STORIES:
                if only in story.name and fits(story, name):
                    began = time.monotonic()
                    tally = tallies[story.name, name] = engine(story, 1, every)
                    told = f"{tally.points} points, {len(tally.found)} findings, {time.monotonic() - began:.0f} s"
                    print(f"{name}: {story.name}: {told}", file=sys.stderr, flush=True)
    return tallies


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proof")
    parser.add_argument("engines", nargs="*", choices=["home", "killed", "offline", "dynamodb", []])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    os.environ.update(FAKE_AWS)
    logging.disable(logging.CRITICAL)
    wanted = asked.engines or ["home", "killed", "offline", "dynamodb"]
    if "dynamodb" in wanted and (reason := why_not() or (not DYNAMODB_LOCAL.is_installed() and "run `make engines`")):
        print(f"without DynamoDB Local: {reason}", file=sys.stderr)
        wanted.remove("dynamodb")
    began = time.monotonic()
    tallies = proved(wanted, asked.only, asked.every)
    names = list(dict.fromkeys(engine for _, engine in tallies))
    print(points_of(tallies, list(dict.fromkeys(story for story, _ in tallies)), names))
    print()
    print(sums_of(tallies, names))
    found = [one for tally in tallies.values() for one in tally.found]
    for where, finding in found[:SHOWN]:
        print(f"{finding.kind}: {where}: {finding.words}")
    print(f"\n{len(found)} findings in {time.monotonic() - began:.0f} s", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
