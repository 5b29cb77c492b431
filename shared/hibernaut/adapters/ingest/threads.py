"""Ingests uploaded files in threads of this process: one large file and some small ones at a time, in queues.

Knows threads; `bind` provides the function that ingests a file.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from hibernaut.schemas.errors import place_of

WORKERS = 2
logger = logging.getLogger(__name__)


class IngestThreads:
    """The ingestion threads. `bind` sets the function that ingests a file. `close` waits for running jobs and drops the queued
    ones, which the next start of the server resumes.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="ingest")
        self._process: Callable[[str, str], None] | None = None
        self._lock = threading.Lock()
        self._under_way = 0

    def bind(self, process: Callable[[str, str], None]) -> None:
        """Set the function that ingests a file of a tenant. Called before the first `start`."""
        self._process = process

    def start(self, tenant: str, file_id: str) -> None:
        """Schedule the file and return at once; after `close` nothing is scheduled."""
        try:
            self._pool.submit(self._run, tenant, file_id)
        except RuntimeError:
            logger.info("file left to the next start", extra={"file_id": file_id})

    def busy(self) -> bool:
        """Whether a file is being ingested now."""
        return self._under_way > 0

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _run(self, tenant: str, file_id: str) -> None:
        with self._lock:
            self._under_way += 1
        try:
            if self._process is not None:
                self._process(tenant, file_id)
        except Exception as error:  # noqa: BLE001  the thread's outermost line: the sweep takes the file up again
            logger.error("file not read", extra={"file_id": file_id, "place": place_of(error), "error": type(error).__name__})
        finally:
            with self._lock:
                self._under_way -= 1
