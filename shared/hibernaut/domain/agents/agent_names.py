"""Agent names: which are valid, and the default name (Letta V1 API, API 2.2). Random bits are a parameter."""

from __future__ import annotations

import re

from hibernaut.schemas.errors import InvalidArgument

_ALLOWED = re.compile(r"[\w '\-]+")

_FIRST = (
    "Amber Ample Apt Arctic Bold Brave Bright Brisk Calm Candid Chief Civil Clear Clever Cosmic Crisp "
    "Daring Dawn Deft Eager Early Earnest Fair Fleet Fond Frank Gentle Glad Golden Grand Hardy Honest "
    "Humble Jolly Keen Kind Lively Loyal Lucid Lunar Mellow Merry Mild Modest Neat Nimble Noble Patient "
    "Plain Polar Prime Proud Quick Quiet Ready Robust Serene Sincere Solar Steady Sunny Tidy Vivid Warm"
)
_SECOND = (
    "Acorn Anchor Aspen Badger Beacon Birch Brook Canyon Cedar Comet Compass Coral Crane Delta Ember Falcon "
    "Fern Finch Fjord Forest Garnet Glacier Harbor Hazel Heron Iris Island Jasper Juniper Kestrel Lagoon Lantern "
    "Lark Lotus Maple Marlin Meadow Mesa Nebula Oak Orchid Osprey Otter Pebble Pilot Pine Prairie Quartz "
    "Raven Reef River Robin Sage Sparrow Spruce Summit Swift Thistle Tide Tundra Valley Walnut Willow Wren"
)


def default_name(bits: int) -> str:
    """A name of two words in camel case; the low twelve bits or more of `bits` select them."""
    first, second = _FIRST.split(), _SECOND.split()
    return first[bits % len(first)] + second[bits // len(first) % len(second)]


def check_name(name: str) -> None:
    """Accept letters, digits, underscores, spaces, hyphens and apostrophes, at least one. Raises: InvalidArgument."""
    if not _ALLOWED.fullmatch(name):
        raise InvalidArgument(
            f"Agent name {name!r} contains invalid characters: letters, digits, underscores, spaces, hyphens and apostrophes are allowed."
        )
