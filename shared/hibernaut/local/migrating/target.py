"""The server that is moved to: imports that keep ids, and the routes beside them. Each of its methods may be repeated without
harm.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from hibernaut.local.migrating.api import Api, RequestRefused
from hibernaut.local.migrating.sources.source import SourceArchive
from hibernaut.local.profiles import CannotServe
from hibernaut.schemas.agents.group import SLEEPING
from hibernaut.schemas.base import Json, JsonObject

LARGEST_BODY = 4_000_000
"""The size of an import in bytes above which it goes by an upload, if the server has uploads."""
OPTIONS: JsonObject = {"keep_ids": True, "append_copy_suffix": False, "override_existing_tools": False}


class Target:
    """A server of this project. `options`: further options of the imports. Raises RequestRefused and CannotServe as `Api`."""

    def __init__(self, api: Api, options: JsonObject) -> None:
        self._api = api
        self._options = {**options, **OPTIONS}

    @property
    def label(self) -> str:
        return self._api.url

    def close(self) -> None:
        self._api.close()

    def check(self) -> None:
        """Raises: CannotServe if the server cannot keep ids."""
        try:
            self.load({"agents": []})
        except RequestRefused as refused:
            raise CannotServe(
                f"{self.label} is no server that agents can be moved to: it answers {refused}. It must be a Hibernaut of this release or a later one."
            ) from None

    def models(self) -> set[str]:
        """The handles of the models that are served."""
        return {str(one["handle"]) for one in self._api.found("/v1/models/") or () if one.get("handle")}

    def load(self, document: JsonObject) -> list[JsonObject]:
        """Import a document; returns the notes of the import."""
        body = json.dumps({"file": {"agents": [], **document}, **self._options}).encode()
        if len(body) > LARGEST_BODY and (reply := self._uploaded(document)) is not None:
            return list(reply["notes"])
        sent = self._api.send("POST", "/v1/agents/import", content=body, headers={"content-type": "application/json"})
        return list(sent["notes"])

    def _uploaded(self, document: JsonObject) -> JsonObject | None:
        """The reply to an import by an upload; None if the server has none."""
        data = json.dumps({"agents": [], **document}).encode()
        try:
            announced = self._api.send("POST", "/v1/agents/import/upload-url", json={"file_size": len(data)})
        except RequestRefused as refused:
            if refused.status == 501:
                return None
            raise
        ticket = announced["upload"]
        place = urlsplit(ticket["url"])
        bucket = Api(
            f"{place.scheme}://{place.netloc}", name="the bucket of the new server"
        )  # never prints the ticket's signature
        try:
            bucket.send("PUT", ticket["url"], content=data, headers=ticket["headers"])
        finally:
            bucket.close()
        body = {"upload_id": announced["upload_id"], **self._options}
        return dict(self._api.send("POST", "/v1/agents/import", json=body))

    def has(self, kind: str, identifier: str) -> bool:
        """Whether there is a record: `agents`, `blocks`, `groups`, `archives`."""
        return self._api.found(f"/v1/{kind}/{identifier}") is not None

    def record(self, kind: str, identifier: str) -> JsonObject | None:
        """The record; None if there is none."""
        found = self._api.found(f"/v1/{kind}/{identifier}")
        return dict(found) if found is not None else None

    def tool(self, name: str) -> JsonObject | None:
        """The tool of a name."""
        return next((dict(one) for one in self._api.get("/v1/tools/", name=name) if one.get("name") == name), None)

    def mcp_servers(self) -> dict[str, JsonObject]:
        """The MCP servers by their names."""
        return {str(one["server_name"]): dict(one) for one in self._api.found("/v1/mcp-servers/") or ()}

    def make_mcp_server(self, name: str, config: JsonObject) -> JsonObject:
        """Add an MCP server and return it. The target reads its tools at once."""
        server = self._api.send("POST", "/v1/mcp-servers/", json={"server_name": name, "config": config})
        return dict(self._api.found(f"/v1/mcp-servers/{server['id']}") or server)

    def put_identity(self, fields: JsonObject) -> str:
        """The id of the identity with this key, which has these fields then."""
        return str(self._api.send("PUT", "/v1/identities/", json=fields)["id"])

    def attach(self, what: str, identifier: str, *, to: str) -> None:
        """Attach an identity or an archive. `what`: `identities` or `archives`; `to`: the path of an agent or a block."""
        self._api.send("PATCH", f"/v1/{to}/{what}/attach/{identifier}")

    def make_archive(self, fields: JsonObject) -> None:
        """Create an archive."""
        self._api.send("POST", "/v1/archives/", json=fields)

    def add_passages(self, archive_id: str, passages: Sequence[JsonObject]) -> list[JsonObject]:
        """The passages of these that the archive has afterwards."""
        return list(self._api.send("POST", f"/v1/archives/{archive_id}/passages/batch", json={"passages": list(passages)}))

    def make_group(self, fields: JsonObject) -> None:
        """Create a group. The manager of a sleep-time group has sleep-time on."""
        self._api.send("POST", "/v1/groups/", json=fields)
        config = fields["manager_config"]
        if config["manager_type"] in SLEEPING:
            self._api.send("PATCH", f"/v1/agents/{config['manager_agent_id']}", json={"enable_sleeptime": True})

    def log(self, agent_id: str, conversation_id: str | None = None) -> tuple[JsonObject, JsonObject]:
        """An agent as a file with the whole log of a conversation, of its own by default: the document, and its entry in it."""
        query = {"conversation_id": conversation_id} if conversation_id is not None else {}
        document = dict(self._api.get(f"/v1/agents/{agent_id}/export", full_history=True, **query))
        return document, document["agents"][0]

    def find_log(self, agent_id: str, conversation_id: str | None = None) -> JsonObject | None:
        """The agent's entry in a file with the whole log of a conversation; None if there is no such agent or conversation."""
        try:
            return self.log(agent_id, conversation_id)[1]
        except RequestRefused as refused:
            if refused.status in (404, 422):
                return None
            raise

    def passages(self, archive: SourceArchive) -> int:
        """The number of passages that an archive has, read through an agent that has it; 0 if there is none."""
        for agent_id in archive.agent_ids:
            if self.has("agents", agent_id):
                of_agent = self._api.each(f"/v1/agents/{agent_id}/archival-memory")
                return sum(one.get("archive_id") == archive.id for one in of_agent)
        return 0

    def find_files(self, folder_id: str) -> list[JsonObject]:
        """The files of a folder without their texts; none if there is no such folder."""
        return list(self._api.each(f"/v1/folders/{folder_id}/files")) if self.has("folders", folder_id) else []

    def files(self, folder_id: str) -> Iterator[JsonObject]:
        """The files of a folder with their texts."""
        return self._api.each(f"/v1/folders/{folder_id}/files", size=20, include_content=True)

    def count(self, noun: str) -> Json:
        """The number of records of a noun, such as `agents`; None if the server has no such count."""
        return self._api.found(f"/v1/{noun}/count")
