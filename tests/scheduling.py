"""Which worker runs which tests: a file is a unit of work, and so are all files whose tests share an engine that takes seconds to start."""

from __future__ import annotations

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


class EngineScheduling(LoadFileScheduling):
    """xdist's scheduling by files, with fewer starts of engines."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return next((engine for engine, places in ENGINES.items() if file.startswith(places)), file)
