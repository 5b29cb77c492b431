"""Chooses the models, states what the checks cost at most, runs them, and prints a table of what works."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TextIO

from hibernaut.adapters.model.default_model import default_model
from hibernaut.adapters.model.prices.price_list import price_list
from hibernaut.local import logs
from hibernaut.local.model_checks.checked_agent import CheckedAgent, CheckFailed
from hibernaut.local.model_checks.checks import CHECKS, ModelCheck
from hibernaut.local.profiles import CannotServe
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import HibernautError
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.usage import Usage
from hibernaut.wiring.embedded import Embedded, EmbeddedOverrides
from hibernaut.wiring.settings import EmbeddedSettings

OWN = "hibernaut"
MOST_TOKENS = Usage(prompt_tokens=8_000, completion_tokens=1_500)
"""What one model call of a check takes at most: the tools and the system message of an agent, and a reply with reasoning."""
Say = Callable[..., None]
"""Prints a text for people, with the options of `print`."""
OK, FAILED, NOT_OFFERED = "ok", "FAILED", "no"


@immutable
class CheckOptions:
    """`providers` and `models` select what is checked: none of both selects the default model of each configured provider.
    `agreed`: the costs need no confirmation. `as_json`: the results are JSON, and all else goes to the standard error.
    """

    providers: Sequence[str] = ()
    models: Sequence[str] = ()
    agreed: bool = False
    as_json: bool = False


@dataclass(slots=True)
class ModelResult:
    """The outcome of all checks of one model: a word for each, remarks by check, and the sum of what was paid."""

    handle: str
    outcomes: list[str] = field(default_factory=list)
    remarks: dict[str, str] = field(default_factory=dict)
    cost: Decimal | None = Decimal(0)
    calls: int = 0


def check_models(
    options: CheckOptions, settings: EmbeddedSettings | None = None, overrides: EmbeddedOverrides | None = None
) -> int:
    """Check the models; 0 if all required checks of all models pass, else 1. Raises: CannotServe, BadSetting."""
    settings = settings or EmbeddedSettings.from_environment()
    logs.to_terminal()
    with tempfile.TemporaryDirectory(prefix="hibernaut-check-") as folder:
        own = replace(settings, data=Path(folder), user_key=None, default_embedding="none")
        with Embedded(own, overrides or EmbeddedOverrides()) as embedded:
            chosen = _chosen(embedded, options)
            say = partial(print, file=sys.stderr if options.as_json else sys.stdout, flush=True)
            _announce(chosen, CHECKS, say)
            if not options.agreed and not _agreed(sys.stdin, say):
                raise CannotServe("nothing was sent; --yes agrees to the costs without a question", 1)
            results = [_checked(embedded, config.handle or "", CHECKS, say) for config in chosen]
    print(json.dumps([_fields(result, CHECKS) for result in results], indent=1) if options.as_json else table(results, CHECKS))
    return int(any(FAILED in result.outcomes for result in results))


def _chosen(embedded: Embedded, options: CheckOptions) -> list[LLMConfig]:
    """The configurations of the models to check. Raises: CannotServe if nothing is configured or known by that name."""
    configured = {name for name in embedded.models.providers() if name != OWN}
    if unknown := sorted(set(options.providers) - configured):
        names = ", ".join(sorted(configured)) or "none"
        raise CannotServe(
            f"no provider {unknown[0]} is configured (configured: {names}); `hibernaut dev --help` has the variables", 2
        )
    handles = list(options.models)
    for name in sorted(options.providers or (() if options.models else configured)):
        listed = [row for row in embedded.models.list() if row.provider_name == name]
        model = default_model(name, listed, official=bool(listed))
        if model is None:
            raise CannotServe(f"{name} lists no model: check its key and its address, or name one with --model {name}/…", 1)
        handles.append(f"{name}/{model}")
    if not handles:
        raise CannotServe("no provider is configured: set the key or the address of one (`hibernaut dev --help`)", 2)
    try:
        return [embedded.models.config(handle) for handle in dict.fromkeys(handles)]
    except HibernautError as error:
        raise CannotServe(error.detail, 2) from error


def _announce(chosen: Sequence[LLMConfig], checks: Sequence[ModelCheck], say: Say) -> None:
    calls = sum(check.calls for check in checks)
    say(f"{len(checks)} checks with some {calls} model calls for each model, with real tools in a temporary folder.")
    for config in chosen:
        cost = most(config, calls)
        say(f"  {config.handle}: " + ("its price is not known" if cost is None else f"at most {cost:.2f} USD"))
    say(f"Prices of {price_list().date}.")


def most(config: LLMConfig, calls: int) -> Decimal | None:
    """What so many calls cost at most, in USD; None if the price is unknown."""
    prices = price_list()
    billed_by = prices.provider(config.provider_name or config.model_endpoint_type, config.model_endpoint)
    cost = billed_by and prices.cost(billed_by, config.model, MOST_TOKENS, datetime.now(UTC))
    return cost * calls if isinstance(cost, Decimal) else None


def _agreed(terminal: TextIO, say: Say) -> bool:
    if not terminal.isatty():
        return False
    say("Go on? [y/N] ", end="")
    return terminal.readline().strip().lower() in ("y", "yes")


def _checked(embedded: Embedded, handle: str, checks: Sequence[ModelCheck], say: Say) -> ModelResult:
    result = ModelResult(handle)
    for check in checks:
        agent = CheckedAgent(embedded, handle)
        say(f"{handle}: {check.name} …")
        try:
            outcome, remark = OK, check.perform(agent)
        except CheckFailed as failure:
            outcome, remark = (NOT_OFFERED if check.optional else FAILED), str(failure)
        except HibernautError as error:
            outcome, remark = (NOT_OFFERED if check.optional else FAILED), error.detail
        result.outcomes.append(outcome)
        if remark:
            result.remarks[check.name] = remark
        for run in agent.used:
            result.calls += run.steps
            result.cost = None if result.cost is None or run.usage.cost is None else result.cost + Decimal(str(run.usage.cost))
    return result


def _fields(result: ModelResult, checks: Sequence[ModelCheck]) -> JsonObject:
    """The result as JSON: `cost` in USD, null if a price is unknown."""
    done = [
        {"check": check.name, "outcome": outcome.lower(), "remark": result.remarks.get(check.name)}
        for check, outcome in zip(checks, result.outcomes, strict=True)
    ]
    cost = None if result.cost is None else float(result.cost)
    return {
        "model": result.handle,
        "ok": FAILED not in result.outcomes,
        "checks": done,
        "model_calls": result.calls,
        "cost": cost,
    }


def table(results: Sequence[ModelResult], checks: Sequence[ModelCheck]) -> str:
    """The table: a row for each check, a column for each model; below it the remarks and the costs."""
    first = max(len(check.name) for check in checks)
    widths = [max(len(result.handle), len(FAILED)) for result in results]
    rows = [["", *(result.handle for result in results)]]
    rows += [[check.name, *(result.outcomes[at] for result in results)] for at, check in enumerate(checks)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, [first, *widths], strict=True)).rstrip() for row in rows]
    for result in results:
        cost = "cost unknown" if result.cost is None else f"{result.cost:.4f} USD"
        lines += [
            "",
            f"{result.handle}: {result.calls} model calls, {cost}",
            *(f"  {name}: {remark}" for name, remark in result.remarks.items()),
        ]
    return "\n".join(lines)
