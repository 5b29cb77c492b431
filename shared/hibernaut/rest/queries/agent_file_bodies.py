"""Reads the body of an import: a form with a file, or JSON; and the agent file in it.

The fields of the form have a newer and a deprecated name each (Letta V1 API, API 2.2). A JSON body is the agent file itself,
or an object with the file under `file`, or the id of an upload under `upload_id`, and the options beside it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Callable
from functools import cached_property
from typing import IO, Annotated

from fastapi import Depends, HTTPException, Request
from pydantic import ValidationError
from starlette.datastructures import UploadFile

from hibernaut.rest.http.strict_json import read
from hibernaut.schemas.agents.agent_file import LARGEST_FILE, ImportOptions
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import InvalidArgument, PayloadTooLarge

DEPRECATED = {
    "override_name": "name",
    "override_model_handle": "model",
    "override_embedding_handle": "embedding",
    "x-override-embedding-model": "embedding",
    "env_vars_json": "secrets",
}
"""Older names of options."""
MOST_VALUES = 4_000_000
"""The largest number of commas and brackets outside of the strings of a file. It has far more values than other requests."""
DEEPEST = 3
"""The largest number of times that a file may be JSON text within a JSON text."""
BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "name": {"type": "string"},
                        "model": {"type": "string"},
                        "embedding": {"type": "string"},
                        "secrets": {"type": "string", "description": "A JSON object of names and values."},
                        "override_existing_tools": {"type": "boolean", "default": True},
                        "strip_messages": {"type": "boolean", "default": False},
                        "append_copy_suffix": {"type": "boolean", "default": True},
                        "keep_ids": {"type": "boolean", "default": False},
                        "project_id": {"type": "string"},
                        "override_name": {"type": "string", "deprecated": True},
                        "override_model_handle": {"type": "string", "deprecated": True},
                        "override_embedding_handle": {"type": "string", "deprecated": True},
                        "env_vars_json": {"type": "string", "deprecated": True},
                    },
                }
            },
            "application/json": {"schema": {"type": "object", "x-max-bytes": LARGEST_FILE}},
        },
    }
}
"""The description of the body for the OpenAPI document: the route reads it itself."""


class ImportBody:
    """The body of an import. It is parsed on the thread that serves the request, because a large file takes time."""

    def __init__(self, data: bytes | IO[bytes], fields: JsonObject | None, retry: int) -> None:
        """`fields`: the fields of a form; None: the body is JSON. `retry`: the number of earlier attempts by the client."""
        self._body = data
        self._fields = fields
        self.retry = retry

    @cached_property
    def _data(self) -> bytes:
        return self._body if isinstance(self._body, bytes) else self._body.read()

    @property
    def digest(self) -> str:
        """Equal for a repeated request, whatever separates the parts of its form."""
        fields = json.dumps(self._fields, sort_keys=True).encode("utf-8", "surrogatepass")
        return hashlib.sha256(b"\0".join([fields, self._data])).hexdigest()

    def parsed(self, uploaded: Callable[[str], bytes]) -> tuple[Json, ImportOptions, bool]:
        """The file's document, the options, and whether the file was JSON text within a JSON text. `uploaded` returns the bytes
        of an upload.

        Raises: InvalidArgument, PayloadTooLarge, and what `uploaded` raises.
        """
        value, repaired = read_agent_file(self._data)
        if self._fields is not None:
            return value, options_of(self._fields), repaired
        if not isinstance(value, dict) or not {"file", "upload_id"} & value.keys() or "agents" in value:
            return value, ImportOptions(), repaired
        options = options_of({name: one for name, one in value.items() if name not in ("file", "upload_id")})
        if isinstance(upload_id := value.get("upload_id"), str):
            document, repaired = read_agent_file(uploaded(upload_id))
            return document, options, repaired
        document = value.get("file")
        if not isinstance(document, str):
            return document, options, repaired
        document, _ = read_agent_file(document.encode("utf-8", "surrogatepass"))
        return document, options, True


def read_agent_file(data: bytes) -> tuple[Json, bool]:
    """The value of a file, and whether it was JSON text within a JSON text. Raises: InvalidArgument, PayloadTooLarge."""
    for depth in range(DEEPEST + 1):
        try:
            value = read(data.removeprefix(b"\xef\xbb\xbf"), most=MOST_VALUES)
        except json.JSONDecodeError as error:
            raise InvalidArgument(
                f"Corrupted agent file format. It is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
            ) from None
        except HTTPException as error:
            if error.status_code == 413:
                raise PayloadTooLarge(f"The agent file is too large. {error.detail}") from None
            raise InvalidArgument(f"Corrupted agent file format. {error.detail}") from None
        if not isinstance(value, str):
            return value, depth > 0
        data = value.encode("utf-8", "surrogatepass")
    raise InvalidArgument("Corrupted agent file format. It is a JSON text, not an object.")


def options_of(fields: JsonObject) -> ImportOptions:
    """The options of a form or an object; a newer name has precedence. Raises: InvalidArgument."""
    values = {DEPRECATED[name]: one for name, one in fields.items() if name in DEPRECATED and one not in (None, "")}
    values |= {name: one for name, one in fields.items() if name in ImportOptions.model_fields and one not in (None, "")}
    if isinstance(secrets := values.get("secrets"), str):
        values["secrets"] = _secrets(secrets)
    try:
        return ImportOptions.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise InvalidArgument(f"INVALID_ARGUMENT: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from None


def _secrets(text: str) -> Json:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidArgument("INVALID_ARGUMENT: secrets must be a JSON object of names and values.")
    return value


async def import_body(request: Request) -> AsyncIterator[ImportBody]:
    """The body of an import, by its content type; its file is closed after the request. Raises: InvalidArgument if a form cannot
    be read or has no file.
    """
    count = request.headers.get("x-stainless-retry-count", "0")
    retry = int(count) if count.isdecimal() and len(count) < 4 else 0
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        yield ImportBody(await request.body(), None, retry)
        return
    header = {name: one for name in ("x-override-embedding-model",) if (one := request.headers.get(name))}
    try:
        form = await request.form()
    except UnicodeError:  # some charsets are names of Python's that decode nothing, like `undefined`
        raise InvalidArgument("INVALID_ARGUMENT: The form is not text in the charset of its content type.") from None
    try:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise InvalidArgument("INVALID_ARGUMENT: The form needs the agent file in its field `file`.")
        fields = {name: one for name, one in form.items() if isinstance(one, str)}
        yield ImportBody(file.file, {**header, **fields}, retry)
    finally:
        await form.close()


TheImport = Annotated[ImportBody, Depends(import_body)]
