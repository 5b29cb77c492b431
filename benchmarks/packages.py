"""The benchmark of a tool with packages: what a warm call costs beside one without packages, and what it asks of the index.

python -m benchmarks.packages
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hibernaut.adapters.addresses import AddressPolicy
from hibernaut.adapters.clock import SystemClock
from hibernaut.adapters.packages.builder import PackageBuilder
from hibernaut.adapters.packages.package_folders import PackageFolders
from hibernaut.adapters.packages.package_index import PackageIndex
from hibernaut.adapters.tool_runner.child_process import ChildProcessRunner
from hibernaut.adapters.tool_runner.spares import Spare
from hibernaut.ports.tools.tool_runner import ToolJob
from tests.support.package_index import serving_index

CALLS = 20
AIM = 150
PATIENCE = 60.0
PAUSE = 1.0
"""Seconds between two calls, in which a waiting process imports: that it has been started does not say so."""
MODULES = 100
"""Modules of the pinned package; the tool imports them all."""
SOURCE = "def tool():\n    import {imports}\n    return 1\n"


def table() -> list[str]:
    """The lines about warm calls. Raises: AssertionError if a call asks the index."""
    here = AddressPolicy(networks=(ip_network("127.0.0.0/8"),))
    files = {f"pinned/m{number}.py": f"def f():\n    return {number}\n" * 50 for number in range(MODULES)}
    files["pinned/__init__.py"] = "".join(f"from pinned import m{number}\n" for number in range(MODULES))
    with serving_index() as index, TemporaryDirectory() as folder:
        index.add("pinned", "1.0", files=files)
        folders = PackageFolders(Path(folder), PackageBuilder(PackageIndex(index.url, here), SystemClock()), SystemClock())
        packages = folders.install("default", ("pinned",)).model_dump(mode="json")
        asked, rows = len(index.requests), list[str]()
        for kind, spare in (("", None), (", after a pause", Spare())):
            runner = ChildProcessRunner(packages=folders.place, spare=spare)
            rows += [
                _row(f"a call without packages{kind}", runner, "sys", None, spare),
                _row(f"with a pinned package that it imports{kind}", runner, "pinned", packages, spare),
                _row(f"with requests and the pinned package{kind}", runner, "requests, pinned", packages, spare),
            ]
            runner.close()
        assert len(index.requests) == asked, "a call asked the index"
    return [f"Warm calls of a tool (ms, CPU ms; aim {AIM}); requests to the index: 0", *rows]


def _row(what: str, runner: ChildProcessRunner, imports: str, packages: Mapping[str, Any] | None, spare: Spare | None) -> str:
    """Median and CPU time of calls. With a `spare` each call finds it ready after a pause, as after a call of a model."""
    job = ToolJob("tool", SOURCE.format(imports=imports), {}, packages=dict(packages) if packages else None)
    assert runner.run(job).value == 1
    walls, before = [], _cpu()
    for _ in range(CALLS):
        if spare is not None:
            assert spare.is_ready(PATIENCE)
            time.sleep(PAUSE)
        began = time.perf_counter()
        runner.run(job)
        walls.append((time.perf_counter() - began) * 1000)
    return f"  {what:54} {statistics.median(walls):7.0f} {(_cpu() - before) * 1000 / CALLS:7.0f}"


def _cpu() -> float:
    """CPU seconds of this process and of all its ended children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    print("\n".join(table()))
