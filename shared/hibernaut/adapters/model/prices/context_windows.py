"""The limits of known models, from the data file `context_windows.json`, and the defaults for unknown ones.

`tools/price_list.py` writes the file from a public price list and a few figures of our own. What a provider reports about its
models takes precedence over it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.resources import files

from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.models.llm_config import ModelDescription

UNKNOWN_WINDOW = 32_000
_VENDOR = re.compile(r"^(?:[a-z][a-z-]*\.)+(?=[a-z])")
"""What Bedrock writes before a name: the region of an inference profile and the vendor (`us.anthropic.`)."""
_VERSION = re.compile(r"(?<=[a-z])-(?=\d)")


@immutable
class Limits:
    """A model's limits in tokens; `output` None: unknown."""

    window: int
    output: int | None = None


class ContextWindows:
    """The data file, read once by the constructor."""

    def __init__(self) -> None:
        content = json.loads(files(__package__).joinpath("context_windows.json").read_text(encoding="utf-8"))
        self._windows: dict[str, int] = content["windows"]
        self._outputs: dict[str, int] = content["outputs"]

    def of(self, model: str) -> Limits:
        """The limits of a model by the longest known prefix of its bare name; 32k if unknown."""
        name = bare_name(model)
        window = _longest(self._windows, name)
        return Limits(UNKNOWN_WINDOW if window is None else window, _longest(self._outputs, name))


def bare_name(model: str) -> str:
    """A model's name without parts that differ between servers.

    It omits an organisation (`meta-llama/…`), Bedrock's region and vendor (`us.anthropic.…`), and the hyphen before
    a version (`llama-3.1` and Ollama's `llama3.1` are one name); the colon before Ollama's tag becomes a hyphen.
    """
    name = _VENDOR.sub("", model.rpartition("/")[2].lower())
    return _VERSION.sub("", name.replace(":", "-"))


def _longest(figures: Mapping[str, int], name: str) -> int | None:
    beginnings = (name[:length] for length in range(len(name), 0, -1))
    return next((figures[beginning] for beginning in beginnings if beginning in figures), None)


@immutable
class ProviderPlace:
    """The address of a provider's models, and the fields that all rows of its list share. `name` is the first part of the handle,
    `kind` the wire format.
    """

    name: str
    kind: str
    endpoint: str

    def model(self, model: str, limits: Limits, display_name: str | None = None) -> ModelDescription:
        """A row of the list of models. Parallel calls are null: the settings decide."""
        return ModelDescription(
            model=model,
            name=model,
            display_name=display_name or model,
            handle=f"{self.name}/{model}",
            model_endpoint_type=self.kind,
            model_endpoint=self.endpoint,
            provider_name=self.name,
            provider_type=self.kind,
            provider_category="base",
            context_window=limits.window,
            max_context_window=limits.window,
            max_tokens=limits.output,
            parallel_tool_calls=None,
        )
