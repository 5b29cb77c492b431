"""`hibernaut keys`: creates, lists, rotates and revokes the API keys of a data folder or of a deployed stack.

The key alone is the last line of the standard output, so that a script can read it. Knows the terminal; must not know how keys
are stored.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from hibernaut.local.administration.stack_outputs import aws_errors, outputs_of
from hibernaut.local.profiles import CannotServe
from hibernaut.local.ready import OFFLINE_FILE
from hibernaut.ports.storage.table import TableError
from hibernaut.schemas.access.api_key import ApiKey, CreateApiKey, CreatedApiKey, RotateApiKey, StoredApiKey
from hibernaut.schemas.errors import HibernautError
from hibernaut.schemas.immutable import immutable
from hibernaut.services.access.access import Access
from hibernaut.services.access.api_keys import ApiKeys
from hibernaut.wiring.access import DeployedStack, access_to_folder, access_to_stack
from hibernaut.wiring.data_folder import DataFolderUnusable
from hibernaut.wiring.settings import EmbeddedSettings

OUTPUTS = ("TableName", "BucketName", "SecretsKeyArn")
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


@immutable
class KeyPlace:
    """Where the keys are: the tenant, in a data folder (of either profile of `hibernaut dev`) or in the stack of an environment.
    `data` None: the environment's setting applies.
    """

    tenant: str
    data: str | None = None
    env: str | None = None


def create(place: KeyPlace, fields: dict[str, object], *, as_json: bool) -> None:
    """Create a key and print it. Raises: CannotServe, BadSetting."""
    with _keys(place) as keys:
        key = keys.create(CreateApiKey.model_validate(fields))
    _print_new(key, f"Created {_described(key)}.", as_json=as_json)


def list_keys(place: KeyPlace, *, as_json: bool) -> None:
    """Print all keys of a tenant. Raises: CannotServe, BadSetting."""
    with _keys(place) as keys:
        found = list(_all(keys))
    if as_json:
        print("[" + ",\n ".join(key.public().model_dump_json() for key in found) + "]")
        return
    for key in found:
        print(_line(key))
    if not found:
        print(f"The tenant {place.tenant} has no keys.")


def rotate(place: KeyPlace, key_id: str, *, grace: timedelta, as_json: bool) -> None:
    """Create a key in place of another one and print it. Raises: CannotServe, BadSetting."""
    with _keys(place) as keys:
        key = keys.rotate(key_id, RotateApiKey(grace_seconds=int(grace.total_seconds())))
        before = keys.get(key_id)
    _print_new(key, f"Created {_described(key)}. {key_id} expires at {_time(before.expires_at)}.", as_json=as_json)


def revoke(place: KeyPlace, key_id: str | None, *, as_json: bool) -> None:
    """Revoke one key, or all keys of the tenant (None). Raises: CannotServe, BadSetting."""
    with _keys(place) as keys:
        if key_id is not None:
            keys.revoke(key_id)
            revoked, message = 1, f"Revoked {key_id}. A running server refuses it within 5 seconds."
        else:
            revoked = keys.revoke_all()
            message = f"Revoked {revoked} keys of the tenant {place.tenant}. A running server refuses them within 5 seconds."
    print(json.dumps({"tenant": place.tenant, "key_id": key_id, "revoked": revoked}) if as_json else message)


def duration_of(text: str) -> timedelta:
    """The duration in texts like 90s, 30m, 12h, 7d. Raises: ValueError."""
    match = re.fullmatch(r"([0-9]{1,6})([smhd])", text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration like 30m, 12h or 7d")
    return timedelta(**{UNITS[match[2]]: int(match[1])})


def expiry_of(text: str) -> datetime:
    """The time that a duration from now, or a date or time in ISO 8601, denotes. Raises: ValueError."""
    try:
        return datetime.now(UTC) + duration_of(text)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError(f"{text!r} is neither a duration like 30m, 12h or 7d nor a time like 2030-01-31T12:00:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@contextmanager
def _keys(place: KeyPlace) -> Iterator[ApiKeys]:
    """The tenant's keys. Raises: CannotServe, also for every error of the body."""
    with opened(place) as access:
        yield access.keys_of(place.tenant)


@contextmanager
def opened(place: KeyPlace) -> Iterator[Access]:
    """The access to a data folder or a deployed stack. Raises: CannotServe, also for every error of the body."""
    try:
        with _access(place) as access:
            yield access
    except (DataFolderUnusable, TableError) as error:
        raise CannotServe(str(error)) from error
    except HibernautError as error:
        raise CannotServe(error.detail) from error
    except ValidationError as error:
        raise CannotServe("; ".join(map(_option_fault, error.errors())), 2) from error


def _option_fault(error: ErrorDetails) -> str:
    """An invalid value in one line: its option, if any, and the expected form."""
    option = "".join(f"--{name.replace('_', '-')}: " for name in error["loc"][:1] if isinstance(name, str))
    return option + error["msg"].removeprefix("Value error, ")


@contextmanager
def _access(place: KeyPlace) -> Iterator[Access]:
    if place.env is not None:
        with aws_errors():
            yield access_to_stack(_stack(place.env))
        return
    settings = EmbeddedSettings.from_environment()
    if place.data is not None:
        settings = replace(settings, data=Path(place.data).expanduser())
    if place.data is not None and (settings.data / OFFLINE_FILE).exists():
        with _offline(settings.data) as access:
            yield access
        return
    with access_to_folder(settings) as access:
        yield access


@contextmanager
def _offline(data: Path) -> Iterator[Access]:
    """The access to the state of the profile aws-offline in a folder. Raises: CannotServe."""
    from hibernaut.local.aws_offline.emulator_state import FolderInUse
    from hibernaut.local.aws_offline.offline import OfflineAws
    from hibernaut.wiring.settings import AwsSettings

    try:
        with OfflineAws(data=data) as aws:
            env = AwsSettings.from_environment().env
            yield access_to_stack(DeployedStack(env, *(aws.stack.outputs[output] for output in OUTPUTS)))
    except FolderInUse as error:
        raise CannotServe(f"{error}; a running server creates keys at POST /v1/api-keys, once it has a first one") from error


def _stack(env: str) -> DeployedStack:
    name = f"hibernaut-{env}"
    outputs = outputs_of(name)
    if missing := [output for output in OUTPUTS if output not in outputs]:
        raise CannotServe(f"the stack {name} has no output {missing[0]}; deploy this version of Hibernaut first")
    return DeployedStack(env, *(outputs[output] for output in OUTPUTS))


def _all(keys: ApiKeys) -> Iterator[StoredApiKey]:
    after = None
    while page := keys.list(after=after):
        yield from page
        after = page[-1].id


def _print_new(key: CreatedApiKey, message: str, *, as_json: bool) -> None:
    if as_json:
        print(key.model_dump_json())
        return
    print(f"{message} The key is shown only now:", file=sys.stdout)
    print(key.key)


def _described(key: ApiKey) -> str:
    named = f" {key.name!r}" if key.name else ""
    return f"{key.id}{named}, tenant {key.tenant}, scope {key.scope}{', client token' if key.kind == 'client' else ''}"


def _line(key: StoredApiKey) -> str:
    now = datetime.now(UTC)
    state = "revoked" if key.revoked_at else "expired" if key.expired(now) else "usable"
    ends = f", until {_time(key.expires_at)}" if key.expires_at and state == "usable" else ""
    return f"{key.id}  {key.hint}…  {key.scope}  {state}{ends}  last used {_time(key.last_used_at)}  {key.name}".rstrip()


def _time(moment: datetime | None) -> str:
    return moment.isoformat(timespec="seconds") if moment is not None else "never"
