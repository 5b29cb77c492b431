"""How much a model sees and writes: the data file `context_windows.json`, and what is said where it knows nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files

from hibernaut.schemas.llm_config import ModelDescription

UNKNOWN_WINDOW = 32_000


@dataclass(frozen=True, slots=True)
class Limits:
    """In tokens; `output` None: not known."""

    window: int
    output: int | None = None


class ContextWindows:
    """The data file, read once by whoever makes this."""

    def __init__(self) -> None:
        text = files(__package__).joinpath("context_windows.json").read_text(encoding="utf-8")
        self._known: dict[str, Limits] = {name: Limits(**entry) for name, entry in json.loads(text)["models"].items()}

    def of(self, model: str) -> Limits:
        """The limits of a model by its name, a leading organisation (`meta-llama/…`) left aside; else 32k."""
        name = model.rpartition("/")[2].lower()
        fits = [beginning for beginning in self._known if name.startswith(beginning)]
        return self._known[max(fits, key=len)] if fits else Limits(UNKNOWN_WINDOW)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a provider's models answer: what all rows of its list share. `name` begins the handle, `kind` is the wire format."""

    name: str
    kind: str
    endpoint: str

    def model(self, model: str, limits: Limits, display_name: str | None = None) -> ModelDescription:
        """A row of the list of models. Parallel calls are left open (null): settings decide."""
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
