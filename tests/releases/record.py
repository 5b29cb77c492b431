"""What the tests of this package compare with.

python -m tests.releases.record          make this release the one before; at the commit of a release
python -m tests.releases.record now      after a change of the contract or of the records that has a new version
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.schemas.base import Json
from tests.releases import executions, items
from tests.releases.contract import CONTRACT_FILE, RECORDS_FILE, contract, records

BEFORE, NOW = (Path(__file__).parent / name for name in ("before", "now"))


def write(place: Path, document: Json) -> None:
    """Write JSON in a stable order."""
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


def main(words: list[str]) -> int:
    """Returns the exit code."""
    write(NOW / CONTRACT_FILE, contract())
    write(NOW / RECORDS_FILE, records())
    if words != ["now"]:
        _before()
    return 0


def _before() -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(BEFORE / items.ITEMS, items.recorded(*items.play(Path(folder))))
    plays = {}
    with OfflineAws(time_scale=0.001) as offline:
        for name in executions.PLAYS:
            with executions.noted(offline) as calls:
                plays[name] = {"status": executions.played(offline, name), "calls": calls}
    write(BEFORE / executions.CALLS, plays)
    (BEFORE / executions.MACHINE).write_text(executions.definition(), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
