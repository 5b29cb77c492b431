"""What differs between environments, and every size and limit of the stack. Plain values: importing this loads no CDK."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from hibernaut.wiring.settings import PROVIDER_NAMES

EnvironmentName = Literal["dev", "staging", "prod"]

GATEWAY_SECONDS = 29
"""How long API Gateway waits for the whole reply of a buffered integration: of every route that asks no model."""
STREAM_SECONDS = 900
"""How long API Gateway keeps a streamed reply open, and how long Lambda lets a function run."""
WEB_ADAPTER = "753240598075", "LambdaAdapterLayerArm64:27"
"""AWS's public layer with the Lambda Web Adapter (release 1.0.0), by its account and its name: the same in every commercial region."""
FOLLOWERS = 200
"""How many replies production streams at once; they are set aside, so that followers cannot starve the rest, nor the rest them."""


@dataclass(frozen=True, slots=True)
class Size:
    """Memory in MB (1,769 are one whole CPU) and the time limit in seconds. `at_once`: how many run at the same time at most, which
    are then set aside from the account's quota (None: as many as that has)."""

    memory: int
    timeout: int
    at_once: int | None = None


@dataclass(frozen=True, slots=True)
class Sizes:
    """One per function. A step may hold a model call of 12 minutes, so `advance_turn` has Lambda's 15; so has `run_tool`,
    whose child is killed at its own limit long before. A summary that takes longer than `summarize` has is given up for a shorter
    window. An environment of `stream` serves one follower."""

    api: Size = Size(1024, GATEWAY_SECONDS)
    advance_turn: Size = Size(1024, 900)
    close_run: Size = Size(512, 60)
    request_approval: Size = Size(512, 60)
    run_tool: Size = Size(1769, 900)
    stream: Size = Size(1024, STREAM_SECONDS)
    summarize: Size = Size(1024, 400)
    sweep_runs: Size = Size(512, 55)


@dataclass(frozen=True, slots=True)
class Settings:
    """One environment.

    `keep_data`: table and bucket survive the stack, and the table refuses to be deleted. `log_days`: how long logs are kept.
    `rate`, `burst`: requests per second that the gateway lets through. `callers`: the address ranges (CIDR) that may call the
    API; empty: nobody, so that a fresh deployment is not open to the world. `secrets`: the parameters that functions may read.
    """

    name: EnvironmentName
    keep_data: bool = False
    log_days: int = 7
    rate: int = 50
    burst: int = 100
    log_level: str = "INFO"
    callers: tuple[str, ...] = ()
    secrets: tuple[str, ...] = PROVIDER_NAMES
    sizes: Sizes = field(default_factory=Sizes)

    @property
    def stack_name(self) -> str:
        return f"hibernaut-{self.name}"

    @property
    def parameters(self) -> str:
        """The path of this environment's secrets in Parameter Store."""
        return f"/hibernaut/{self.name}"


def settings_of(name: str, callers: str = "") -> Settings:
    """The settings of an environment; `callers` are address ranges separated by commas. Raises: ValueError for an unknown name."""
    allowed = tuple(part.strip() for part in callers.split(",") if part.strip())
    match name:
        case "dev":
            return Settings("dev", callers=allowed)
        case "staging":
            return Settings("staging", log_days=14, callers=allowed)
        case "prod":
            sizes = Sizes(stream=Size(1024, STREAM_SECONDS, at_once=FOLLOWERS))
            return Settings("prod", keep_data=True, log_days=90, rate=500, burst=1000, callers=allowed, sizes=sizes)
        case _:
            raise ValueError(f"no environment {name!r}; there are {', '.join(get_args(EnvironmentName))}")
