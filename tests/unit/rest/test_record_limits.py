"""No free-form field of a stored record is without a limit, as the API's own description shows them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import TypeAdapter, ValidationError

from hibernaut.schemas.agents.agent import CreateAgentRequest, UpdateAgent
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.limits import LARGEST_OBJECT, LONGEST_NAME, LONGEST_NOTE, LONGEST_TEXT, LONGEST_URL, Metadata
from hibernaut.schemas.memory.block import BlockUpdate, CreateBlock
from hibernaut.schemas.runs.send import LettaAsyncRequest, LettaStreamingRequest
from tests.support.api_description import api_description

DOCUMENT = api_description()
STORED = (
    "agents",
    "archives",
    "blocks",
    "conversations",
    "folders",
    "groups",
    "identities",
    "messages",
    "passages",
    "sandbox-config",
    "sources",
    "steps",
    "tools",
)
"""Resources whose records a caller writes."""
NOT_OF_A_RECORD = {
    "AgentMessageSearch": "a search",
    "CancelRequest": "names of runs",
    "CapturedMessage": "messages",
    "CompactionRequest": "a request about a window",
    "DirectRequest": "a request about a window",
    "GenerateSchema": "an answer alone",
    "MessageSearch": "a search",
    "PassageSearch": "a search",
    "SearchTools": "a search",
    "ToolRunFromSource": "a run, of which nothing is stored",
    "ToolRunRequest": "a run, of which nothing is stored",
}


OF_ANY_SIZE = {"messages", "input", "content", "approvals", "tool_returns"}
"""What people and tools say, in requests that send messages: the log holds each in an item of its own, or in a blob, and a body
has a limit.
"""


def bodies() -> Iterator[tuple[str, JsonObject]]:
    """The JSON bodies of requests that write a record, each with its route."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if content is not None and method in ("post", "put", "patch") and path.split("/")[2] in STORED:
                yield f"{method} {path}", content["schema"]


def unlimited(schema: JsonObject, path: str, inside: frozenset[str] = frozenset()) -> Iterator[str]:
    """The fields that may be of any size, by the path to them."""
    if {"maxLength", "x-max-bytes", "enum", "const", "pattern"} & schema.keys() or schema.get("format") == "date-time":
        return
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        if name not in NOT_OF_A_RECORD and name not in inside:
            yield from unlimited(DOCUMENT["components"]["schemas"][name], path, inside | {name})
        return
    if schema.get("items", {}).get("$ref", "").rpartition("/")[2] in NOT_OF_A_RECORD:
        return
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from unlimited(choice, path, inside)
    kind = schema.get("type")
    if kind == "string" or (kind == "array" and "maxItems" not in schema) or (kind == "object" and "properties" not in schema):
        yield path
    for name, field in schema.get("properties", {}).items():
        if name in OF_ANY_SIZE:
            continue
        yield from unlimited(field, f"{path}.{name}", inside)
    if kind == "array" and "maxItems" in schema:
        yield from unlimited(schema.get("items", {}), f"{path}[]", inside)


def test_every_free_form_field_of_a_stored_record_has_a_limit() -> None:
    found = {path for route, schema in bodies() for path in unlimited(schema, route)}
    assert sorted(found) == []
    assert len(list(bodies())) > 20


def test_a_field_without_a_limit_is_found() -> None:
    for schema in ({"type": "string"}, {"type": "object"}, {"type": "array", "items": {}}, {"anyOf": [{"type": "string"}]}):
        assert list(unlimited({"type": "object", "properties": {"a": schema}}, "x")) == ["x.a"]


def test_what_is_exempt_is_a_body_of_the_api() -> None:
    assert NOT_OF_A_RECORD.keys() <= DOCUMENT["components"]["schemas"].keys()


@pytest.mark.parametrize("size", [LARGEST_OBJECT, LARGEST_OBJECT + 1])
def test_metadata_is_measured_as_json(size: int) -> None:
    value = {"a": "é" * ((size - 8) // 2) + "x" * (size % 2)}
    adapter: TypeAdapter[Json] = TypeAdapter(Metadata)
    if size <= LARGEST_OBJECT:
        assert adapter.validate_python(value) == value
    else:
        with pytest.raises(ValidationError, match=f"at most {LARGEST_OBJECT} are allowed"):
            adapter.validate_python(value)


@pytest.mark.parametrize(
    ("model", "field", "largest"),
    [
        (CreateAgentRequest, "metadata", {"a": "x" * (LARGEST_OBJECT - 8)}),
        (CreateAgentRequest, "name", "x" * LONGEST_NAME),
        (UpdateAgent, "system", "x" * LONGEST_TEXT),
        (UpdateAgent, "description", "x" * LONGEST_NOTE),
        (LettaStreamingRequest, "override_model", "x" * LONGEST_NAME),
        (LettaStreamingRequest, "override_system", "x" * LONGEST_TEXT),
        (LettaAsyncRequest, "callback_url", "x" * LONGEST_URL),
        (BlockUpdate, "value", "x" * LONGEST_TEXT),
        (CreateBlock, "tags", ["x" * (LARGEST_OBJECT - 4)]),
    ],
)
def test_a_field_at_its_limit_is_taken_and_one_beyond_it_is_refused(model: type, field: str, largest: Json) -> None:
    required = {"label": "a", "value": "b"} if model is CreateBlock else {}
    assert getattr(model.model_validate(required | {field: largest}), field) == largest
    beyond = (
        largest + "x" if isinstance(largest, str) else {"a": largest["a"] + "x"} if isinstance(largest, dict) else [*largest, "x"]
    )
    with pytest.raises(ValidationError, match=field):
        model.model_validate(required | {field: beyond})
