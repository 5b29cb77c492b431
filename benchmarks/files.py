"""`python -m benchmarks.files`: uploads a text of 10 MB to a new server over HTTP.

Prints when the file is accepted, stored and found by all its words, the server's CPU time, and the number of pieces that it
embeds in a second. The benchmark reads the progress from the server's data folder, so that its queries cost the server nothing.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

import httpx

from benchmarks.processes import Server, running_server
from hibernaut.adapters.blobs.disk import DiskBlobs
from hibernaut.adapters.clock import SystemClock
from hibernaut.adapters.embedder import minilm_files
from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.schemas.ids import DEFAULT_TENANT
from hibernaut.schemas.memory.file import FileStatus, StoredFile
from hibernaut.services.search.hybrid_search import SearchScope
from hibernaut.services.search.search_sources import NoEmbedders
from hibernaut.store.stores import Stores
from hibernaut.wiring.run_resources import SearchEngines

SIZE = 10_000_000
SECONDS_OF_EMBEDDING = 30.0
LOOK = 0.02
"""Seconds between two checks."""
FIRST_WORD = 1996
"""The first whole word of the vocabulary, which is ordered by frequency."""


class ServerData:
    """The table and the index of a running server, opened from its data folder."""

    def __init__(self, data: Path) -> None:
        self.table = SqliteTable(data / "hibernaut.db")
        self.index = SqliteMemoryIndex(data / "index.db")
        self.stores = Stores(self.table, DiskBlobs(data / "blobs"), SystemClock(), indexed=True).of(DEFAULT_TENANT)
        self.search = SearchEngines(self.index, NoEmbedders()).search(self.stores)

    def file(self, file_id: str) -> StoredFile:
        file = self.stores.files.get(file_id)
        assert file is not None
        return file

    def finds(self, folder_id: str, word: str) -> bool:
        """Whether a complete search finds the word."""
        searched = self.search.passages(SearchScope("file", (folder_id,)), word, mode="fts")
        return bool(searched.hits) and not searched.incomplete and word in searched.hits[0].record.text

    def knows_all_words(self) -> bool:
        return not self.stores.search_outbox.new("file", 1)


def main() -> None:
    folders: list[Path] = []
    planted = ["zyxwvutone", "zyxwvuttwo", "zyxwvutthree"]
    body = text(SIZE, planted)
    with running_server(None, folders.append) as server, httpx.Client(base_url=server.url, timeout=120) as http:
        small = upload(http, folder(http, "warm"), text(20_000, []))
        data = ServerData(folders[0])
        until(lambda: data.file(small).status is FileStatus.COMPLETED)
        place = folder(http, "large")
        clock, spent = time.perf_counter(), server.cpu_ms()

        def passed(what: str) -> None:
            print(f"{what:44} {time.perf_counter() - clock:8.2f} s {(server.cpu_ms() - spent) / 1000:8.2f} s CPU", flush=True)

        large = upload(http, place, body)
        passed("accepted")
        until(lambda: data.file(large).status is FileStatus.EMBEDDING)
        passed(f"stored, {data.file(large).total} pieces")
        until(lambda: all(data.finds(place, word) for word in planted))
        passed("a search misses no word")
        until(data.knows_all_words)
        passed("the index knows every word")
        embedding(server, lambda: data.file(large).embedded)
        print(f"{'load of the machine':44} {os.getloadavg()[0]:8.1f}")


def embedding(server: Server, embedded: Callable[[], int]) -> None:
    before, spent, start = embedded(), server.cpu_ms(), time.perf_counter()
    time.sleep(SECONDS_OF_EMBEDDING)
    seconds = time.perf_counter() - start
    print(f"{'pieces embedded (a second)':44} {(embedded() - before) / seconds:8.1f}", flush=True)
    print(f"{'cores used by that':44} {(server.cpu_ms() - spent) / 1000 / seconds:8.1f}", flush=True)


def folder(http: httpx.Client, name: str) -> str:
    reply = http.post("/v1/folders/", json={"name": name})
    reply.raise_for_status()
    return str(reply.json()["id"])


def upload(http: httpx.Client, folder_id: str, body: bytes) -> str:
    reply = http.post(f"/v1/folders/{folder_id}/upload", files={"file": ("text.txt", body, "text/plain")})
    reply.raise_for_status()
    return str(reply.json()["id"])


def until(true: Callable[[], bool]) -> None:
    while not true():
        time.sleep(LOOK)


def text(size: int, planted: list[str]) -> bytes:
    """Random sentences of English words by frequency, with some compound names and numbers. The planted words are spread over the
    text.
    """
    drawn = random.Random(1)
    words = [
        word
        for word in minilm_files.vocabulary(minilm_files.installed_folder())[FIRST_WORD:]
        if word.isalpha() and word.isascii()
    ]
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(words))))
    sentences, length = list[str](), 0
    while length < size:
        some = drawn.choices(words, cum_weights=weights, k=drawn.randint(6, 20))
        if drawn.random() < 0.3:
            some.append("".join(drawn.choices(words, k=2)))
        if drawn.random() < 0.2:
            some.append(str(drawn.randrange(10_000)))
        some[drawn.randrange(len(some))] += ","
        sentences.append(" ".join(some).capitalize() + (".\n\n" if drawn.random() < 0.15 else ". "))
        length += len(sentences[-1])
    for number, word in enumerate(planted):
        sentences.insert(number * len(sentences) // max(1, len(planted) - 1), f"Here stands {word}. ")
    return "".join(sentences).encode()


if __name__ == "__main__":
    main()
