"""`python -m benchmarks.files`: a text of 10 MB is sent to a server of its own over HTTP; when it is accepted, stored and found by all its
words, what the server spent on that, and how many pieces it embeds a second from then on.

What the server knows is read beside it, from its data folder, so that asking costs it nothing.
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
from hibernaut.schemas.file import FileStatus, StoredFile
from hibernaut.schemas.ids import DEFAULT_TENANT
from hibernaut.services.search.hybrid_search import SearchScope
from hibernaut.services.search.search_sources import NoEmbedders
from hibernaut.store.stores import Stores
from hibernaut.wiring.run_engine import SearchEngines

SIZE = 10_000_000
SECONDS_OF_EMBEDDING = 30.0
LOOK = 0.02
"""Seconds between two looks."""
FIRST_WORD = 1996
"""Where the whole words begin in the vocabulary, in the order of how often they are met."""


class Beside:
    """What a running server has stored and indexed, by its data folder."""

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
        """Whether a search has the word and has looked at everything that is stored."""
        searched = self.search.passages(SearchScope("file", (folder_id,)), word, mode="fts")
        return bool(searched.hits) and not searched.incomplete and word in searched.hits[0].record.text

    def knows_all_words(self) -> bool:
        return not self.stores.unindexed.new("file", 1)


def main() -> None:
    folders: list[Path] = []
    planted = ["zyxwvutone", "zyxwvuttwo", "zyxwvutthree"]
    body = text(SIZE, planted)
    with running_server(None, folders.append) as server, httpx.Client(base_url=server.url, timeout=120) as http:
        small = upload(http, folder(http, "warm"), text(20_000, []))
        beside = Beside(folders[0])
        until(lambda: beside.file(small).status is FileStatus.COMPLETED)
        place = folder(http, "large")
        clock, spent = time.perf_counter(), server.cpu_ms()

        def passed(what: str) -> None:
            print(f"{what:44} {time.perf_counter() - clock:8.2f} s {(server.cpu_ms() - spent) / 1000:8.2f} s CPU", flush=True)

        large = upload(http, place, body)
        passed("accepted")
        until(lambda: beside.file(large).status is FileStatus.EMBEDDING)
        passed(f"stored, {beside.file(large).total} pieces")
        until(lambda: all(beside.finds(place, word) for word in planted))
        passed("a search misses no word")
        until(beside.knows_all_words)
        passed("the index knows every word")
        embedding(server, lambda: beside.file(large).embedded)
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
    """Sentences of English words, the common ones most often, some names of two, some numbers; the planted words from end to end."""
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
