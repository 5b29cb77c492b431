"""Which worker runs which tests, and in what order: a file is a unit of work, and so are all files whose tests share an engine that takes
seconds to start. Units that take long come first, so that all workers are busy until the end.
"""

from __future__ import annotations

from collections import Counter
from zlib import crc32

import pytest
from xdist.scheduler import LoadFileScheduling

ENGINES = {
    "DynamoDB Local": ("tests/contracts/table/", "tests/proof/test_proof.py"),
    "OpenSearch": (
        "tests/contracts/memory_index/test_index.py",
        "tests/functions/test_index_permissions.py",
        "tests/functions/test_deployments.py",
    ),
    "the CDK": ("tests/infra/",),
}
"""Each engine with the folders and files of which it starts once for each worker."""

DEPLOYMENT = "tests/compat/"
DEPLOYMENTS = 3
"""The tests in this folder share a deployment, which ends where a worker goes on with a file of another folder. One group for each worker."""

FIRST = (
    "a deployment",
    "DynamoDB Local",
    "OpenSearch",
    "tests/browser/test_console_accessible.py",
    "tests/contracts/model/kit/test_kit.py",
    "the CDK",
    "tests/functions/test_permissions_used.py",
    "tests/properties/test_neighbours.py",
    "tests/browser/",
    "tests/quickstart/",
    "tests/properties/",
    "tests/unit/services/search/test_retrieval.py",
    "tests/local/",
)
"""The beginnings of the names of the units that take longest, for their number of tests does not tell. The others follow by that number."""


class EngineScheduling(LoadFileScheduling):
    """xdist's scheduling by files, with fewer starts of engines, in the order of the collection."""

    def __init__(self, config: pytest.Config, log: object) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(super()._split_scope(nodeid))


def unit_of(file: str) -> str:
    """The unit of work of a file."""
    if file.startswith(DEPLOYMENT):
        return f"a deployment, {crc32(file.encode()) % DEPLOYMENTS}"
    return next((engine for engine, places in ENGINES.items() if file.startswith(places)), file)


def in_order(items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests of each unit together, in the order in which units are begun."""
    units = {item: unit_of(item.nodeid.partition("::")[0]) for item in items}
    sizes = Counter(units.values())

    def place(item: pytest.Item) -> tuple[int, int, str]:
        unit = units[item]
        first = next((number for number, name in enumerate(FIRST) if unit.startswith(name)), len(FIRST))
        return first, -sizes[unit], unit

    return sorted(items, key=place)
