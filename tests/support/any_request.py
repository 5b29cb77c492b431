"""Random requests for any route of an OpenAPI document, most of them invalid: values of its schemas, mixed with nonsense.

    Requests(document, things).any(operation, Random(seed))    a `Sent`

`things`: the ids of existing resources by parameter name. Knows OpenAPI; must not know any route.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import quote

MARK = "sesame"
"""A marker in every longer text, by which a test finds a text that a log repeats."""
NIL = "00000000-0000-4000-8000-000000000000"
TIMES = (
    "2024-01-01T00:00:00Z",
    "2024-01-01",
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "0",
)
TEXTS = (
    *(
        "",
        " ",
        "\x00",
        "#",
        "|",
        "$",
        "\n",
        "/",
        "..",
        "null",
        "{}",
        "default",
        "é\u202e日本",
        "a#b|c\x00d",
        "nan",
        "-inf",
        "9" * 400,
    ),
    *(f"{kind}-{NIL}" for kind in ("agent", "message", "run", "block", "source", "tool", "conv", "passage")),
    *("../../etc/passwd", f"{MARK} " * 3, MARK * 2000, "%ff%fe", "\\ud800", "0000-00-00", "2020-13-45"),
)
WHOLE = (1, 0, 3, 50, 100_000, -1, 2**31, 2**62, "9" * 400)
NUMBERS = (1.5, 2**63, 10**30, 10**400, -(10**30), float("nan"), float("inf"), 1e308)
DEEP: Any = json.loads("[" * 300 + "]" * 300)
SHAPES: tuple[Any, ...] = (
    None,
    True,
    [],
    {},
    [None],
    [[]],
    {"": 1},
    {"a": {"b": None}},
    ["a"] * 300,
    ["", "#", "|"],
    DEEP,
    DEEP[0],
    "\ud800",
)
NONSENSE = (SHAPES, TEXTS, NUMBERS, WHOLE, TIMES)
BROKEN = (
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe",
    b'{"a": "\xed\xa0\x80"}',
    b"[" * 10_000,
    b'{"a":' * 10_000,
    b"9" * 5000,
    b"\xef\xbb\xbf{}",
)
TYPES = (
    "application/json",
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "multipart/form-data; boundary=x",
    "?",
)
DEEPEST = 4
"""Largest nesting of valid values."""
JSON = "application/json"
METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    described: Mapping[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.path}"


@dataclass(frozen=True, slots=True)
class Sent:
    """A request. `content` None: it has no body. `content_type`: the type of the body."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    content: bytes | None = None
    content_type: str = "application/json"


def inputs(document: Mapping[str, Any], operation: Operation) -> int:
    """The number of parameters and top-level fields of a request."""
    counted = len(operation.described.get("parameters", []))
    for media in operation.described.get("requestBody", {}).get("content", {}).values():
        parts = [part for word in ("anyOf", "oneOf") for part in media["schema"].get(word, [])] or [media["schema"]]
        named = [document["components"]["schemas"][part["$ref"].rsplit("/", 1)[1]] for part in parts if "$ref" in part]
        counted += sum(len(schema.get("properties", {})) for schema in named)
    return counted


def operations(document: Mapping[str, Any]) -> Iterator[Operation]:
    """All operations; those that delete come last."""
    found = [Operation(m, path, item[m]) for path, item in document["paths"].items() for m in METHODS if m in item]
    yield from sorted(found, key=lambda operation: operation.method == "delete")


class Requests:
    """Requests that are mostly valid, or not at all. The same `Random` gives the same requests."""

    def __init__(self, document: Mapping[str, Any], things: Mapping[str, str]) -> None:
        self._named = document.get("components", {}).get("schemas", {})
        self._things = things

    def any(self, operation: Operation, chance: Random) -> Sent:
        path, query = operation.path, []
        for parameter in operation.described.get("parameters", []):
            name, schema = parameter["name"], parameter["schema"]
            if parameter["in"] == "path":
                value = chance.choice(TEXTS) if chance.random() < 0.1 else self._things.get(name, "")
                path = path.replace(f"{{{name}}}", quote(value or MARK, safe="%"))
            elif parameter["in"] == "query" and (parameter.get("required") or chance.random() < 0.4):
                value = nonsense(chance) if chance.random() < 0.2 else self._fitting(schema, name, chance)
                query += [(name, _text(part)) for part in (value if isinstance(value, list) else [value])[:50]]
        media = operation.described.get("requestBody", {}).get("content", {})
        content, kind = self._body(media, chance) if media else (None, JSON)
        return Sent(operation.method.upper(), path, tuple(query), content, kind)

    def _body(self, media: Mapping[str, Any], chance: Random) -> tuple[bytes | None, str]:
        kind = next(iter(media))
        if chance.random() < 0.1:
            return chance.choice([*BROKEN, None]), chance.choice(TYPES)
        if kind != JSON:
            content, kind = _form(chance), "multipart/form-data; boundary=x"
        else:
            content = json.dumps(self._fitting(media[kind]["schema"], "", chance, wrong=chance.choice([0, 0.05, 0.3]))).encode()
        return content[: chance.randrange(len(content) + 1)] if chance.random() < 0.05 else content, kind

    def _fitting(self, schema: Mapping[str, Any], name: str, chance: Random, depth: int = 0, *, wrong: float = 0) -> Any:
        """A value of the schema. `wrong`: the probability with which a part of it is invalid."""
        while "$ref" in schema:
            schema = self._named[schema["$ref"].rsplit("/", 1)[1]]
        if choices := [part for word in ("anyOf", "oneOf", "allOf") for part in schema.get(word, [])]:
            told = [part for part in choices if part.get("type") != "null"] if chance.random() < 0.8 else choices
            return self._fitting(chance.choice(told or choices), name, chance, depth, wrong=wrong)
        if "const" in schema or "enum" in schema:
            return chance.choice([schema["const"]] if "const" in schema else schema["enum"])
        match schema.get("type"):
            case "object":
                return self._fields(schema, chance, depth + 1, wrong=wrong) if depth < DEEPEST else {}
            case "array":
                items = schema.get("items", {})
                return [self._fitting(items, name[:-1], chance, depth + 1, wrong=wrong) for _ in range(chance.randrange(3))]
            case kind:
                return self._plain(str(kind), name, schema.get("format", ""), chance)

    def _fields(self, schema: Mapping[str, Any], chance: Random, depth: int, *, wrong: float) -> dict[str, Any]:
        properties, required = schema.get("properties", {}), schema.get("required", [])
        share = min(1.0, 6 / len(properties)) if properties else 0
        chosen = [name for name in properties if name in required or chance.random() < share]
        return {
            name: nonsense(chance)
            if chance.random() < wrong
            else self._fitting(properties[name], name, chance, depth, wrong=wrong)
            for name in chosen
        }

    def _plain(self, kind: str, name: str, form: str, chance: Random) -> Any:
        """A scalar of the type, also from the ends of its range."""
        match kind:
            case "integer":
                return chance.choice(WHOLE)
            case "number":
                return chance.choice([1, 0.5, 0, -1, 1e308, "nan", "-inf"])
            case "boolean":
                return chance.random() < 0.5
            case "string" if "date" in form:
                return chance.choice(TIMES)
            case "string":
                return chance.choice(TEXTS) if chance.random() < 0.3 else self._things.get(name, MARK)
            case _:
                return None


def nonsense(chance: Random) -> Any:
    return chance.choice(chance.choice(NONSENSE))


def _form(chance: Random) -> bytes:
    """A multipart form with a file."""
    field_, name = chance.choice(["file", "file", ""]), chance.choice([*TEXTS, "a.txt", "a.pdf", "a.docx", "a.json", "a.exe"])
    data = chance.choice([b"", b"\x00", b"\xff\xfea\x00", b"%PDF-1.4", b"PK\x03\x04", MARK.encode()])
    head = f'--x\r\nContent-Disposition: form-data; name="{field_}"; filename="{name}"\r\n\r\n'
    return head.encode() + data + b"\r\n--x--\r\n"


def _text(value: object) -> str:
    return (value if isinstance(value, str) else str(value)).encode("utf-8", "replace").decode()[:2000]
