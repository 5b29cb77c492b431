"""Checks the types of the console by TypeScript, where Node is: `python tools/console_types.py`. The exit code is that of `tsc`.

Knows where the compiler is installed (`tools/engines.py`); must not know what the console does.
"""

from __future__ import annotations

import subprocess
import sys

from engines import CONSOLE, CONSOLE_CHECKS, provide


def main() -> int:
    """Install the compiler if it is missing, then check. Returns 0 without Node."""
    if not CONSOLE_CHECKS.is_installed() and not provide(CONSOLE_CHECKS):
        return 1
    if not CONSOLE_CHECKS.is_installed():
        return 0
    compiler = CONSOLE_CHECKS.folder / "node_modules" / ".bin" / "tsc"
    return subprocess.run([compiler, "--project", CONSOLE / "tsconfig.json"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
