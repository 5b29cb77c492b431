"""What OpenAI's models take on the Responses wire: reasoning efforts, sampling parameters, verbosity. Data with its sources;
pure.

A model that the table does not know gets what every reasoning model takes, if it is one of OpenAI's, and no reasoning otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hibernaut.schemas.immutable import immutable

_BEDROCK = re.compile(r"^(?:[a-z-]+\.)?openai\.")
STRENGTHS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""All efforts, the weakest first (`openai` 3.54, types/shared/reasoning_effort.py)."""


@immutable
class ModelOptions:
    """What a model takes. `efforts` empty: the model does not reason.

    `temperature`, `top_logprobs` are refused while a model reasons, so that a model which always reasons never takes them.
    """

    efforts: tuple[str, ...] = ()
    verbosity: bool = False
    parallel: bool = True

    @property
    def reasons(self) -> bool:
        return bool(self.efforts)

    def effort(self, requested: str | None) -> str | None:
        """The strongest effort up to `requested`, else the weakest; None: the provider's default."""
        if requested is None or not self.efforts:
            return None
        at_most = STRENGTHS.index(requested)
        return next((each for each in reversed(self.efforts) if STRENGTHS.index(each) <= at_most), self.efforts[0])

    def samples(self, effort: str | None) -> bool:
        """Whether the model accepts sampling parameters at this effort (developers.openai.com, guides/deployment-checklist)."""
        return not self.reasons or effort == "none"


def _efforts(weakest: str, strongest: str, *, without: Sequence[str] = ()) -> tuple[str, ...]:
    between = STRENGTHS[STRENGTHS.index(weakest) : STRENGTHS.index(strongest) + 1]
    return tuple(each for each in between if each not in without)


def _since_5_1(strongest: str) -> tuple[str, ...]:
    """GPT-5.1 put `none` in the place of `minimal` (openai/openai-agents-python#2089)."""
    return _efforts("none", strongest, without=("minimal",))


_PLAIN = ModelOptions()
_NEWER = ModelOptions(_efforts("low", "high"))
_TABLE: tuple[tuple[re.Pattern[str], ModelOptions], ...] = tuple(
    (re.compile(pattern), options)
    for pattern, options in (
        # Not a reasoning model, and no encrypted reasoning (pydantic/pydantic-ai#3332).
        (r"gpt-5-chat", _PLAIN),
        # The chat variants take one effort (anomalyco/opencode#26268, from the API's own refusals).
        (r"gpt-5\.\d-chat", ModelOptions(("medium",))),
        # learn.microsoft.com, ReasoningEffort: before 5.1 no `none`; `parallel_tool_calls` as on Chat Completions.
        (r"o\d", ModelOptions(_efforts("low", "high"), parallel=False)),
        (r"gpt-oss", ModelOptions(_efforts("low", "high"))),
        # "defaults to (and only supports) high" (learn.microsoft.com, ReasoningEffort).
        (r"gpt-5-pro", ModelOptions(("high",), verbosity=True)),
        # withceleste/celeste-python#368, anomalyco/opencode#26268; of later Pro models no source says more.
        (r"gpt-5\.\d-pro", ModelOptions(_efforts("medium", "xhigh"), verbosity=True)),
        # anomalyco/opencode#26268; `xhigh` since 5.1-codex-max (learn.microsoft.com, ReasoningEffort).
        (r"gpt-5(\.1)?-codex(?!-max)", _NEWER),
        (r"gpt-5\.\d-codex", ModelOptions(_efforts("low", "xhigh"))),
        # withceleste/celeste-python#368, anomalyco/opencode#26268.
        (r"gpt-5\.1", ModelOptions(_since_5_1("high"), verbosity=True)),
        (r"gpt-5\.[2-5]", ModelOptions(_since_5_1("xhigh"), verbosity=True)),
        # anomalyco/opencode#36141, livekit/agents#7169.
        (r"gpt-5\.\d", ModelOptions(_since_5_1("max"), verbosity=True)),
        (r"gpt-5", ModelOptions(_efforts("minimal", "high"), verbosity=True)),
        # help.openai.com/articles/20001600 (Luna), apidog.com/blog/gpt-6-1-terra-api, openrouter.ai model-migrations/gpt-6.
        (r"gpt-6-(sol|luna)|gpt-6\.1-terra", ModelOptions(_since_5_1("max"), verbosity=True)),
        # `none` is refused: UKGovernmentBEIS/inspect_ai#5254 (Astra), goruck/home-generative-agent v3.46.0-beta.1 (6.1 Sol),
        # guides/latest-model (6.2).
        (r"gpt-6", ModelOptions(_efforts("low", "max"), verbosity=True)),
        (r"(chat)?gpt-[34]", _PLAIN),
        (r"(chat)?gpt-|chat-latest", _NEWER),
    )
)


def model_options(model: str) -> ModelOptions:
    """The options of a model by its name. An organisation before it (`openai/…`) is ignored, and so is what Bedrock puts there
    (`global.openai.…`).
    """
    name = _BEDROCK.sub("", model.rpartition("/")[2].lower())
    return next((options for pattern, options in _TABLE if pattern.match(name)), _PLAIN)
