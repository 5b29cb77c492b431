"""What all workers of a whole run need, made once: each worker makes its share before it collects tests.

All workers collect the same files at the same moment, so in a clean clone each of them would make everything.
"""

from __future__ import annotations

import compileall
import sys
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _read_pyc, _rewrite_test, _write_pyc, assertstate_key, get_cache_dir

ROOT = Path(__file__).parents[1]
FOLDERS = ("tests", "shared", "functions", "infra")


def prepare(config: pytest.Config, share: int, shares: int) -> None:
    """Make what is not there yet: the first worker the template, the last one the API's description, each a part of the code."""
    if config.args != config.getini("testpaths"):
        return
    if share == 0:
        from hibernaut.local.aws_offline.template import checkout, template_of

        template_of(checkout())
    if share == shares - 1:
        from tests.support.api_description import api_description

        api_description()
    if not sys.dont_write_bytecode:
        compile_share(config, share, shares)


def compile_share(config: pytest.Config, share: int, shares: int) -> None:
    """Compile one of so many equal shares of the files. pytest compiles files of tests with rewritten asserts, and keeps the
    result beside them.
    """
    state = config.stash[assertstate_key]
    for file in sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))[share::shares]:
        name = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        if not state.hook._should_rewrite(name, str(file), state):
            compileall.compile_file(file, quiet=2)
            continue
        compiled = get_cache_dir(file) / f"{file.stem}{PYC_TAIL}"
        if _read_pyc(file, compiled) is None:
            compiled.parent.mkdir(exist_ok=True)
            digest, code = _rewrite_test(file, config)
            _write_pyc(state, code, digest, compiled)
