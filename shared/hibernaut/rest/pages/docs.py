"""The page at /docs, rendered from the OpenAPI description. It loads no other resource, so it works without a network.

Knows the shape of an OpenAPI document; must not know any route.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape

from hibernaut.schemas.base import Json, JsonObject

METHODS = ("get", "post", "put", "patch", "delete")

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code { font-family: ui-monospace, monospace; }
details { border-top: 1px solid color-mix(in srgb, currentColor 20%, transparent); padding: .35rem 0; }
summary { cursor: pointer; }
.method { display: inline-block; min-width: 4.5rem; font-weight: 600; }
table { border-collapse: collapse; margin: .5rem 0 .5rem 1rem; }
td { padding: .1rem 1rem .1rem 0; vertical-align: top; }
"""

_STYLE_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""The page's Content-Security-Policy: it permits the page's own style only, even if a description contains markup."""


def page(document: JsonObject) -> str:
    """The whole page as HTML."""
    info = document["info"]
    sections = "\n".join(_section(tag, rows) for tag, rows in sorted(_by_tag(document).items()))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{escape(info['title'])} <small>{escape(info['version'])}</small></h1>"
        f"<p>{escape(info.get('description', ''))}</p>"
        '<p>The whole description, for generators and other readers: <a href="openapi.json">openapi.json</a>.</p>'
        f"{sections}</body></html>"
    )


def _by_tag(document: JsonObject) -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {}
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                operation = item[method]
                tag = (operation.get("tags") or ["other"])[0]
                sections.setdefault(tag, []).append(_operation(method, path, operation))
    return sections


def _section(tag: str, operations: list[str]) -> str:
    return f"<h2>{escape(tag)}</h2>{''.join(operations)}"


def _operation(method: str, path: str, operation: JsonObject) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(kind)}</td><td>{escape(text)}</td></tr>"
        for name, kind, text in _inputs(operation)
    )
    return (
        f'<details><summary><span class="method">{method.upper()}</span><code>{escape(path)}</code></summary>'
        f"<p>{escape(operation.get('description') or operation.get('summary', ''))}</p><table>{rows}</table></details>"
    )


def _inputs(operation: JsonObject) -> Iterator[tuple[str, str, str]]:
    """Name, kind and meaning of each parameter of a request and of its body."""
    for parameter in operation.get("parameters", []):
        kind = f"{parameter['in']}{', required' if parameter.get('required') else ''}"
        yield parameter["name"], kind, f"{_kind(parameter.get('schema', {}))} {parameter.get('description', '')}"
    for media in operation.get("requestBody", {}).get("content", {}):
        yield "body", media, _kind(operation["requestBody"]["content"][media].get("schema", {}))


def _kind(schema: Json) -> str:
    """A short name of a schema, such as `list of string`."""
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[1]
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return " or ".join(_kind(part) for part in schema[word])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(schema.get("type", "any"))
