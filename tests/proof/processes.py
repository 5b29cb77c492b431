"""A program (`processes.py PROFILE`) that plays the stories which it reads, a line each: FOLDER, STORY, FIRST and EVERY as a JSON
list. It plays a story with a kill at each `EVERY`-th point, from the `FIRST`, and prints the counts and the findings as a line of
JSON.

For each point one process plays the story until a signal kills it, and a second process recovers and finishes. The program opens
nothing itself and forks each process, so that two processes share only the stored data, and none of them imports a module again.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from hibernaut.adapters.table.dynamodb import one_attempt
from hibernaut.domain.models import tokens
from tests.proof.killed_at_home import live_embedded, settle_embedded
from tests.proof.killed_handlers import CLIENT, live_aws, settle_aws
from tests.proof.partitions import few_partitions
from tests.proof.place import Place
from tests.proof.stories import STORIES, Story

PROFILES: dict[str, tuple[Callable[[Place], None], Callable[[Place], None]]] = {
    "embedded": (live_embedded, settle_embedded),
    "aws": (live_aws, settle_aws),
}


def forked(work: Callable[[], None], errors: Path | None = None) -> int:
    """Do the work in a forked process. Returns its exit status, or the negative number of its signal. `errors`: the file for its
    error.
    """
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        work()
    except BaseException:  # noqa: BLE001  the fork ends here, and its status tells
        if errors is not None:
            errors.write_text(traceback.format_exc())
        os._exit(1)
    os._exit(0)


def build_validators(of: type[BaseModel] = BaseModel) -> None:
    """Build the validators of all models, which would otherwise be built at their first use: in each fork again."""
    for model in of.__subclasses__():
        model.model_rebuild()
        build_validators(model)


def import_what_forks_import(profile: str) -> None:
    """Import the modules that a process imports while it plays a story, such as numpy: each fork would otherwise import them
    again.
    """
    known = set(sys.modules)

    def plays(here: Path) -> None:
        for work in PROFILES[profile]:
            work(Place(STORIES[0], here))
        (here / "modules").write_text("\n".join(set(sys.modules) - known))

    with tempfile.TemporaryDirectory() as name:
        here = Path(name) / "0"
        here.mkdir()
        assert forked(lambda: plays(here), here / "error") == 0, (here / "error").read_text()
        for module in (here / "modules").read_text().splitlines():
            with suppress(ImportError):
                importlib.import_module(module)


def main(profile: str, orders: Iterable[str]) -> None:
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # Handlers log to the standard output.
    tokens.get_ready()
    build_validators()
    if profile == "aws":
        import boto3

        CLIENT.append(boto3.client("dynamodb", config=one_attempt()))
    import_what_forks_import(profile)
    gc.collect()
    gc.freeze()  # A fork that collects garbage would otherwise copy the memory of all modules.
    by_name = {story.name: story for story in STORIES}
    for order in orders:
        folder, name, first, every = json.loads(order)
        print(json.dumps(played(profile, Path(folder), by_name[name], first, every)), file=answers, flush=True)


def played(profile: str, folder: Path, story: Story, first: int, every: int) -> dict[str, Any]:
    """The number of points, the number of runs, and the findings with their places."""
    live, settle = PROFILES[profile]
    total: dict[str, Any] = {"points": 0, "runs": 0, "found": []}
    at, ended = first, -signal.SIGKILL
    while ended == -signal.SIGKILL:
        here = folder / f"{at:03}"
        here.mkdir(parents=True)
        ended = forked(lambda here=here, at=at: live(Place(story, here, at)), here / "error")  # type: ignore[misc]
        settled = forked(lambda here=here: settle(Place(story, here)), here / "next error")  # type: ignore[misc]
        tried = judged(here, ended, settled)
        total["points"] += ended == -signal.SIGKILL
        total["runs"] += tried["runs"]
        total["found"] += [[f"point {at}", *one] for one in tried["found"]]
        at += every
    return total


def judged(here: Path, lived: int, settled: int) -> dict[str, Any]:
    """The findings of the second process. A process that failed is a finding too."""
    file = here / "judged"
    tried: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"runs": 0, "found": []}
    if lived not in (0, -signal.SIGKILL):
        tried["found"].append(["bricked", f"the process failed by itself: {(here / 'error').read_text()}"])
    if settled != 0:
        tried["found"].append(["bricked", f"the next process failed: {(here / 'next error').read_text()}"])
    return tried


if __name__ == "__main__":
    with few_partitions():
        main(sys.argv[1], sys.stdin)
