"""Reads the price list, which is a data file (`tools/price_list.py` writes it)."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from hibernaut.domain.models.prices import PriceList


@cache
def price_list() -> PriceList:
    """The list of this release, read at the first call: some milliseconds, once in a process."""
    return PriceList(json.loads(files(__package__).joinpath("price_list.json").read_text(encoding="utf-8")))
