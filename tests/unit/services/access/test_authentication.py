"""Authentication: which requests are refused, what a request costs, and how soon a change of a key is noticed."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest

from hibernaut.domain.api_keys import format_key
from hibernaut.schemas.access.api_key import CreateApiKey, CreatedApiKey, RotateApiKey, UpdateApiKey
from hibernaut.schemas.access.scope import Scope
from hibernaut.schemas.errors import NotFound, StoreUnavailable, Unauthenticated
from hibernaut.services.access.access import Access
from hibernaut.services.access.authentication import FRESH_SECONDS, KEYLESS, MOST_REMEMBERED
from hibernaut.store.table import keys
from tests.support.tables import all_items
from tests.unit.services.access.conftest import Deployment


def new_key(access: Access, tenant: str = "acme", scope: Scope = Scope.WRITE) -> CreatedApiKey:
    return access.keys_of(tenant).create(CreateApiKey(scope=scope))


def fault(access: Access, presented: str | None) -> str | None:
    """Why the request is refused; None: it is not."""
    try:
        if access.authentication.remembered(presented) is None:
            access.authentication.authenticate(presented)
    except Unauthenticated as error:
        return error.fault
    return None


def test_the_tenant_and_the_scope_come_from_the_key(deployment: Deployment) -> None:
    access = deployment.process()
    for tenant, scope in (("acme", Scope.READ), ("other", Scope.ADMIN)):
        principal = access.authentication.authenticate(new_key(access, tenant, scope).key)
        assert (principal.tenant, principal.scope) == (tenant, scope)


def test_a_warm_process_reads_nothing_and_a_cold_cache_one_item(deployment: Deployment) -> None:
    key = new_key(deployment.process()).key
    access = deployment.process()
    deployment.reads()
    assert fault(access, key) is None
    assert deployment.reads() == 2  # the pepper, once per process, and the key
    for _ in range(10):
        assert fault(access, key) is None
    assert deployment.reads() == 0
    deployment.clock.sleep(FRESH_SECONDS)
    assert fault(access, key) is None
    assert deployment.reads() == 1


@pytest.mark.parametrize("presented", [None, "", "any", "hib_x"])
def test_what_is_no_key_is_refused_without_a_read(deployment: Deployment, presented: str | None) -> None:
    access = deployment.process()
    new_key(access)
    deployment.reads()
    assert fault(access, presented) == ("missing" if presented is None else "malformed")
    assert deployment.reads() == 0


def test_an_unknown_key_is_read_once_in_five_seconds(deployment: Deployment) -> None:
    access = deployment.process()
    new_key(access)
    deployment.reads()
    for _ in range(10):
        assert fault(access, format_key(b"x" * 32)) == "unknown"
    assert deployment.reads() == 1


def test_many_unknown_keys_take_a_bounded_memory(deployment: Deployment) -> None:
    access = deployment.process()
    new_key(access)
    for number in range(MOST_REMEMBERED + 10):
        fault(access, format_key(number.to_bytes(32, "big")))
    assert len(access.authentication._answers) == MOST_REMEMBERED


def test_a_revoked_key_dies_at_once_here_and_within_five_seconds_elsewhere(deployment: Deployment) -> None:
    here, elsewhere = deployment.process(), deployment.process()
    made = new_key(here)
    assert [fault(here, made.key), fault(elsewhere, made.key)] == [None, None]
    here.keys_of("acme").revoke(made.id)
    assert [fault(here, made.key), fault(elsewhere, made.key)] == ["revoked", None]
    deployment.clock.sleep(FRESH_SECONDS)
    assert fault(elsewhere, made.key) == "revoked"


def test_a_key_expires_on_time_also_where_it_is_remembered(deployment: Deployment) -> None:
    access = deployment.process()
    made = new_key(access)
    access.keys_of("acme").update(made.id, UpdateApiKey(expires_at=deployment.clock.now() + timedelta(seconds=1)))
    assert fault(access, made.key) is None
    deployment.clock.sleep(1)
    assert fault(access, made.key) == "expired"


def test_a_key_of_a_tenant_whose_keys_were_deleted_is_unknown(deployment: Deployment) -> None:
    access = deployment.process()
    gone, kept = new_key(access), new_key(access, "other")
    access.keys_of("acme").delete_all()
    assert [fault(access, gone.key), fault(access, kept.key)] == ["unknown", None]
    assert access.keys_of("acme").list() == []


def test_without_keys_everybody_is_the_default_tenant_until_the_first_key(deployment: Deployment) -> None:
    served, command = deployment.process(required=False), deployment.process()
    assert served.authentication.authenticate(None) == KEYLESS
    deployment.reads()
    assert served.authentication.remembered("any") == KEYLESS
    assert deployment.reads() == 0
    made = new_key(command)
    deployment.clock.sleep(FRESH_SECONDS)
    assert [fault(served, None), fault(served, made.key)] == ["missing", None]
    command.keys_of("acme").revoke(made.id)
    deployment.clock.sleep(FRESH_SECONDS)
    assert fault(served, None) == "missing"  # a server with keys never opens again by itself


def test_where_keys_are_required_nobody_is_served_before_the_first(deployment: Deployment) -> None:
    access = deployment.process()
    assert [fault(access, None), fault(access, format_key(b"x" * 32))] == ["missing", "unknown"]
    deployment.reads()
    assert fault(access, None) == "missing"
    assert deployment.reads() == 0


@pytest.mark.parametrize("required", [True, False])
def test_the_first_key_works_at_once_although_it_was_known_that_there_are_none(deployment: Deployment, required: bool) -> None:
    served, command = deployment.process(required=required), deployment.process()
    assert fault(served, None) == ("missing" if required else None)
    made = new_key(command)
    assert fault(served, made.key) is None


def test_the_last_use_is_written_once_a_minute_for_all_processes(deployment: Deployment) -> None:
    first, second = deployment.process(), deployment.process()
    made = new_key(first)

    def used(access: Access) -> bool:
        principal = access.authentication.authenticate(made.key)
        due = access.authentication.use_is_due(principal)
        access.authentication.note_use(principal)
        return due

    assert [used(first), used(first), used(second), used(second)] == [True, False, True, False]
    assert first.keys_of("acme").get(made.id).last_used_at == deployment.clock.now()
    at = deployment.clock.now()
    deployment.clock.sleep(59)
    used(second)
    assert first.keys_of("acme").get(made.id).last_used_at == at
    deployment.clock.sleep(2)
    assert used(first)
    assert first.keys_of("acme").get(made.id).last_used_at == deployment.clock.now()


def test_a_rotation_keeps_the_old_key_for_the_grace_period(deployment: Deployment) -> None:
    access = deployment.process()
    made = new_key(access)
    successor = access.keys_of("acme").rotate(made.id, RotateApiKey(grace_seconds=60))
    assert [fault(access, made.key), fault(access, successor.key)] == [None, None]
    deployment.clock.sleep(60)
    assert [fault(access, made.key), fault(access, successor.key)] == ["expired", None]
    assert successor.id != made.id


def test_two_processes_that_create_the_first_key_share_one_pepper(deployment: Deployment) -> None:
    one, other = deployment.process(), deployment.process()
    other._parts.pepper.exists()  # knows that there is none
    keys_made = [new_key(one).key, new_key(other).key]
    assert [fault(deployment.process(), key) for key in keys_made] == [None, None]


def test_neither_a_key_nor_the_pepper_is_in_the_table_or_the_log(
    deployment: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    access = deployment.process()
    made = new_key(access)
    fault(access, made.key)
    pepper = access._parts.pepper._bytes
    assert pepper is not None
    written = repr(all_items(deployment.engine)) + caplog.text
    assert made.key.split("_")[1] not in written
    assert pepper.hex() not in written
    assert repr(access.authentication.authenticate(made.key)).count(made.key) == 0


def test_a_pepper_of_another_master_key_is_an_error_by_name(deployment: Deployment) -> None:
    made = new_key(deployment.process())
    (deployment.folder / "secrets.key").write_text("0" * 64)
    with pytest.raises(StoreUnavailable, match="another master key"):
        deployment.process().authentication.authenticate(made.key)


def test_a_key_id_of_another_tenant_is_not_found(deployment: Deployment) -> None:
    access = deployment.process()
    made = new_key(access, "other")
    ours = access.keys_of("acme")
    for act in (ours.get, ours.revoke):
        with pytest.raises(NotFound):
            act(made.id)
    assert fault(access, made.key) is None
    assert deployment.engine.get(keys.api_key_row("acme", made.id)) is None
