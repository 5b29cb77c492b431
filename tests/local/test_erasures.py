"""The program of the page about erasing a person prints what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.local.test_command import ended, environment, serving

PAGE = Path(__file__).parents[2] / "docs" / "security.md"


def test_the_program_of_the_section_prints_what_the_section_says(tmp_path: Path) -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Erase a person\n")[2].partition("\n## ")[0]
    program, printed = re.findall(r"```(?:python|text)\n(.*?)```", section, re.DOTALL)
    with serving(tmp_path) as (process, url, _):
        told = subprocess.run(
            [sys.executable, "-c", program.replace("http://127.0.0.1:8283", url)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env=environment(),
        )
        ended(process)
    assert (told.stderr, told.stdout) == ("", printed)
