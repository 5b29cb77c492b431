"""Ollama's models with the windows that Ollama really reads, by its own routes.

The compatible route takes no window and cuts a longer prompt silently. A loaded model has the window that `/api/ps` tells,
another one the `num_ctx` of its parameters, or else Ollama's default (docs.ollama.com/context-length, /api/ps, /api/show).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from hibernaut.adapters.model.wire.provider_client import ProviderCall
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import ModelConnection, ModelError, ModelTimeout

LIST_SECONDS = 5.0
LEAST_DEFAULT = 4096
"""Tokens: Ollama's default below 24 GiB of video memory. Its routes do not tell the default, so the least one is assumed."""
MOST_QUERIED = 100
"""The number of models with a separate query; further models count as models with the default window."""
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)\s*$", re.MULTILINE)
logger = logging.getLogger(__name__)


def ollama_rows(call: ProviderCall) -> list[JsonObject]:
    """The models as rows of a list: `id`, `context_length`, `type` where it is an embedding model, `trained`, the window that the
    model could have, and `assumed`: the window is Ollama's least default. `call` goes to Ollama's root. Raises: ModelError if
    Ollama cannot be reached.
    """
    names = [name for row in _models(_get(call, "/api/tags")) if (name := _name(row))]
    loaded = {_name(row): window for row in _models(_optional(call, "/api/ps")) if (window := _count(row.get("context_length")))}
    facts: dict[str, JsonObject] = {}
    with suppress(ModelTimeout, ModelConnection):  # a server that does not answer is not asked about each further model
        for name in names[:MOST_QUERIED]:
            facts[name] = _show(call, name)
    return [_row(name, loaded, facts.get(name, {})) for name in names]


def warn_of_windows(provider: str, rows: Sequence[JsonObject]) -> bool:
    """Log the models whose windows Ollama limits, and the setting to change. False: there are none."""
    cut = {row["id"]: row["context_length"] for row in rows if row["trained"] and row["context_length"] < row["trained"]}
    if cut:
        windows = ", ".join(f"{name} ({window})" for name, window in list(cut.items())[:5])
        advice = "set OLLAMA_CONTEXT_LENGTH for Ollama, or num_ctx in the model's Modelfile, and load the model"
        logger.warning(
            "windows of models are limited by their server",
            extra={"provider": provider, "models": len(cut), "windows": windows, "advice": advice},
        )
    return bool(cut)


def _row(name: str, loaded: Mapping[str, int], facts: JsonObject) -> JsonObject:
    trained = _trained(facts.get("model_info"))
    parameters = facts.get("parameters")
    own = _NUM_CTX.search(parameters) if isinstance(parameters, str) else None
    known = loaded.get(name) or (int(own[1]) if own else 0)
    window = known or LEAST_DEFAULT
    capabilities = facts.get("capabilities")
    embeds = isinstance(capabilities, list) and "embedding" in capabilities and "completion" not in capabilities
    return {
        "id": name,
        "context_length": min(window, trained or window),
        "trained": trained,
        "assumed": not known and (trained is None or trained > LEAST_DEFAULT),
        **({"type": "embedding"} if embeds else {}),
    }


def _trained(info: Json) -> int | None:
    """The member `<architecture>.context_length`."""
    counts = info.items() if isinstance(info, dict) else ()
    return next((_count(value) for name, value in counts if name.endswith(".context_length")), None)


def _show(call: ProviderCall, name: str) -> JsonObject:
    """What Ollama says of a model; empty if it refuses to. Raises: ModelTimeout, ModelConnection."""
    try:
        with call.post("/api/show", {"model": name}, LIST_SECONDS) as answer:
            return answer.body()
    except (ModelTimeout, ModelConnection):
        raise
    except ModelError:
        return {}


def _optional(call: ProviderCall, path: str) -> Json:
    try:
        return _get(call, path)
    except ModelError:
        return None


def _get(call: ProviderCall, path: str) -> Json:
    with call.get(path, LIST_SECONDS) as answer:
        return answer.json()


def _models(body: Json) -> list[JsonObject]:
    rows = body.get("models") or body.get("data") if isinstance(body, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _name(row: JsonObject) -> str:
    name = row.get("model") or row.get("name") or row.get("id")
    return name if isinstance(name, str) else ""


def _count(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
