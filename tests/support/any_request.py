"""Requests for any route of an OpenAPI document, most of them wrong: what its schemas ask for, with nonsense strewn in.

    requests(document, operation, things)    a hypothesis strategy of `Sent`

`things` are what there is to be named: parameter name → id. Knows OpenAPI; must not know any route.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

MARK = "sesame"
"""Stands in every longer text, so that a log that repeats one is found out."""
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
NONSENSE = st.one_of(st.sampled_from(SHAPES), st.sampled_from(TEXTS), st.sampled_from(NUMBERS + WHOLE), st.sampled_from(TIMES))
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
"""Objects and lists within each other, in what fits."""
METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    described: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.path}"


@dataclass(frozen=True, slots=True)
class Sent:
    """A request. `content` None: without a body; `content_type` goes with it."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    content: bytes | None = None
    content_type: str = "application/json"


def inputs(document: Mapping[str, Any], operation: Operation) -> int:
    """How many things a request may carry, but for those within others."""
    counted = len(operation.described.get("parameters", []))
    for media in operation.described.get("requestBody", {}).get("content", {}).values():
        parts = [part for word in ("anyOf", "oneOf") for part in media["schema"].get(word, [])] or [media["schema"]]
        named = [document["components"]["schemas"][part["$ref"].rsplit("/", 1)[1]] for part in parts if "$ref" in part]
        counted += sum(len(schema.get("properties", {})) for schema in named)
    return counted


def operations(document: Mapping[str, Any]) -> Iterator[Operation]:
    """All of them; what deletes comes last."""
    found = [Operation(m, path, item[m]) for path, item in document["paths"].items() for m in METHODS if m in item]
    yield from sorted(found, key=lambda operation: operation.method == "delete")


@st.composite
def requests(draw: st.DrawFn, document: Mapping[str, Any], operation: Operation, things: Mapping[str, str]) -> Sent:
    """A request in which most is as it should be, or nothing."""
    schemas = _Schemas(document, things)
    path, query = operation.path, []
    for parameter in operation.described.get("parameters", []):
        name = parameter["name"]
        if parameter["in"] == "path":
            value = draw(st.just(things.get(name)) | st.sampled_from(TEXTS)) if draw(_SELDOM) else things.get(name)
            path = path.replace(f"{{{name}}}", quote(value or MARK, safe="%"))
        elif parameter["in"] == "query" and (parameter.get("required") or draw(_OFTEN)):
            value = draw(NONSENSE) if draw(_OFTEN) else draw(schemas.fitting(parameter["schema"], name))
            query += [(name, _text(part)) for part in (value if isinstance(value, list) else [value])[:50]]
    media = operation.described.get("requestBody", {}).get("content", {})
    content, kind = draw(_body(schemas, media)) if media else (None, "application/json")
    return Sent(operation.method.upper(), path, tuple(query), content, kind)


_SELDOM = st.integers(0, 5).map(lambda drawn: drawn == 5)
_OFTEN = st.booleans()
_TEXT = st.sampled_from(TEXTS)


@st.composite
def _body(draw: st.DrawFn, schemas: _Schemas, media: Mapping[str, Any]) -> tuple[bytes | None, str]:
    kind = next(iter(media))
    if draw(_SELDOM):
        return draw(st.sampled_from(BROKEN) | st.none()), draw(st.sampled_from(TYPES))
    if kind != "application/json":
        return draw(_form())
    value = draw(schemas.fitting(media[kind]["schema"], "", wrong=True))
    content = json.dumps(value).encode()
    return (content[: draw(st.integers(0, len(content)))] if draw(_SELDOM) else content), kind


@st.composite
def _form(draw: st.DrawFn) -> tuple[bytes, str]:
    """A file in a form, whole or cut off."""
    field, name = (
        draw(st.sampled_from(["file", "files", ""])),
        draw(st.sampled_from([*TEXTS, "a.txt", "a.pdf", "a.docx", "a.json", "a.exe"])),
    )
    of_file = draw(st.sampled_from([b"", b"\x00", b"\xff\xfea\x00", b"%PDF-1.4", b"PK\x03\x04", MARK.encode()]))
    head = f'--x\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n\r\n'.encode("utf-8", "surrogatepass")
    content = head + of_file + b"\r\n--x--\r\n"
    return content[: draw(st.integers(0, len(content)))] if draw(_SELDOM) else content, "multipart/form-data; boundary=x"


class _Schemas:
    """Values for schemas."""

    def __init__(self, document: Mapping[str, Any], things: Mapping[str, str]) -> None:
        self._named = document.get("components", {}).get("schemas", {})
        self._things = things

    def fitting(self, schema: Mapping[str, Any], name: str, depth: int = 0, *, wrong: bool = False) -> st.SearchStrategy[Any]:
        """What fits the schema; `wrong`: but for a part of it, here and there."""
        while "$ref" in schema:
            schema = self._named[schema["$ref"].rsplit("/", 1)[1]]
        if choices := [part for word in ("anyOf", "oneOf", "allOf") for part in schema.get(word, [])]:
            return st.one_of([self.fitting(part, name, depth, wrong=wrong) for part in choices])
        if "const" in schema or "enum" in schema:
            return st.sampled_from([schema["const"]] if "const" in schema else schema["enum"])
        match schema.get("type"):
            case "object":
                return _fields(self, schema, depth + 1, wrong) if depth < DEEPEST else st.just({})
            case "array":
                parts = self.fitting(schema.get("items", {}), name.removesuffix("s"), depth + 1, wrong=wrong)
                return st.lists(parts, max_size=2) if depth < DEEPEST else st.just([])
            case kind:
                return self._plain(str(kind), name, schema.get("format", ""))

    def _plain(self, kind: str, name: str, form: str) -> st.SearchStrategy[Any]:
        """The extremes of a kind fit it as well."""
        known: dict[str, st.SearchStrategy[Any]] = {
            "integer": st.sampled_from(WHOLE),
            "number": st.sampled_from([1, 0.5, 0, -1, 1e308, "nan", "-inf"]),
            "boolean": st.booleans(),
            "string": st.sampled_from(TIMES) if "date" in form else st.sampled_from([self._things.get(name, MARK), MARK]) | _TEXT,
        }
        return known.get(kind, st.none())


@st.composite
def _fields(draw: st.DrawFn, schemas: _Schemas, schema: Mapping[str, Any], depth: int, wrong: bool) -> dict[str, Any]:
    """An object: what is required, and some of what is not."""
    properties = schema.get("properties", {})
    more = draw(st.lists(st.sampled_from(sorted(properties)), max_size=4)) if properties else []
    made: dict[str, Any] = {}
    for name in sorted({*schema.get("required", []), *more}):
        if wrong and draw(_SELDOM):
            made[name] = draw(NONSENSE)
        elif name in properties:
            made[name] = draw(schemas.fitting(properties[name], name, depth, wrong=wrong))
    return made


def _text(value: object) -> str:
    return (value if isinstance(value, str) else str(value)).encode("utf-8", "replace").decode()[:2000]
