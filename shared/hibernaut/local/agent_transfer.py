"""Exports, imports, copies and moves agents between servers, over their HTTP API. Knows the API; must not know how a server stores agents."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hibernaut.local.profiles import CannotServe
from hibernaut.schemas.base import Json, JsonObject

if TYPE_CHECKING:
    from httpx2 import Response

PATIENCE = 300.0
"""Seconds that a request may take."""
NOT_IN_A_FILE = {
    "conversations": "/v1/conversations/?agent_id={agent}&limit=1",
    "archival passages": "/v1/agents/{agent}/archival-memory?limit=1",
}
"""What an agent may have that its file does not take along, and the lists that show it."""


@dataclass(frozen=True, slots=True)
class AgentServer:
    """A server that is reached over HTTP."""

    url: str
    key: str = field(default="", repr=False)

    def get(self, path: str, **query: Json) -> Json:
        """The value of a reply. Raises: CannotServe."""
        return self._value(self._send("GET", path, params=query))

    def text(self, path: str, **query: Json) -> str:
        """The text of a reply. Raises: CannotServe."""
        return self._send("GET", path, params=query).text

    def delete(self, path: str) -> None:
        """Raises: CannotServe."""
        self._send("DELETE", path)

    def import_file(self, data: bytes, options: JsonObject) -> JsonObject:
        """The reply to an import. Raises: CannotServe."""
        fields = {name: str(one).lower() if isinstance(one, bool) else str(one) for name, one in options.items()}
        sent = self._send("POST", "/v1/agents/import", data=fields, files={"file": ("agent.af", data, "application/json")})
        return dict(self._value(sent))

    def _send(self, method: str, path: str, **request: Json) -> Response:
        from httpx2 import Client, HTTPError, InvalidURL

        headers = {"authorization": f"Bearer {self.key}"} if self.key else {}
        try:
            with Client(base_url=self.url.rstrip("/"), headers=headers, timeout=PATIENCE) as client:
                reply = client.request(method, path, **request)
        except (HTTPError, InvalidURL) as error:
            raise CannotServe(f"{self.url} cannot be reached: {str(error) or type(error).__name__}") from None
        if not reply.is_success:
            raise CannotServe(f"{self.url} answers {reply.status_code}: {_detail(reply)}")
        return reply

    def _value(self, reply: Response) -> Json:
        try:
            return reply.json()
        except ValueError:
            raise CannotServe(f"{self.url} does not answer in JSON; is it a server of agents?") from None


def exported(server: AgentServer, agent_id: str, file: Path, messages: JsonObject, *, force: bool) -> int:
    """Write an agent to a file. Raises: CannotServe."""
    if file.exists() and not force:
        raise CannotServe(f"{file} exists; --force overwrites it")
    text = server.text(f"/v1/agents/{agent_id}/export", **messages)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CannotServe(f"{file} cannot be written: {error.strerror}") from None
    print(file)
    return 0


def imported(server: AgentServer, file: Path, options: JsonObject) -> int:
    """Create the agents of a file and print their ids. Raises: CannotServe."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise CannotServe(f"{file} cannot be read: {error.strerror}") from None
    _tell(server.import_file(data, options))
    return 0


def copied(server: AgentServer, other: AgentServer, agent_id: str, options: JsonObject) -> int:
    """Copy an agent with its whole log, and print its new id. Raises: CannotServe."""
    _tell(_copy(server, other, agent_id, options))
    return 0


def moved(server: AgentServer, other: AgentServer, agent_id: str, options: JsonObject, *, force: bool) -> int:
    """Copy an agent, compare the copy with it, and delete it. Raises: CannotServe, with the agent still there, if something would be lost."""
    left = [what for what, path in NOT_IN_A_FILE.items() if server.get(path.format(agent=agent_id))]
    values = _secrets(server, agent_id) | _given_secrets(options)
    left += [f"the secret {key} without a value" for key, value in values.items() if not value]
    if left and not force:
        raise CannotServe(
            f"{agent_id} has {' and '.join(left)}, which stay behind; copy it instead, or --force deletes them with it"
        )
    result = _copy(server, other, agent_id, options)
    _tell(result)
    here, there = (_size(one, each) for one, each in ((server, agent_id), (other, str(result["agent_ids"][0]))))
    if here != there:
        raise CannotServe(f"the copy has {there}, the agent has {here}; {agent_id} was not deleted")
    server.delete(f"/v1/agents/{agent_id}")
    return 0


def _copy(server: AgentServer, other: AgentServer, agent_id: str, options: JsonObject) -> JsonObject:
    """Import the agent's file, with the values of its secrets where the key of the first server may read them."""
    text = server.text(f"/v1/agents/{agent_id}/export", full_history=True)
    known = {key: value for key, value in _secrets(server, agent_id).items() if value}
    secrets = json.dumps({**known, **_given_secrets(options)})
    return other.import_file(text.encode(), {"append_copy_suffix": False, **options, "secrets": secrets})


def _secrets(server: AgentServer, agent_id: str) -> dict[str, str]:
    """The names of the agent's secrets, with the values that the key may read."""
    state = dict(server.get(f"/v1/agents/{agent_id}", include="agent.secrets"))
    return {str(one["key"]): str(one["value"] or "") for one in state.get("secrets") or ()}


def _given_secrets(options: JsonObject) -> dict[str, str]:
    """Raises: CannotServe."""
    try:
        given = json.loads(options.get("secrets", "{}"))
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise CannotServe("the file of --secrets must have a JSON object of names and values", 2)
    return {str(name): str(value) for name, value in given.items()}


def _size(server: AgentServer, agent_id: str) -> str:
    """What an agent has, in numbers. Calls without a return are closed in a copy, so tools' messages are not counted."""
    document = dict(server.get(f"/v1/agents/{agent_id}/export", full_history=True))
    messages = [one for one in document["agents"][0]["messages"] if one["role"] != "tool"]
    numbers = {"messages": len(messages), **{name: len(document[name]) for name in ("blocks", "tools", "files")}}
    return ", ".join(f"{number} {what}" for what, number in numbers.items())


def _tell(result: JsonObject) -> None:
    """Print the ids; what was repaired or left out goes to the error output."""
    for note in result.get("notes") or ():
        places = f" ({note['count']} places)" if note["count"] > 1 else ""
        print(f"{note['kind'].replace('_', ' ')}: {note['detail']}{places}", file=sys.stderr)
    for agent_id in result["agent_ids"]:
        print(agent_id)


def _detail(reply: Response) -> str:
    try:
        value = json.loads(reply.text)
    except ValueError:
        return reply.reason_phrase
    detail = value.get("detail") if isinstance(value, dict) else None
    return str(detail)[:1_000] if detail is not None else reply.reason_phrase
