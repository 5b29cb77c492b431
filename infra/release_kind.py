"""How a deployment brings new code to callers, as the CDK context names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

ReleaseKind = Literal["all-at-once", "canary", "linear"]
"""`canary`: a tenth of the traffic for ten minutes, then all. `linear`: a further tenth each minute."""


def release_in(context: Mapping[str, str]) -> ReleaseKind:
    """Raises: ValueError."""
    text = str(context.get("release", "all-at-once"))
    if text not in get_args(ReleaseKind):
        raise ValueError(f"release must be one of {', '.join(get_args(ReleaseKind))}, not {text!r}")
    return text  # type: ignore[return-value]  # one of them, as was checked
