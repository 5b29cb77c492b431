"""What an account may invoke on Bedrock in a region: models on demand, and the inference profiles that AWS defines.

Sources: ListFoundationModels and ListInferenceProfiles (botocore, `bedrock`, 2023-04-20). Whether the account was granted a model
is not part of these lists: a model that it was not granted answers AccessDeniedException when it is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from urllib.parse import quote

from hibernaut.adapters.model.prices.context_windows import ContextWindows, Limits, ProviderPlace
from hibernaut.adapters.model.wire.json_fields import as_list, text_of
from hibernaut.adapters.model.wire.provider_client import ProviderCall
from hibernaut.domain.models.anthropic_models import traits_of
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.models.llm_config import ModelDescription

LIST_SECONDS = 5.0
MODELS_PATH = "/foundation-models?byOutputModality=TEXT"
PROFILES_PATH = "/inference-profiles?maxResults=1000&type=SYSTEM_DEFINED"
MOST_PAGES = 20
_OTHER_USES = ("embed", "rerank", "guard")
"""Parts of names of models that write no text for a user, though the list says TEXT."""


class BedrockModelList:
    """The lists, narrowed to ids that match one of `allowed` (`*` stands for any characters; empty: all)."""

    def __init__(self, place: ProviderPlace, windows: ContextWindows, allowed: Sequence[str] = ()) -> None:
        self._place = place
        self._windows = windows
        self._allowed = tuple(allowed)

    def fetch(self, call: ProviderCall) -> list[ModelDescription]:
        """The models by id. Raises: ModelError."""
        with call.get(MODELS_PATH, LIST_SECONDS) as answer:
            rows = [row for row in as_list(answer.body().get("modelSummaries")) if isinstance(row, dict)]
        chats = {text_of(row, "modelId"): row for row in rows if _chats(row)}
        found = {name: text_of(row, "modelName") for name, row in chats.items() if _on_demand(row)}
        for profile in self._profiles(call):
            if _models_of(profile) & chats.keys():
                found[text_of(profile, "inferenceProfileId")] = text_of(profile, "inferenceProfileName")
        return [self._row(name, found[name]) for name in sorted(found) if self._allows(name)]

    def _profiles(self, call: ProviderCall) -> Iterator[JsonObject]:
        path = PROFILES_PATH
        for _ in range(MOST_PAGES):
            with call.get(path, LIST_SECONDS) as answer:
                page = answer.body()
            yield from (row for row in as_list(page.get("inferenceProfileSummaries")) if isinstance(row, dict))
            after = text_of(page, "nextToken")
            if not after:
                return
            path = f"{PROFILES_PATH}&nextToken={quote(after, safe='')}"

    def _allows(self, name: str) -> bool:
        return not self._allowed or any(fnmatchcase(name, pattern) for pattern in self._allowed)

    def _row(self, name: str, title: str) -> ModelDescription:
        limits_of_model, traits = self._windows.of(name), traits_of(name)
        output = (
            min(limits_of_model.output or traits.usual_output, traits.usual_output)
            if "claude" in name
            else limits_of_model.output
        )
        return self._place.model(name, Limits(limits_of_model.window, output), title or None)


def _chats(row: JsonObject) -> bool:
    name = text_of(row, "modelId")
    return "TEXT" in as_list(row.get("inputModalities")) and not any(use in name for use in _OTHER_USES)


def _on_demand(row: JsonObject) -> bool:
    return "ON_DEMAND" in as_list(row.get("inferenceTypesSupported"))


def _models_of(profile: JsonObject) -> set[str]:
    """The ids of the foundation models that a profile routes to, one ARN for each region."""
    arns: list[Json] = [each.get("modelArn") for each in as_list(profile.get("models")) if isinstance(each, dict)]
    return {arn.rpartition("/")[2] for arn in arns if isinstance(arn, str)}
