"""Checks AWS's Signature Version 4 of a request as the service does; an implementation of its own, from the specification.

Source: docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html. The path of every service but S3 is
encoded once more for the canonical request.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from urllib.parse import quote

from tests.support.provider_http import Recorded

_FORM = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})"
)
NEEDED = frozenset({"host", "x-amz-date"})


def unsigned(asked: Recorded, *, key: str, secret: str, region: str, service: str) -> str | None:
    """What is wrong with the request's signature; None: nothing."""
    found = _FORM.fullmatch(asked.headers.get("authorization", ""))
    if found is None:
        return "no signature of Signature Version 4"
    access, day, its_region, its_service, names, signature = found.groups()
    if (its_region, its_service) != (region, service):
        return f"Credential should be scoped to {region}/{service}, not {its_region}/{its_service}"
    signed, moment = names.split(";"), asked.headers.get("x-amz-date", "")
    if access != key or not moment.startswith(day):
        return "the access key or the date of the scope is wrong"
    if missing := NEEDED - set(signed):
        return f"unsigned headers: {sorted(missing)}"
    path, _, query = asked.path.partition("?")
    headers = "".join(f"{name}:{' '.join(asked.headers.get(name, '').split())}\n" for name in signed)
    body = hashlib.sha256(asked.raw).hexdigest()
    canonical = "\n".join((asked.method, quote(path, safe="/-_.~"), "&".join(sorted(query.split("&"))), headers, names, body))
    scope = f"{day}/{region}/{service}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    made = f"AWS4{secret}".encode()
    for part in (day, region, service, "aws4_request", text):
        made = hmac.digest(made, part.encode(), "sha256")
    return None if made.hex() == signature else "the signature does not match the request"
