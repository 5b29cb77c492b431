"""List prices of AWS, and the price of what was used. Pure.

This is the only price list of AWS: the costs of runs and the report of `make bench` are made from it. The prices are list prices
of one region without the free tier; other regions and contracts differ.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from hibernaut.schemas.aws_use import AwsUse

PRICES_DATE = date(2025, 12, 1)
"""The day from which on the prices were read."""
PRICES_REGION = "us-east-1"
GIGABYTE_SECOND = Decimal("0.0000133334")
"""A second of a function with 1 GB of memory (arm64). Source of the prices of functions:
https://aws.amazon.com/lambda/pricing/
"""
INVOCATION = Decimal("0.0000002")
TRANSITION = Decimal("0.000025")
"""A transition of a Standard workflow. Source: https://aws.amazon.com/step-functions/pricing/"""
WRITE_UNIT = Decimal("0.000000625")
"""Source of the prices of units: https://aws.amazon.com/dynamodb/pricing/on-demand/ (standard table class)"""
READ_UNIT = Decimal("0.000000125")
GATEWAY_REQUEST = Decimal("0.0000035")
"""Source: https://aws.amazon.com/api-gateway/pricing/ (REST)"""
BLOB_WRITE = Decimal("0.000005")
"""A PUT, COPY, POST or LIST request. Source of the prices of requests: https://aws.amazon.com/s3/pricing/ (standard class)"""
BLOB_READ = Decimal("0.0000004")
LOG_GIGABYTE = Decimal("0.5")
"""A gigabyte of log lines. Source: https://aws.amazon.com/cloudwatch/pricing/ (standard class; vended logs cost the same)"""
SMALLEST = Decimal("0.000000001")
"""USD: costs are rounded to it."""
_PRICES = {
    "read_units": READ_UNIT,
    "write_units": WRITE_UNIT,
    "gigabyte_seconds": GIGABYTE_SECOND,
    "invocations": INVOCATION,
    "gateway_requests": GATEWAY_REQUEST,
    "transitions": TRANSITION,
    "blob_reads": BLOB_READ,
    "blob_writes": BLOB_WRITE,
}


def cost_of(use: AwsUse) -> Decimal:
    """The price of what was used, in USD."""
    exact = sum((Decimal(str(getattr(use, name))) * price for name, price in _PRICES.items()), Decimal(0))
    return exact.quantize(SMALLEST)
