"""The contract of the state machine and the functions, and the formats of records, as data that two releases can be compared
by.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_type_hints

from pydantic.json_schema import models_json_schema

from functions.events import Heartbeat, Receipt
from hibernaut import store
from hibernaut.ports.runs.workflow import CONTRACT, Next
from hibernaut.schemas.base import Json, JsonObject, Schema
from hibernaut.store.table.bodies.formats import WRITTEN
from tests.infra.reading import texts
from tests.releases.executions import definition

CONTRACT_FILE, RECORDS_FILE = "contract.json", "records.json"
_READ = re.compile(r"(?:codec\.record\(|key = )([A-Z]\w+)(?:,|\.model_validate_json)")
_PATH = re.compile(r"^\$\.\w+")


def contract() -> JsonObject:
    """What the state machine and the functions tell each other. Waits, retries and comments are no part of it."""
    states = json.loads(definition())["States"]
    named = {name: state for name, state in states.items() if state["Type"] == "Task"}
    return {
        "version": CONTRACT,
        "event": {name: str(field.annotation) for name, field in Heartbeat.model_fields.items()},
        "reply": {name: str(kind) for name, kind in get_type_hints(Receipt).items()},
        "next": sorted(get_args(Next)),
        "sent": {name: _sent(state) for name, state in named.items()},
        "read": sorted({path for text in texts(list(states.values())) for path in _PATH.findall(text)}),
        "errors": sorted({error for state in named.values() for error in _errors(state)}),
    }


def _sent(state: JsonObject) -> JsonObject | str:
    if "Parameters" not in state:
        return "the whole state"
    sent: JsonObject = state["Parameters"].get("Payload", state["Parameters"])
    return sent


def _errors(state: JsonObject) -> Iterator[str]:
    for rule in (*state.get("Retry", ()), *state.get("Catch", ())):
        yield from rule["ErrorEquals"]


def records() -> JsonObject:
    """The fields of the records in the table and of their parts, by class, with the version of the items' format."""
    kinds = sorted(stored_kinds(), key=lambda kind: kind.__name__)
    _, document = models_json_schema([(kind, "validation") for kind in kinds])
    return {"version": WRITTEN, "records": {name: _fields(part) for name, part in sorted(document["$defs"].items())}}


def stored_kinds() -> set[type[Schema]]:
    """The classes of the records that the stores read: each `record(Kind, …)` of their sources."""
    modules = [importlib.import_module(found.name) for found in pkgutil.walk_packages(store.__path__, "hibernaut.store.")]
    return {
        getattr(module, name)
        for module in modules
        for name in _READ.findall(Path(str(module.__file__)).read_text(encoding="utf-8"))
    }


def _fields(part: JsonObject) -> JsonObject:
    shapes = {name: _shape(schema) for name, schema in part.get("properties", {}).items()}
    return {"fields": shapes or part.get("enum", []), "required": sorted(part.get("required", ()))}


def breaches(before: JsonObject, now: JsonObject) -> list[str]:
    """Why one of two releases cannot read what the other writes. A new field with a default is no breach, and neither is a new
    class.
    """
    gone = [f"{name} is no record any more" for name in before["records"] if name not in now["records"]]
    both = [(name, old, now["records"][name]) for name, old in before["records"].items() if name in now["records"]]
    return gone + [f"{name}{why}" for name, old, new in both for why in _differences(old, new)]


def _differences(old: JsonObject, new: JsonObject) -> Iterator[str]:
    if not isinstance(old["fields"], dict):
        if old["fields"] != new["fields"]:
            yield ": its values changed"
        return
    for field, schema in old["fields"].items():
        if field not in new["fields"]:
            if field in old["required"]:
                yield f".{field}: the release before needs it"
        elif schema != new["fields"][field]:
            yield f".{field}: its type or default changed"
    yield from (f".{field}: the release before does not write it" for field in sorted({*new["required"]} - {*old["fields"]}))


def _shape(schema: Json) -> Json:
    """A schema without its texts. A default is part of it, because a writer leaves out what a reader fills in
    (`store.table.bodies.codec`).
    """
    match schema:
        case dict():
            return {key: _shape(part) for key, part in schema.items() if key not in ("title", "description", "examples")}
        case list():
            return [_shape(part) for part in schema]
        case _:
            return schema
