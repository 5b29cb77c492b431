"""The settings of the memory index in the context. Plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from infra.capacity import number_in
from infra.context import wished

SearchKind = Literal["none", "domain", "serverless"]

COLLECTION_REGIONS = (
    *(
        "ap-east-1",
        "ap-northeast-1",
        "ap-northeast-2",
        "ap-northeast-3",
        "ap-south-1",
        "ap-south-2",
        "ap-southeast-1",
        "ap-southeast-2",
    ),
    *(
        "ca-central-1",
        "eu-central-1",
        "eu-central-2",
        "eu-north-1",
        "eu-south-1",
        "eu-south-2",
        "eu-west-1",
        "eu-west-2",
        "eu-west-3",
    ),
    *("sa-east-1", "us-east-1", "us-east-2", "us-west-1", "us-west-2"),
)
"""The commercial regions with OpenSearch Serverless, as botocore 1.44 knows them (November 2026)."""
SEARCH_BY_DEFAULT = (
    "search=none: memory is searched by words, in the newest 5,000 records of a place, which costs nothing while all agents sleep. "
    "-c search=serverless searches all records, by meaning too, and costs about 0.12 dollars each time that it wakes (docs/costs.md).\n"
)
"""What synthesis says where nobody has chosen."""


@dataclass(frozen=True, slots=True)
class Search:
    """The memory index. `none`: no index; searches use words, in the table. `serverless`: a collection of OpenSearch Serverless,
    which scales to nothing when idle. `domain`: an OpenSearch domain of `count` instances with `volume` GB each, which is charged
    even when idle. `vpc`: the domain and its functions are in a VPC. The VPC's NAT gateway is charged too.
    """

    kind: SearchKind = "none"
    instance: str = "t3.small.search"
    count: int = 1
    volume: int = 10
    vpc: bool = False


def zones_of(count: int) -> int:
    """The number of availability zones for `count` instances, which must be distributed evenly."""
    return next((zones for zones in (3, 2) if count % zones == 0), 1)


def search_in(context: Mapping[str, str]) -> Search:
    """The index's settings in the context. Raises: ValueError."""
    kind = str(context.get("search", "none"))
    if kind not in get_args(SearchKind):
        raise ValueError(f"no search {kind!r}; there are {', '.join(get_args(SearchKind))}")
    usual = Search()
    instance = str(context.get("searchInstance", usual.instance))
    if not instance.endswith(".search"):
        raise ValueError(f"searchInstance must be a type like {usual.instance}, not {instance!r}")
    found = Search(
        kind=kind,  # type: ignore[arg-type]  # one of them, as was checked
        instance=instance,
        count=number_in(context, "searchCount", usual.count),
        volume=number_in(context, "searchVolume", usual.volume),
        vpc=wished(context, "searchVpc"),
    )
    domain_only = sorted(name for name in ("searchInstance", "searchCount", "searchVolume", "searchVpc") if name in context)
    if kind == "serverless" and domain_only:
        raise ValueError(
            f"{domain_only[0]} is for search=domain; a collection has no instances and no network of ours. Leave it out"
        )
    return found


def check_region(search: Search, region: str | None) -> None:
    """Check that the region offers the search service. `region` None: not known before the deployment. Raises: ValueError."""
    if search.kind == "serverless" and region and region not in COLLECTION_REGIONS:
        raise ValueError(
            f"there is no OpenSearch Serverless in {region}, as far as is known; choose search=domain or search=none, or deploy to one of "
            f"{', '.join(COLLECTION_REGIONS)}"
        )
