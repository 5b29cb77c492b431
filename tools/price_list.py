"""Extracts the data that Hibernaut reads from `genai-prices`: `python tools/price_list.py`, a part of `make lock`.

Writes `price_list.json` and `context_windows.json` beside the adapters that read them, and the licence of the data. Both files
name the version of the price list and the day of its release according to the package index. Prices of requests that Hibernaut
never sends (images, audio, batches, service tiers) are left out. No figure is computed: each one is in the source.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from importlib.metadata import distribution, version
from pathlib import Path
from typing import TypeAlias

from genai_prices import types as source
from genai_prices.data import providers

from hibernaut.adapters.model.prices.context_windows import bare_name

PACKAGE = "genai-prices"
FOLDER = Path(__file__).resolve().parent.parent / "shared" / "hibernaut" / "adapters" / "model" / "prices"
PRICES, WINDOWS, LICENCE = "price_list.json", "context_windows.json", "price_list.LICENSE.txt"
OWN_LIMITS = Path(__file__).resolve().parent / "own_limits.json"

PROVIDERS = (
    *("openai", "anthropic", "google", "aws", "azure", "deepseek", "mistral", "x-ai", "moonshotai", "zai", "minimax"),
    *("cohere", "perplexity", "groq", "together", "fireworks", "cerebras", "openrouter"),
)
"""The providers whose prices are included: those at which an agent's model can be called."""
MAKERS: tuple[str, ...] = (
    "openai",
    "anthropic",
    "google",
    "deepseek",
    "moonshotai",
    "mistral",
    "x-ai",
    "zai",
    "minimax",
    "cohere",
)
"""The providers whose context windows take precedence, because they sell their own models."""
HOSTS: tuple[str, ...] = (
    *("openrouter", "aws", "groq", "together", "fireworks"),
    *(each.id for each in providers if each.id.startswith("huggingface_") and each.id != "huggingface_cerebras"),
)
"""The providers whose majority decides the context window of a model that no maker names."""
FIELDS = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cached",
    "cache_write_mtok": "written",
    "cache_write_1h_mtok": "written_for_an_hour",
    "output_reasoning_mtok": "reasoning",
    "requests_kcount": "requests",
}
Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | None"


def released() -> date:
    """The release day of the installed version, from the package index. Raises: CalledProcessError if uv fails."""
    ask = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-deps", "--no-header", "--format", "pylock.toml", "-"]
    lock = subprocess.run(ask, input=f"{PACKAGE}=={version(PACKAGE)}", capture_output=True, text=True, check=True).stdout
    return min(wheel["upload-time"] for wheel in tomllib.loads(lock)["packages"][0]["wheels"]).date()


def price_list(day: date) -> dict[str, Json]:
    """The content of `price_list.json` as of a day."""
    pool: list[Json] = []
    chosen = [next(each for each in providers if each.id == name) for name in PROVIDERS]
    cut = {provider.id: _provider(provider, day, pool) for provider in chosen}
    return _headed(day, "USD for a million tokens (`requests`: for a thousand requests)") | {"prices": pool, "providers": cut}


def _provider(provider: source.Provider, day: date, pool: list[Json]) -> Json:
    numbers = [_pooled(model, day, pool) for model in provider.models]
    names: dict[str, Json] = {}
    patterns: list[Json] = []
    for model, number in zip(provider.models, numbers, strict=True):
        for kind, text in clauses(model.match):
            if kind != "equals":
                patterns.append([kind, text, number])
            elif text not in names:
                first = next(place for place, each in enumerate(provider.models) if each.is_match(text))
                names[text] = numbers[first]
    return {
        "address": provider.api_pattern,
        "fallbacks": [each for each in provider.fallback_model_providers or () if each in PROVIDERS],
        "names": names,
        "patterns": patterns,
    }


def _pooled(model: source.ModelInfo, day: date, pool: list[Json]) -> int | None:
    """The position of a model's prices in the pool; None if the model has no prices per input and output token."""
    rows = model.prices if isinstance(model.prices, list) else [source.ConditionalPrice(prices=model.prices)]
    entries = [_entry(row) for row in _still_active(rows, day)]
    if not all("input" in entry and "output" in entry for entry in entries):
        return None
    if entries not in pool:
        pool.append(entries)
    return pool.index(entries)


def _still_active(rows: Sequence[source.ConditionalPrice], day: date) -> Sequence[source.ConditionalPrice]:
    """The rows that can apply from a day on. The source tries them from the last to the first."""
    begun = [
        place
        for place, row in enumerate(rows)
        if row.constraint is None or (isinstance(row.constraint, source.StartDateConstraint) and row.constraint.start_date <= day)
    ]
    return rows[max(begun, default=0) :]


def _entry(row: source.ConditionalPrice) -> dict[str, Json]:
    entry: dict[str, Json] = {}
    if isinstance(row.constraint, source.StartDateConstraint):
        entry["from"] = row.constraint.start_date.isoformat()
    if isinstance(row.constraint, source.TimeOfDateConstraint):
        entry["hours"] = [row.constraint.start_time.strftime("%H:%M"), row.constraint.end_time.strftime("%H:%M")]
    prices = row.prices.__dict__
    return entry | {name: _rate(prices[field]) for field, name in FIELDS.items() if prices.get(field) is not None}


def _rate(price: Decimal | source.TieredPrices) -> Json:
    """A number; with tiers, a list of the number below the first tier, then of pairs (prompt tokens above which, number)."""
    if isinstance(price, Decimal):
        return _number(price)
    return [_number(price.base), *([tier.start, _number(tier.price)] for tier in price.tiers)]


def _number(price: Decimal) -> int | float:
    return int(price) if price == int(price) else float(price)


def clauses(match: source.MatchLogic) -> Iterator[tuple[str, str]]:
    """The alternatives of a match as pairs of a kind (equals, starts, ends, contains, regex) and a text."""
    match match:
        case source.ClauseOr():
            for each in match.or_:
                yield from clauses(each)
        case source.ClauseEquals():
            yield "equals", match.equals.lower()
        case source.ClauseStartsWith():
            yield "starts", match.starts_with.lower()
        case source.ClauseEndsWith():
            yield "ends", match.ends_with.lower()
        case source.ClauseContains():
            yield "contains", match.contains.lower()
        case source.ClauseRegex():
            yield "regex", match.regex
        case source.ClauseAnd():
            yield "regex", "^" + "".join(f"(?=.*?(?:{_regex(each)}))" for each in match.and_)


def _regex(match: source.MatchLogic) -> str:
    forms = {"equals": "^{}$", "starts": "^{}", "ends": "{}$", "contains": "{}"}
    return "|".join(forms[kind].format(re.escape(text)) if kind in forms else text for kind, text in clauses(match))


def context_windows(day: date) -> dict[str, Json]:
    """The content of `context_windows.json`."""
    own = json.loads(OWN_LIMITS.read_text(encoding="utf-8"))
    families, corrections, outputs = (
        {bare_name(name): tokens for name, tokens in own[part].items()} for part in ("windows", "corrections", "outputs")
    )
    makers = _listed(MAKERS)
    windows = families | _without(_listed(HOSTS), makers) | makers
    head = _headed(day, "Tokens by the beginning of a model's bare name; the longest beginning counts")
    return head | {"windows": _shortest(_without(windows, corrections) | corrections), "outputs": _shortest(outputs)}


def _listed(names: Sequence[str]) -> dict[str, int]:
    """The windows of these providers' models by bare name: the most frequent figure, and of equally frequent ones the
    smallest.
    """
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for provider in providers:
        for model in provider.models if provider.id in names else ():
            for kind, text in clauses(model.match):
                if model.context_window and kind in ("equals", "starts") and not re.search(r":(?!\d)", text) and _writes(model):
                    counts[bare_name(text)][model.context_window] += 1
    return {name: min(windows, key=lambda each: (-windows[each], each)) for name, windows in counts.items()}


def _writes(model: source.ModelInfo) -> bool:
    rows = model.prices if isinstance(model.prices, list) else [source.ConditionalPrice(prices=model.prices)]
    return any(row.prices.__dict__.get("output_mtok") is not None for row in rows)


def _without(figures: dict[str, int], better: dict[str, int]) -> dict[str, int]:
    """The figures without names that begin with a name in `better`."""
    return {name: tokens for name, tokens in figures.items() if not name.startswith(tuple(better))}


def _shortest(figures: dict[str, int]) -> dict[str, int]:
    """The figures without names that begin with a shorter name of the same figure."""
    needed: dict[str, int] = {}
    for name in sorted(figures, key=lambda each: (len(each), each)):
        fits = [each for each in needed if name.startswith(each)]
        if not fits or needed[max(fits, key=len)] != figures[name]:
            needed[name] = figures[name]
    return dict(sorted(needed.items()))


def _headed(day: date, about: str) -> dict[str, Json]:
    return {"about": about, "source": f"{PACKAGE} {version(PACKAGE)}", "date": day.isoformat()}


def texts(day: date) -> dict[str, str]:
    """The text of each file that this program writes, by name."""
    licence = distribution(PACKAGE).read_text("licenses/LICENSE") or ""
    return {PRICES: _pretty(price_list(day)), WINDOWS: _pretty(context_windows(day)), LICENCE: licence}


def _pretty(content: dict[str, Json]) -> str:
    """JSON with one line per price, name and pattern, so that an update is a readable diff."""
    return _lines(content, 4, "\n") + "\n"


def _lines(value: Json, depth: int, margin: str) -> str:
    if depth == 0 or not isinstance(value, (dict, list)) or not value or (isinstance(value, list) and depth < 2):
        return json.dumps(value, ensure_ascii=False)
    inner = margin + " "
    if isinstance(value, dict):
        rows = [f"{json.dumps(key)}: {_lines(each, depth - 1, inner)}" for key, each in value.items()]
    else:
        rows = [json.dumps(each, ensure_ascii=False) for each in value]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return begin + inner + f",{inner}".join(rows) + margin + end


if __name__ == "__main__":
    for name, text in texts(released()).items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"{name}: {len(text.encode()):,} bytes")
