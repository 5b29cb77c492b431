"""How one provider is configured, and what the secrets of a deployment configure. Knows no connection."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import field
from urllib.parse import quote

from hibernaut.adapters.model.anthropic import OFFICIAL_URL as ANTHROPIC_URL
from hibernaut.adapters.model.bedrock_endpoints import NAME as BEDROCK
from hibernaut.adapters.model.bedrock_endpoints import is_region, runtime_url
from hibernaut.adapters.model.dialects import DIALECTS, OPENAI, Dialect
from hibernaut.domain.redaction import Redaction, bare_address
from hibernaut.ports.storage.secrets import Secrets
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.immutable import immutable

logger = logging.getLogger(__name__)
ANTHROPIC, VERTEX = "anthropic", "google_vertex"
VERTEX_NAMES = ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_VERTEX_BASE_URL")
"""The first two are V1's (letta/settings.py), the third is Google's own, the last that of Google's SDK
(googleapis/python-genai).
"""
_NAMES = frozenset({ANTHROPIC, VERTEX, BEDROCK, *(dialect.name for dialect in DIALECTS)})
_MULTI_REGIONS = ("eu", "us")
_LOCATION = re.compile(r"[a-z]{2,20}-[a-z]{2,20}[0-9]{1,2}")


@immutable
class ProviderSettings:
    """One configured provider. `name` is the first part of its handles, `kind` is V1's `model_endpoint_type`, `url` the base
    address with its password, if it has one. `dialect` None: Anthropic's Messages, or a server that only a configuration names.
    `region` and `access_key` belong to a cloud provider; with an `access_key`, `key` is its secret (V1's providers have the same
    three fields).
    `allowed`: the models that are listed, as ids that may contain `*`; empty: all. `own`: it belongs to a tenant, not to the
    deployment.
    """

    name: str
    kind: str
    url: str
    key: str | None = field(default=None, repr=False)
    dialect: Dialect | None = None
    region: str | None = None
    access_key: str | None = field(default=None, repr=False)
    allowed: tuple[str, ...] = ()
    own: bool = False

    @property
    def address(self) -> str:
        """The base address without a password."""
        return bare_address(self.url)

    @property
    def official(self) -> bool:
        """Whether the address is the provider's own."""
        if self.kind == BEDROCK:
            return self.url == runtime_url(self.region or "")
        if self.kind == VERTEX:
            return self.url.startswith(vertex_url(self.region or ""))
        return self.url == (self.dialect.url if self.dialect else ANTHROPIC_URL)


OWN_KEY_ADVICE = "correct its api_key (a stored one by PATCH /v1/providers/{id})"
"""What a tenant does about a refused key of its own."""


def key_advice(settings: ProviderSettings) -> str:
    """What to do if the provider refuses the key."""
    if settings.own:
        return OWN_KEY_ADVICE
    if settings.kind == BEDROCK:
        return "check the AWS credentials of this process: its variables, AWS_PROFILE, or its role"
    if settings.kind == VERTEX:
        return "check GOOGLE_APPLICATION_CREDENTIALS"
    if settings.kind == ANTHROPIC:
        return "check ANTHROPIC_API_KEY"
    return f"check {settings.dialect.key}" if settings.dialect else ""


def of_dialect(dialect: Dialect, key: str | None, url: str | None, name: str | None = None) -> ProviderSettings | None:
    """The provider that this key and this address configure; None if they do not suffice. `name` replaces the dialect's own."""
    if not url and not (key and dialect.url):
        return None
    # What OPENAI_BASE_URL names is used as it stands.
    address = (url or dialect.url) if dialect is OPENAI else dialect.at(url)
    return ProviderSettings(name or dialect.name, dialect.kind, (address or "").rstrip("/"), key, dialect)


def of_anthropic(key: str | None, url: str | None, name: str = ANTHROPIC) -> ProviderSettings | None:
    """Anthropic's Messages with this key; None without one."""
    return ProviderSettings(name, ANTHROPIC, (url or ANTHROPIC_URL).rstrip("/"), key) if key else None


def of_bedrock(
    region: str | None,
    *,
    url: str | None = None,
    access_key: str | None = None,
    key: str | None = None,
    allowed: Iterable[str] = (),
    own: str | None = None,
) -> ProviderSettings | None:
    """Bedrock in this region; None without one. Without `key`, requests are signed with the credentials of the process. `own`:
    the name of a provider of a tenant's own, which is never signed with these.

    Raises: InvalidArgument for a region of another form, which would be part of the address, and for a provider of one's own
    without a key.
    """
    if not region:
        return None
    if not is_region(region):
        raise InvalidArgument(f"{own or BEDROCK}: {region!r} is not an AWS region; name one like eu-central-1")
    if own is not None and not key:
        raise InvalidArgument(
            f"{own}: Bedrock needs api_key: the secret of the access key in access_key, or a Bedrock API key without an access_key"
        )
    address = (url or runtime_url(region)).rstrip("/")
    return ProviderSettings(own or BEDROCK, BEDROCK, address, key, region=region, access_key=access_key, allowed=tuple(allowed))


def is_location(name: str) -> bool:
    """Whether this has the form of a location's name on Vertex AI. It becomes part of an address."""
    return name in ("global", *_MULTI_REGIONS) or _LOCATION.fullmatch(name) is not None


def vertex_url(location: str) -> str:
    """The address of Vertex AI in a location, whose form `of_vertex` checks: a region, one of two multi-regions, or the whole
    world (cloud.google.com/vertex-ai/generative-ai/docs/learn/locations; the multi-regions: googleapis/python-genai).
    """
    if location == "global":
        return "https://aiplatform.googleapis.com"
    if location in _MULTI_REGIONS:
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"


def of_vertex(
    project: str | None, location: str | None, credentials: str | None = None, url: str | None = None, *, own: str | None = None
) -> ProviderSettings | None:
    """Gemini on Vertex AI; None without a project and a location. `credentials`: as `GoogleTokens` takes them. `own`: the name of
    a provider of a tenant's own, which never uses the credentials of the process.

    Raises: InvalidArgument for a location of another form, which would be part of the address, and for a provider of one's own
    without credentials.
    """
    if not project or not location:
        return None
    if not is_location(location):
        raise InvalidArgument(
            f"{own or VERTEX}: {location!r} is not a location of Vertex AI; name one like europe-west4, or global"
        )
    if own is not None and not credentials:
        raise InvalidArgument(f"{own}: Vertex AI needs api_key: the key of a service account, as JSON")
    address = (url or vertex_url(location)).rstrip("/")
    path = f"/v1/projects/{quote(project, safe='')}/locations/{location}/publishers/google"
    return ProviderSettings(own or VERTEX, VERTEX, address + path, credentials, region=location)


def configured(secrets: Secrets) -> list[ProviderSettings]:
    """What the secrets configure, in the order of the dialects, then Anthropic, Bedrock and Vertex AI. A location that is not one
    leaves Vertex AI out, and is logged.
    """
    rows = [of_dialect(dialect, secrets.get(dialect.key), _address_of(dialect, secrets)) for dialect in DIALECTS]
    rows.append(of_anthropic(secrets.get("ANTHROPIC_API_KEY"), secrets.get("ANTHROPIC_BASE_URL")))
    allowed = [each.strip() for each in (secrets.get("BEDROCK_MODELS") or "").split(",") if each.strip()]
    rows.append(of_bedrock(secrets.get("BEDROCK_REGION"), url=secrets.get("BEDROCK_BASE_URL"), allowed=allowed))
    project, location, credentials, vertex = (secrets.get(name) for name in VERTEX_NAMES)
    try:
        rows.append(of_vertex(project, location, credentials, vertex))
    except InvalidArgument as error:
        logger.error("provider refused", extra={"provider": VERTEX, "reason": error.detail})
    return [row for row in rows if row is not None]


def _address_of(dialect: Dialect, secrets: Secrets) -> str | None:
    return secrets.get(dialect.address) or (secrets.get(dialect.older_address) if dialect.older_address else None)


def provider_aliases(secrets: Secrets) -> dict[str, str]:
    """Further first parts of handles, with the names of their providers: those of V1, and those that the deployment sets. A
    provider's own name is never one.
    """
    found = {alias: dialect.name for dialect in DIALECTS for alias in dialect.aliases}
    for dialect in DIALECTS:
        if dialect.handle_base and (base := (secrets.get(dialect.handle_base) or "").strip("/")):
            found[base] = dialect.name
    return {alias: name for alias, name in found.items() if alias not in _NAMES}


def redaction_of(secrets: Secrets, providers: Iterable[ProviderSettings] = ()) -> Redaction:
    """The redaction of texts for clients: every key and password among the secrets, whether or not it configures a provider, and
    the keys of `providers`.
    """
    found = [(secrets.get(dialect.key), _address_of(dialect, secrets)) for dialect in DIALECTS]
    found.append((secrets.get("ANTHROPIC_API_KEY"), secrets.get("ANTHROPIC_BASE_URL")))
    found.append((secrets.get("GOOGLE_APPLICATION_CREDENTIALS"), secrets.get("GOOGLE_VERTEX_BASE_URL")))
    found += [(key, provider.url) for provider in providers for key in (provider.key, provider.access_key)]
    return Redaction([key for key, _ in found], [url for _, url in found])
