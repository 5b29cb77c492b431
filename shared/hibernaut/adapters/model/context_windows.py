"""The limits of known models, from the data file `context_windows.json`, and the defaults for unknown ones."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files

from hibernaut.schemas.llm_config import ModelDescription

UNKNOWN_WINDOW = 32_000


@dataclass(frozen=True, slots=True)
class Limits:
    """A model's limits in tokens; `output` None: unknown."""

    window: int
    output: int | None = None


class ContextWindows:
    """The data file, read once by the constructor."""

    def __init__(self) -> None:
        text = files(__package__).joinpath("context_windows.json").read_text(encoding="utf-8")
        self._known: dict[str, Limits] = {name: Limits(**entry) for name, entry in json.loads(text)["models"].items()}

    def of(self, model: str) -> Limits:
        """The limits of a model by its name, ignoring an organisation before it (`meta-llama/…`); 32k if unknown."""
        name = model.rpartition("/")[2].lower()
        fits = [beginning for beginning in self._known if name.startswith(beginning)]
        return self._known[max(fits, key=len)] if fits else Limits(UNKNOWN_WINDOW)


@dataclass(frozen=True, slots=True)
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
