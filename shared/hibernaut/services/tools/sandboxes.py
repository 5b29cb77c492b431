"""The sandbox configuration of a tenant and its environment variables, which all its custom tools get (Letta V1 API, API 3;
RT 10).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from hibernaut.ports.storage.table import ConditionFailed
from hibernaut.schemas.errors import Conflict, InvalidArgument, NotFound
from hibernaut.schemas.tools.sandbox import (
    MOST_VARIABLES,
    LocalSandbox,
    SandboxConfig,
    SandboxVariable,
    SandboxVariableCreate,
    SandboxVariableUpdate,
    StoredSandbox,
    StoredVariable,
)
from hibernaut.services.host import Host
from hibernaut.store.stores import TenantStores
from hibernaut.store.table.optimistic_retry import until_settled

TRIES = 20


class Sandboxes:
    """The use cases of one tenant's sandbox configuration."""

    def __init__(self, stores: TenantStores, host: Host) -> None:
        self._store = stores.sandboxes
        self._secrets = stores.secrets
        self._writer = stores.writer
        self._clock = host.clock
        self._ids = host.ids

    def all(self) -> list[SandboxConfig]:
        """The configuration, if there is one."""
        found = self._store.get()
        return [found.wire()] if found.id else []

    def set(self, config: LocalSandbox | None = None) -> SandboxConfig:
        """Create the configuration, or change the one that exists, as in V1. None: the default, or the one that exists. Raises:
        InvalidArgument, Conflict.
        """
        _check(config)

        def after(before: StoredSandbox) -> StoredSandbox:
            if before.id and config is None:
                return before
            config_id = before.id or self._ids.new("sandbox")
            return before.model_copy(update={"id": config_id, "config": config or LocalSandbox()})

        return self._changed(after).wire()

    def update(self, config_id: str, config: LocalSandbox | None) -> SandboxConfig:
        """Change the settings. Raises: NotFound, InvalidArgument, Conflict."""
        _check(config)

        def after(before: StoredSandbox) -> StoredSandbox:
            _is(before, config_id)
            return before if config is None else before.model_copy(update={"config": config})

        return self._changed(after).wire()

    def delete(self, config_id: str) -> None:
        """Delete the configuration with its variables. Raises: NotFound, Conflict."""
        before = self._store.get()
        _is(before, config_id)
        try:
            self._writer.write(self._store.delete(before))
        except ConditionFailed:
            raise Conflict("CONFLICT: The sandbox configuration is being changed by another request; try again.") from None
        self._store.now.forget()

    def variables(self, config_id: str, *, values: bool) -> list[SandboxVariable]:
        """The variables, oldest first; `values`: with their values. Raises: NotFound, SecretUnreadable, MasterKeyUnavailable."""
        found = self._store.get()
        _is(found, config_id)
        return [self._shown(found, each, values=values) for each in found.variables]

    def add(self, config_id: str, request: SandboxVariableCreate) -> SandboxVariable:
        """Add a variable. Raises: NotFound, Conflict (its name is taken, or there are too many), MasterKeyUnavailable."""
        now = self._clock.now()
        variable = StoredVariable(id=self._ids.new("sandbox-env"), created_at=now, updated_at=now, **request.model_dump())

        def after(before: StoredSandbox) -> StoredSandbox:
            _is(before, config_id)
            if len(before.variables) >= MOST_VARIABLES:
                raise Conflict(
                    f"CONFLICT: A sandbox configuration has at most {MOST_VARIABLES} variables; delete another one first."
                )
            _check_free(before.variables, request.key)
            return before.model_copy(update={"variables": [*before.variables, variable.model_copy()]})

        return self._shown(self._changed(after), variable, values=False)

    def change(self, variable_id: str, request: SandboxVariableUpdate) -> SandboxVariable:
        """Change a variable. Raises: NotFound, Conflict, SecretUnreadable, MasterKeyUnavailable."""

        def after(before: StoredSandbox) -> StoredSandbox:
            current = _variable(before, variable_id)
            other_variables = [each for each in before.variables if each.id != variable_id]
            if request.key is not None:
                _check_free(other_variables, request.key)
            updated = self._updated(before.id, current, request, self._clock.now())
            return before.model_copy(
                update={"variables": [updated if each.id == variable_id else each for each in before.variables]}
            )

        stored = self._changed(after)
        return self._shown(stored, _variable(stored, variable_id), values=False)

    def remove(self, variable_id: str) -> None:
        """Delete a variable. Raises: NotFound, Conflict."""

        def after(before: StoredSandbox) -> StoredSandbox:
            _variable(before, variable_id)
            return before.model_copy(update={"variables": [each for each in before.variables if each.id != variable_id]})

        self._changed(after)

    def _updated(self, owner: str, current: StoredVariable, request: SandboxVariableUpdate, now: datetime) -> StoredVariable:
        """The variable after a change. A value is sealed for its name, so a new name seals it anew."""
        fields = request.model_dump(exclude_none=True)
        if request.value is not None or (request.key is not None and request.key != current.key):
            value = request.value if request.value is not None else self._secrets.value(owner, current)
            fields |= {"value": value, "value_enc": None}
        return current.model_copy(update={**fields, "updated_at": now})

    def _shown(self, owner: StoredSandbox, variable: StoredVariable, *, values: bool) -> SandboxVariable:
        value = self._secrets.value(owner.id, variable) if values else None
        fields = variable.model_dump(exclude={"value", "value_enc"})
        return SandboxVariable(**fields, value=value, sandbox_config_id=owner.id)

    def _changed(self, after: Callable[[StoredSandbox], StoredSandbox]) -> StoredSandbox:
        """Change the record. Raises: Conflict, and what `after` raises."""

        def attempt() -> StoredSandbox:
            before, token = self._store.get(), self._ids.token()
            updated = after(before)
            if updated is not before:
                self._writer.write(self._store.change(before, updated, token), token=token)
                self._store.now.forget()
            return updated

        return until_settled(
            attempt, "CONFLICT: The sandbox configuration keeps being changed by other requests; try again.", tries=TRIES
        )


def _is(found: StoredSandbox, config_id: str) -> None:
    """Raises: NotFound."""
    if not found.id or found.id != config_id:
        raise NotFound(f"Sandbox configuration with id {config_id} not found.")


def _variable(found: StoredSandbox, variable_id: str) -> StoredVariable:
    """Raises: NotFound."""
    variable = next((each for each in found.variables if each.id == variable_id), None)
    if variable is None:
        raise NotFound(f"Sandbox environment variable with id {variable_id} not found.")
    return variable


def _check(config: LocalSandbox | None) -> None:
    """Raises: InvalidArgument for packages, which belong to tools here."""
    if config is not None and config.pip_requirements:
        raise InvalidArgument(
            "INVALID_ARGUMENT: Packages of a sandbox configuration are not installed here: give each tool the `pip_requirements` that it imports."
        )


def _check_free(variables: Sequence[StoredVariable], name: str) -> None:
    """Raises: Conflict if another variable has the name."""
    if any(each.key == name for each in variables):
        raise Conflict(f"CONFLICT: The sandbox configuration has a variable {name} already; change that one.")
