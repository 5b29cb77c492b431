"""Two callers of one server, and requests by which one of them names what belongs to the other.

    Crossings(document, ours, theirs).of(operation)    requests with every kind of their ids in path, query and body

The requests come from the API's description. Knows OpenAPI and what a stock holds; must not know any rule of access.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from tests.support.any_request import Operation, Requests, Sent
from tests.support.waiting import eventually

WORD = "zebra"
"""A word of their texts that a search asks for."""
SECRET = "striped-7f3a91"
"""A word of their texts that no request contains: whoever reads it has read what is theirs."""
REFUSED = frozenset({400, 403, 404, 405, 409, 410, 422, 501})
"""The statuses of a request for what is not there, or not the caller's."""
YEARLY = {"schedule": {"type": "rate", "rate_expression": "365 days"}}
"""A schedule that does not fire here."""
NOBODY = "http://127.0.0.1:9"
"""An address on which nobody listens."""
NAMES_OF_CURSORS = ("before", "after", "starting_after")
DRAWN = 6
"""Drawn requests for each operation, beside the systematic ones."""


class HttpClient(Protocol):
    """The part of httpx's client and of `DirectClient` that is used."""

    def request(self, method: str, url: str, **options: Any) -> Any: ...


@dataclass
class Stock:
    """One thing of everything that a caller owns; `things` are ids and names by the names of parameters.

    `administers`: the key has the scope `admin`. Without it the caller sets no budget and has no webhook.
    """

    client: HttpClient
    key: str
    texts: str
    things: dict[str, str] = field(default_factory=dict)
    administers: bool = True
    origin: str = ""
    """The origin of the page that sends the requests; "": no browser sends them."""

    def fill(self) -> None:
        text, name = self.texts, self.texts.replace(" ", "-")
        agent = self._made(
            "/v1/agents",
            {"name": name, "tags": [name], "memory_blocks": [{"label": "human", "value": text}], "include_base_tools": False},
        )
        folder = self._made("/v1/folders", {"name": f"folder of {agent}", "description": text})
        said = self.request("POST", f"/v1/agents/{agent}/messages", {"input": text}).json()["messages"][-1]
        files = {"file": (f"{name}.txt", text.encode(), "text/plain")}
        file = self.client.request("POST", f"/v1/folders/{folder}/upload", files=files, headers=self.headers()).json()["id"]
        passage = self.request("POST", f"/v1/agents/{agent}/archival-memory", {"text": text}).json()[0]["id"]
        block = self.request("GET", f"/v1/agents/{agent}").json()["memory"]["blocks"][0]["id"]
        source = f'def f_{agent[-8:]}() -> str:\n    """{text}"""\n    return ""\n'
        conversation = self._made(f"/v1/conversations?agent_id={agent}", {"summary": text})
        self.request("PATCH", f"/v1/agents/{agent}/folders/attach/{folder}")
        links = {"agent_ids": [agent], "block_ids": [block]}
        identity = self._made("/v1/identities", {"identifier_key": agent, "name": text, "identity_type": "user", **links})
        webhook, erasure, policy = f"webhook-{agent[6:]}", f"erasure-{agent[6:]}", f"tool-policy-{agent[6:]}"
        if self.administers:
            person = {"identifier_key": f"person of {agent}", "name": text, "identity_type": "user"}
            erasure = self._made(f"/v1/identities/{self._made('/v1/identities', person)}/erase", {})
            self.request("PUT", f"/v1/budgets/{agent}", {"steps_per_day": 1_000_000})
            # It hears of nothing that is done here, so that nothing is written in the background.
            hook = {"name": text, "url": f"{NOBODY}/{name}", "types": ["webhook.disabled"]}
            for each in self.request("GET", "/v1/webhooks").json()[
                1:
            ]:  # a tenant has at most 20; those of earlier requests are not used any more
                self.request("DELETE", f"/v1/webhooks/{each['id']}")
            webhook = self._made("/v1/webhooks", hook)
            for each in self.request("GET", "/v1/tool-policies").json()[1:]:
                self.request("DELETE", f"/v1/tool-policies/{each['id']}")
            policy = self._made("/v1/tool-policies", {"name": name, "action": "deny", "tools": ["no_such_tool"], "message": text})
        sandbox = self._made("/v1/sandbox-config/local/default", {})
        server = self._mcp_server(f"m-{agent[6:]}", text)
        archive = self._made("/v1/archives", {"name": text})
        template = f"t-{agent[6:]}"
        self._made("/v1/templates", {"type": "agent", "agent_id": agent, "name": template})
        self.things = {
            "agent_id": agent,
            "template_name": template,
            "template_version": f"{template}:1",
            "version": "1",
            "folder_id": folder,
            "source_id": folder,
            "folder_name": f"folder of {agent}",
            "file_id": file,
            "message_id": said["id"],
            "run_id": said["run_id"],
            "job_id": said["run_id"],
            "step_id": said["step_id"],
            "passage_id": self._made(f"/v1/archives/{archive}/passages", {"text": text}),
            "memory_id": passage,
            "archive_id": archive,
            "block_id": block,
            "identity_id": identity,
            "erasure_id": erasure,
            "group_id": self._made("/v1/groups", {"agent_ids": [agent], "description": text}),
            "token": f"key-{agent[6:]}",
            "batch_id": self._made("/v1/messages/batches", {"requests": [{"agent_id": agent, "input": text}]}),
            "provider_id": self._made(
                "/v1/providers", {"name": f"p-{agent[-12:]}", "provider_type": "openai", "api_key": SECRET}
            ),
            "conversation_id": conversation,
            "mcp_server_id": server,
            "mcp_server_name": f"m-{agent[6:]}",
            "mcp_tool_name": "none",
            "webhook_id": webhook,
            "policy_id": policy,
            "sandbox_config_id": sandbox,
            "env_var_id": self._made(
                f"/v1/sandbox-config/{sandbox}/environment-variable", {"key": f"V{agent[-12:]}", "value": text}
            ),
            "scheduled_message_id": self._made(
                f"/v1/agents/{agent}/schedule", {"messages": [{"role": "user", "content": text}], **YEARLY}
            ),
            "event_id": f"evt-{agent[6:]}",
            "tool_id": self._made("/v1/tools", {"source_code": source}),
            "tool_name": f"f_{agent[-8:]}",
            "block_label": "human",
        }
        eventually(self._batch_is_over)

    def _batch_is_over(self) -> bool:
        """Whether the run of the batch has ended, which changes what its agent shows."""
        batch = self.request("GET", f"/v1/messages/batches/{self.things['batch_id']}").json()
        return batch["status"] in ("completed", "failed", "cancelled")

    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.key}"} | ({"origin": self.origin} if self.origin else {})

    def request(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.client.request(method, path, json=body, headers=self.headers())
        assert answer.status_code in (200, 201, 202), (method, path, answer.status_code, answer.text)
        return answer

    def send(self, sent: Sent) -> Any:
        headers = self.headers() | ({"content-type": sent.content_type} if sent.content is not None else {})
        return self.client.request(sent.method, sent.path, params=list(sent.query), content=sent.content, headers=headers)

    def _mcp_server(self, name: str, text: str) -> str:
        """One whose tools nobody lists. Those of earlier requests are not used any more: a tenant has at most 100."""
        for each in self.request("GET", "/v1/mcp-servers").json():
            self.client.request("DELETE", f"/v1/mcp-servers/{each['id']}", headers=self.headers())
        headers = {"x-note": text, "x-key": SECRET}
        config = {"mcp_server_type": "streamable_http", "server_url": "http://127.0.0.1:65533/mcp", "custom_headers": headers}
        return self._made("/v1/mcp-servers", {"server_name": name, "config": config})

    def _made(self, path: str, body: Mapping[str, Any]) -> str:
        return str(self.request("POST", path, body).json()["id"])


class Crossings:
    """Requests of ours that name what is theirs."""

    def __init__(self, document: Mapping[str, Any], ours: Mapping[str, str], theirs: Mapping[str, str]) -> None:
        self._ours = {**ours, "subject": ours["agent_id"]}
        self._theirs = {**theirs, "subject": theirs["agent_id"]}
        self._ids = sorted({each for name, each in theirs.items() if name.endswith("_id")})
        self._schemas = document.get("components", {}).get("schemas", {})
        self._document = document

    def of(self, operation: Operation) -> Iterator[Sent]:
        parameters = operation.described.get("parameters", [])
        path = [each["name"] for each in parameters if each["in"] == "path"]
        query = [each["name"] for each in parameters if each["in"] == "query"]
        media = operation.described.get("requestBody", {}).get("content", {})
        plain = self._body(media)
        for last in range(len(path) + 1):  # all of the path's ids theirs; then only its first ones ours
            names = {name: (self._ours if place < last else self._theirs)[name] for place, name in enumerate(path)}
            yield self._sent(operation, names, {}, plain)
        ours = {name: self._ours[name] for name in path}
        for name in query:
            if name.endswith(("_id", "_ids")) or name in NAMES_OF_CURSORS:
                for identifier in self._ids:
                    yield self._sent(operation, ours, {name: identifier}, plain)
        if plain is not None:
            for name, schema in self._properties(media):
                for value in self._values(name, schema):
                    yield self._sent(operation, ours, {}, {**plain, name: value})
        things = {**self._ours, **{name: each for name, each in self._theirs.items() if name not in path}}
        drawing = Requests(self._document, things)
        for number in range(DRAWN):
            yield drawing.any(operation, Random(f"{operation} {number}"))

    def only_theirs(self, operation: Operation) -> Sent:
        """The request in which every id of the path is theirs."""
        return next(iter(self.of(operation)))

    def _sent(
        self, operation: Operation, path: Mapping[str, str], query: Mapping[str, str], body: Mapping[str, Any] | None
    ) -> Sent:
        place = operation.path
        for name, value in path.items():
            place = place.replace(f"{{{name}}}", value)
        required = {
            each["name"]: self._ours.get(each["name"], WORD)
            for each in operation.described.get("parameters", [])
            if each["in"] == "query" and each.get("required")
        }
        content = None if body is None else json.dumps(body).encode()
        return Sent(operation.method.upper(), place, tuple({**required, **query}.items()), content)

    def _properties(self, media: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
        if "application/json" not in media:
            return []
        schemas = [self._resolved(part) for part in _parts(media["application/json"]["schema"])]
        return [pair for part in schemas for each in _parts(part) for pair in self._resolved(each).get("properties", {}).items()]

    def _body(self, media: Mapping[str, Any]) -> dict[str, Any] | None:
        """The smallest body that fits, with the word in place of texts."""
        if "application/json" not in media:
            return None
        schema = self._resolved(next(iter(_parts(media["application/json"]["schema"])), {}))
        body = {name: self._smallest(schema["properties"][name], name) for name in schema.get("required", [])}
        names = {name for name, _ in self._properties(media)}
        return body | {name: WORD for name in ("query", "input", "search_term") if name in names}

    def _smallest(self, schema: Mapping[str, Any], name: str) -> Any:
        schema = self._resolved(next((each for each in _parts(schema) if each.get("type") != "null"), schema))
        if "enum" in schema:
            return schema["enum"][0]
        match schema.get("type"):
            case "object":
                return {each: self._smallest(schema["properties"][each], each) for each in schema.get("required", [])}
            case "array":
                return []
            case "integer" | "number":
                return 1
            case "boolean":
                return False
            case _:
                return self._ours.get(name, WORD)

    def _values(self, name: str, schema: Mapping[str, Any]) -> Iterator[Any]:
        """Their ids as this property may hold them."""
        kinds = {self._resolved(part).get("type") for part in _parts(schema)}
        if "array" in kinds and name.endswith("ids"):
            yield self._ids
            yield from ([identifier] for identifier in self._ids)
        # `id` alone is the id that a new record of ours shall have: ids of two tenants may be the same.
        if "string" in kinds and name != "id" and name.endswith(("id", "after", "before", "model")):
            yield from self._ids

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in schema:
            schema = self._schemas[schema["$ref"].rsplit("/", 1)[1]]
        return schema


def _parts(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [part for word in ("anyOf", "oneOf", "allOf") for part in schema.get(word, [])] or [schema]
