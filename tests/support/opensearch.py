"""An OpenSearch node with k-NN as a process on this machine. The first test that needs it starts it, once for each test process.

Knows how to run the engine of `tools/engines.py`. Must not know what tests store in it.
"""

from __future__ import annotations

import json
import random
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from hibernaut.adapters.memory_index.opensearch import OpenSearchMemoryIndex
from hibernaut.adapters.memory_index.opensearch_domain import DomainDialect
from tools.engines import OPENSEARCH

_SECONDS_TO_START = 120
_PORTS = range(9201, 9300)  # the runner accepts no others
# Ends the node even if this process is killed: the pipe, which only this process holds, is then closed.
_GUARD = 'exec 3<&0; "$@" </dev/null & node=$!; (read -r _ <&3; kill -9 $node 2>/dev/null) & wait $node'
_JAVA = ("java", "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_PLUGINS = "org.opensearch.knn.plugin.KNNPlugin"
_SETTINGS = "discovery.type: single-node\nnetwork.host: 127.0.0.1\ntransport.port: {transport}\n"


class OpenSearchNode:
    """The node. Its data is in a folder that survives `kill()` and is deleted by `close()`."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="hibernaut-opensearch-"))
        self._port = _free_port(random.sample(_PORTS, len(_PORTS)))
        self._cluster = self._folder.name
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start the node and wait until it answers. After `kill()` it restarts at the same address with its data."""
        config = self._folder / "node_1" / "config"
        config.mkdir(parents=True, exist_ok=True)
        (config / "opensearch.yml").write_text(_SETTINGS.format(transport=_free_port([0])), encoding="utf-8")
        # The runner counts its nodes from 1 and adds the number to the port.
        places = (
            "-basePath",
            str(self._folder),
            "-numOfNode",
            "1",
            "-baseHttpPort",
            str(self._port - 1),
            "-clusterName",
            self._cluster,
        )
        runner = ("-cp", "lib/*", "org.codelibs.opensearch.runner.OpenSearchRunner", *places, "-pluginTypes", _PLUGINS)
        command = ("sh", "-c", _GUARD, "guard", *_JAVA, *runner)
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(command, cwd=OPENSEARCH.folder, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)
        deadline = time.monotonic() + _SECONDS_TO_START
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise RuntimeError(f"OpenSearch does not start in {OPENSEARCH.folder}")

    def kill(self) -> None:
        """End the process at once, as a crash would."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _is_ready(self) -> bool:
        """Whether the node answers. Pauses briefly before it returns, if no process listens yet."""
        try:
            with urllib.request.urlopen(f"{self.address}/_cluster/health", timeout=5) as answer:
                health = json.load(answer)
                return health["cluster_name"] == self._cluster and health["status"] in ("green", "yellow")
        except (OSError, urllib.error.URLError):
            time.sleep(0.1)
            return False


@pytest.fixture(scope="session")
def opensearch_node() -> Iterator[OpenSearchNode]:
    require()
    node = OpenSearchNode()
    node.start()
    yield node
    node.close()


def over_domain(client: Any, *, prefix: str) -> OpenSearchMemoryIndex:
    """The index in a domain or node."""
    return OpenSearchMemoryIndex(client, prefix=prefix, dialect=DomainDialect(client))


def require() -> None:
    """Skip the test if Java or Maven is missing; fail it if only the engine is missing."""
    if missing := OPENSEARCH.missing_programs():
        pytest.skip(f"OpenSearch needs {' and '.join(missing)}")
    if not OPENSEARCH.is_installed():
        pytest.fail("OpenSearch is not installed: run `make engines`")


def _free_port(candidates: Sequence[int]) -> int:
    """The first of these ports that is free; 0 means any port."""
    for port in candidates:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise RuntimeError("no port is free")
