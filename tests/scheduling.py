"""Which worker runs which tests, and when: a file is a unit of work, and so are all files whose tests share an engine that takes
seconds to start. Files with few tests come last, but for those that take long: at the end, the other workers would wait for them.
"""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

ENGINES = {
    "DynamoDB Local": ("tests/contracts/table/", "tests/proof/test_proof.py"),
    "OpenSearch": (
        "tests/contracts/memory_index/test_index.py",
        "tests/functions/test_index_permissions.py",
        "tests/functions/test_deployments.py",
    ),
    "the CDK": ("tests/infra/",),
    "the browser": ("tests/browser/",),
    # It ends where a worker goes on with another folder, and takes two to three seconds of CPU time each time.
    "the deployment of the API's tests": ("tests/compat/",),
}
"""Each engine with the folders and files of which it starts once for each worker."""


LONG = (
    "the browser",
    "tests/quickstart/test_readme.py",
    "tests/workflows/test_abandoned_handlers.py",
    "tests/unit/services/steps/test_store_outages.py",
    "tests/contracts/memory_index/test_killed_node.py",
    "tests/local/test_installed_wheel.py",
    "tests/clients/test_older_python.py",
    "tests/clients/test_letta_code.py",
    "tests/properties/test_runs_any_model.py",
    "tests/properties/test_runs_doubled.py",
    "tests/properties/test_memory_under_stress.py",
    "tests/unit/services/search/test_retrieval.py",
    "tests/workflows/test_lost_triggers.py",
    "tests/functions/test_permissions_used.py",
    "tests/local/test_reindexing.py",
)
"""Files, and engines with their files, whose few tests take ten seconds or more, in the order in which they begin."""


class EngineScheduling(LoadFileScheduling):
    """xdist's scheduling by files, with fewer starts of engines, and long files first."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return next((engine for engine, places in ENGINES.items() if file.startswith(places)), file)

    def _assign_work_unit(self, node: WorkerController) -> None:
        if (long := next((unit for unit in LONG if unit in self.workqueue), None)) is not None:
            self.workqueue.move_to_end(long, last=False)
        super()._assign_work_unit(node)
