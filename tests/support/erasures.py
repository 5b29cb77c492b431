"""A server with everything that may hold what a person said, and a referee that looks for a marker in all of it.

The referee reads the engines' own storage: every item of the table, every blob, and every value in the file of the index. The
change stream of the table is left out: it keeps what was written for 24 hours, as DynamoDB's does.
"""

from __future__ import annotations

import io
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from hibernaut.adapters.memory_index.sqlite import SqliteMemoryIndex
from hibernaut.ports.model import ModelReply, ModelRequest
from hibernaut.ports.storage.table import Table
from hibernaut.rest.dependencies import Services
from hibernaut.schemas.agents.agent import CreateAgentRequest
from hibernaut.schemas.agents.erasure import Erasure
from hibernaut.schemas.agents.identity import CreateIdentity
from hibernaut.schemas.memory.folder import CreateFolder
from hibernaut.schemas.memory.passage import CreatePassage
from hibernaut.schemas.runs.send import LettaRequest, MessageCreate
from hibernaut.services.files.files import Upload
from hibernaut.services.resting.pack_writer import Allowance
from hibernaut.services.resting.resting import Resting
from hibernaut.services.search.index_poll_worker import IndexPollWorker
from hibernaut.services.sending.sending import SendRequest
from hibernaut.services.tool_calls.tool_limits import ToolLimits
from hibernaut.wiring.api_services import services_over
from hibernaut.wiring.engines.index_feed import indexing_of
from hibernaut.wiring.run_engine import RunEngines
from hibernaut.wiring.run_resources import SearchEngines
from tests.support.hashing_embedder import OneEmbedder
from tests.support.scripted_model import calls, says
from tests.support.world import TENANT, Data, World, data_in

MARK = "Xanthippe-4711"
"""What the person says of herself, everywhere."""
KEPT = "Zebedee-0815"
"""What others say, which must stay."""


def script(request: ModelRequest, _number: int) -> ModelReply:
    """A model that repeats what it was told, and stores it if it was asked to."""
    last = request.messages[-1]
    text = str(last).split("<memory_update")[0]  # what memory says is not what was said
    said = MARK if MARK in text else KEPT
    if last.role == "user" and "note it" in text:
        return calls(("memory_insert", {"label": "human", "new_string": f"Her name is {said}."}))
    if last.role == "user" and "archive it" in text:
        return calls(("archival_memory_insert", {"content": f"She is {said}."}))
    return says(f"I heard {said}.")


class Registry:
    """One process over data that survives it. `wrap` wraps its table."""

    def __init__(self, folder: Path, data: Data | None = None, wrap: Callable[[Table], Table] = lambda table: table) -> None:
        self.folder = folder
        self.data = data or data_in(folder, script)
        self.world = World(self.data, wrap=wrap, indexed=True, traces="on")
        self.index = SqliteMemoryIndex(folder / "index.db", now=lambda: self.data.clock.now().timestamp())
        world, embedders = self.world, OneEmbedder()
        search = SearchEngines(self.index, embedders)
        world.engines = RunEngines(world.all_stores, world.host, self.data.models, self.data.runner, ToolLimits(), search)
        world.chain = world.engines.of(TENANT)
        world.sending = world.chain.sending
        self.stores = world.stores
        self.services: Services = services_over(world.stores, world.host, world.chain)
        indexing = indexing_of(world.all_stores, self.index, embedders)
        self._indexer = IndexPollWorker(world.all_stores.outbox, indexing, lambda: [TENANT])

    def close(self) -> None:
        self.index.close()

    def reborn(self, wrap: Callable[[Table], Table] = lambda table: table) -> Registry:
        """The next process over the same data."""
        self.close()
        return Registry(self.folder, self.data, wrap)

    def rest(self, *agents: str) -> None:
        """Put agents to rest: what they were told is in packs then."""
        now = self.data.clock.now() + timedelta(days=1)
        for agent_id in agents:
            Resting(self.stores, self.data.clock).rest(agent_id, idle_since=now, allowance=Allowance(10_000))

    # making

    def person(self, key: str = f"{MARK}@example.org") -> str:
        """The id of an identity."""
        request = CreateIdentity.model_validate({"identifier_key": key, "name": key, "identity_type": "user"})
        return self.services.identities.create(request).id

    def agent(self, *identities: str, said: str = MARK, **fields: object) -> str:
        """The id of an agent with a block."""
        request = {
            "name": f"of {said}",
            "model": "test/scripted",
            "embedding_config": _EMBEDDING,
            "identity_ids": list(identities),
            "tools": ["archival_memory_insert", "memory_insert"],
            "memory_blocks": [{"label": "human", "value": f"I know {said}."}],
            **fields,
        }
        return self.services.agents.creation.create(CreateAgentRequest.model_validate(request)).id

    def say(self, agent_id: str, text: str = MARK, *, sender: str | None = None, conversation: str | None = None) -> str:
        """Send a message and execute its run; returns the run's id."""
        message = MessageCreate(role="user", content=text, otid=f"{text[:40]} {self.world.ids.token()}", sender_id=sender)
        body = LettaRequest(messages=[message])
        request = SendRequest(agent_id, body, "send_message", self.world.ids.token(), conversation_id=conversation)
        accepted = self.world.sending.accept(request)
        if not accepted.waits:
            self.world.sending.start(accepted.run_id)
        self.world.workflow.drive()
        return accepted.run_id

    def say_to_group(self, group_id: str, text: str, *, sender: str) -> None:
        """Send a message to a group and let its agents take their turns."""
        message = MessageCreate(role="user", content=text, otid=f"{text[:40]} {self.world.ids.token()}", sender_id=sender)
        request = SendRequest(group_id, LettaRequest(messages=[message]), "send_group_message", self.world.ids.token())
        accepted = self.world.sending.accept(self.services.group_messages.addressed(request))
        self.world.sending.start(accepted.run_id)
        self.world.workflow.drive()
        self.world.sweep()

    def passage(self, agent_id: str, said: str = MARK) -> None:
        """Store a passage in the agent's archive."""
        self.services.passages.create_for(agent_id, CreatePassage(text=f"{said} likes tea.", tags=[said]))

    def folder_with_file(self, agent_id: str, said: str = MARK) -> str:
        """The id of a folder with a file, which the agent uses."""
        folder = self.services.folders.create(CreateFolder(name=f"papers of {said}", embedding_config=_EMBEDDING))
        upload = Upload(io.BytesIO(f"{said} wrote this.".encode()), f"{said}.txt", "text/plain")
        self.services.files.upload(folder.id, upload, "suffix")
        self.services.agents.updates.attach_folder(agent_id, folder.id)
        return folder.id

    # erasing

    def erase(self, identity_id: str) -> Erasure:
        """Erase a person: begin, then sweep until nothing is left to do."""
        begun = self.services.erasures.begin(identity_id)
        return self.finish(begun.id)

    def finish(self, erasure_id: str) -> Erasure:
        """Sweep until an erasure and its check are over."""
        for _ in range(20):
            self.feed()
            self.world.sweep()
            found = self.services.erasures.get(erasure_id)
            if found.phase is None:
                return found
            self.data.clock.sleep(timedelta(minutes=20).total_seconds())
        raise AssertionError(f"the erasure stands still: {found}")

    def feed(self) -> None:
        """Index what is not indexed yet."""
        assert self._indexer.drain()

    # looking

    def marked(self, mark: str = MARK) -> list[str]:
        """The places of the engines that contain the marker."""
        items = self._rows(self.folder / "table.db", ("items",))
        rows = self._rows(self.folder / "index.db")
        found = [f"table {row[:2]}" for row in items if any(_has(value, mark) for value in row)]
        blobs = {key: plain(data) for key, (data, _) in self.data.blobs.kept.items()}
        found += [f"blob {key}" for key, data in blobs.items() if mark.encode() in data or mark in key]
        return found + [f"index {row[:2]}" for row in rows if any(_has(value, mark) for value in row)]

    def _rows(self, file: Path, names: tuple[str, ...] = ()) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(file)) as reader:
            tables = names or [name for (name,) in reader.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            return [tuple(row) for name in tables for row in reader.execute(f'SELECT * FROM "{name}"')]


def plain(data: bytes) -> bytes:
    """The bytes of a blob, unpacked if it is a pack of records."""
    try:
        return zlib.decompress(data)
    except zlib.error:
        return data


def _has(value: object, mark: str) -> bool:
    return mark in value if isinstance(value, str) else mark.encode() in value if isinstance(value, bytes) else False


_EMBEDDING = OneEmbedder().default()
