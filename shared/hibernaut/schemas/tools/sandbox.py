"""Sandbox configurations and their environment variables (Letta V1 API, API 3 and 4.11). A tenant has one, of the type
local.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from hibernaut.schemas.base import JsonObject, Moment, Schema, StrictSchema
from hibernaut.schemas.ids import DEFAULT_ORGANIZATION, pattern
from hibernaut.schemas.limits import Name, Note, Small
from hibernaut.schemas.stored import Stored
from hibernaut.schemas.tools.tool import PipRequirement

MOST_VARIABLES = 200
"""The largest number of variables of a configuration."""
LONGEST_VALUE = 16_384
"""The longest value of a variable in characters."""
SandboxConfigId = Annotated[str, StringConstraints(pattern=pattern("sandbox"))]
SandboxVariableId = Annotated[str, StringConstraints(pattern=pattern("sandbox-env"))]
VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,199}$")]
VariableValue = Annotated[str, StringConstraints(max_length=LONGEST_VALUE)]
SandboxType = Literal["local", "e2b", "modal"]


class LocalSandbox(StrictSchema):
    """The settings of local tools in V1. In Hibernaut every tool has its own folder and packages, so these settings are stored
    and returned without effect.
    """

    sandbox_dir: Name | None = None
    use_venv: bool = False
    venv_name: Name = "venv"
    pip_requirements: Small[list[PipRequirement]] = Field(default_factory=list, max_length=100)


class SandboxConfigCreate(StrictSchema):
    """The body of POST /v1/sandbox-config/."""

    config: LocalSandbox


class SandboxConfigUpdate(StrictSchema):
    """The body of PATCH /v1/sandbox-config/{id}. Null changes nothing."""

    config: LocalSandbox | None = None


class SandboxConfig(Schema):
    """A configuration as the API shows it."""

    id: str
    type: SandboxType = "local"
    organization_id: str = DEFAULT_ORGANIZATION
    config: JsonObject


class SandboxVariableCreate(StrictSchema):
    """A new variable."""

    key: VariableName
    value: VariableValue
    description: Note | None = None


class SandboxVariableUpdate(StrictSchema):
    """Changes of a variable. Null changes nothing."""

    key: VariableName | None = None
    value: VariableValue | None = None
    description: Note | None = None


class SandboxVariable(Schema):
    """A variable as the API shows it. `value` is null unless the caller requested it and may read it."""

    id: str
    key: str
    value: str | None = None
    description: str | None = None
    sandbox_config_id: str
    organization_id: str = DEFAULT_ORGANIZATION
    value_enc: None = None
    created_at: Moment
    updated_at: Moment


class StoredVariable(Schema):
    """A variable as stored: its value is sealed in `value_enc` (`store.table.secret_vault`)."""

    id: str
    key: str
    value: str = ""
    value_enc: str | None = None
    description: str | None = None
    created_at: Moment
    updated_at: Moment


class StoredSandbox(Stored):
    """The record in the table: the configuration of a tenant with its variables. `version` counts changes; `id` empty: there is
    none.
    """

    id: str = ""
    config: LocalSandbox = Field(default_factory=LocalSandbox)
    variables: list[StoredVariable] = Field(default_factory=list)
    version: int = 0

    def wire(self) -> SandboxConfig:
        """The form that clients see, without the variables."""
        return SandboxConfig(id=self.id, config=self.config.model_dump(mode="json"))
