"""The setting `bedrockModels`: the ids of models and inference profiles that a deployment may invoke. Plain values."""

from __future__ import annotations

import re

DEFAULT_MODELS = ("global.anthropic.claude-haiku-5-5",)
"""The cheapest Claude of its generation, by a profile that exists in every commercial region and routes to any of them."""
GEOGRAPHIES = frozenset({"apac", "au", "ca", "eu", "global", "jp", "us", "us-gov"})
"""What precedes the model in the id of an inference profile
(docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html).
"""
_ID = re.compile(r"(?:[a-z0-9-]+\.)?[a-z0-9-]+\.[A-Za-z0-9.:*-]+")


def foundation_model(model: str) -> str:
    """The id of the model that a profile routes to; of a model itself, its own."""
    geography, _, rest = model.partition(".")
    return rest if geography in GEOGRAPHIES else model


def models_in(text: str | None) -> tuple[str, ...]:
    """The ids in a list that is separated by commas. None: the default; `none`: no model. Raises: ValueError."""
    if text is None:
        return DEFAULT_MODELS
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if names == ("none",):
        return ()
    for name in names:
        if not _ID.fullmatch(name) or "*" in foundation_model(name).partition(".")[0]:
            raise ValueError(
                f"bedrockModels must be none, or ids like {DEFAULT_MODELS[0]} separated by commas, with * only behind the vendor; not {name!r}"
            )
    if not names:
        raise ValueError("bedrockModels must not be empty; for no model of Bedrock set it to none")
    return names


def default_handle(models: tuple[str, ...]) -> str | None:
    """The handle of the first model that is named in full."""
    return next((f"bedrock/{model}" for model in models if "*" not in model), None)
