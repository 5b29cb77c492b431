"""`make proof`: every story, at every point, on every engine. Prints the tables, and fails if anything is lost, doubled or
bricked.

python -m tests.proof                      all
python -m tests.proof home offline         only these engines: home (SQLite, in one process), killed, offline, waiting, dynamodb
python -m tests.proof --every 5            each fifth point
python -m tests.proof --only cancel        the stories whose names contain the word
python -m tests.proof --jobs 4             in four processes instead of two
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence

from tests.proof.engines import AT_HOME
from tests.proof.play import DYNAMODB, KILLED, OFFLINE, WAITING, Play, Played, end_on_sigterm, played
from tests.proof.stories import STORIES, Story
from tests.proof.table import points_of, sums_of
from tests.support.dynamodb_local import why_not
from tools.engines import DYNAMODB_LOCAL

SHOWN = 20
"""Number of findings that are printed in full."""
ENGINES = {"home": list(AT_HOME), "killed": [KILLED], "offline": [OFFLINE], "waiting": [WAITING], "dynamodb": [DYNAMODB]}
"""The engines by the names of the command line."""


def fits(story: Story, engine: str) -> bool:
    """Whether an engine can play the story: a large body needs its blobs, and a deadline needs a clock that can be advanced."""
    return not (engine == DYNAMODB and story.blobs) and not (engine in (DYNAMODB, KILLED) and story.later)


def plays(wanted: Sequence[str], only: str, every: int) -> list[Play]:
    """The plays, those that take longest first, so that the processes end together."""
    engines = [
        engine for name in ("dynamodb", "offline", "waiting", "killed", "home") if name in wanted for engine in ENGINES[name]
    ]
    stories = [story for story in reversed(STORIES) if only in story.name]
    return [Play(engine, story.name, every) for engine in engines for story in stories if fits(story, engine)]


def proved(asked: Sequence[Play], jobs: int) -> Iterator[Played]:
    """Play all, and report each play when it is over."""
    for one in played(asked, jobs):
        told = f"{one.tally.points} points, {len(one.tally.found)} findings, {one.seconds:.0f} s"
        print(f"{one.play.engine}: {one.play.story}: {told}", file=sys.stderr, flush=True)
        yield one


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proof")
    parser.add_argument("engines", nargs="*", choices=[*ENGINES, []])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    wanted = asked.engines or list(ENGINES)
    if "dynamodb" in wanted and (reason := why_not() or (not DYNAMODB_LOCAL.is_installed() and "run `make engines`")):
        print(f"without DynamoDB Local: {reason}", file=sys.stderr)
        wanted.remove("dynamodb")
    end_on_sigterm()
    began = time.monotonic()
    done = {(one.play.story, one.play.engine): one for one in proved(plays(wanted, asked.only, asked.every), asked.jobs)}
    names = [engine for name in ENGINES if name in wanted for engine in ENGINES[name]]
    tallies = {place: one.tally for place, one in done.items()}
    seconds = {engine: sum(one.seconds for (_, of), one in done.items() if of == engine) for engine in names}
    print(points_of(tallies, [story.name for story in STORIES if asked.only in story.name], names))
    print()
    print(sums_of(tallies, names, seconds))
    found = [one for tally in tallies.values() for one in tally.found]
    for where, finding in found[:SHOWN]:
        print(f"{finding.kind}: {where}: {finding.words}")
    print(f"\n{len(found)} findings in {time.monotonic() - began:.0f} s", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
