"""The sandbox configuration with its variables, and the users and organizations of V1's administration."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

PACKAGES = "V1 installs packages of the configuration into a virtual environment; here each tool has its own."
MASKED = "V1 shows the values of variables; here they are null unless a key of the scope admin asks by `include=values`."
TENANT = "V1 has users and organizations as records; here a tenant is one organization with one user."
ROWS = (
    done("sandbox.list", "API 3", "The configuration of the type local, if there is one.", "GET /v1/sandbox-config/"),
    done(
        "sandbox.create", "API 3", "Creates the local configuration, or changes the one that exists.", "POST /v1/sandbox-config/"
    ),
    done(
        "sandbox.local.default",
        "API 3",
        "The local configuration, which is created if there is none.",
        "POST /v1/sandbox-config/local/default",
    ),
    done(
        "sandbox.local.create",
        "API 3",
        "Creates the local configuration from its settings, or changes the one that exists.",
        "POST /v1/sandbox-config/local",
    ),
    diverging(
        "sandbox.local.venv",
        "API 3",
        "Returns the configuration and recreates nothing; `pip_requirements` of a configuration are refused (400).",
        PACKAGES,
        "POST /v1/sandbox-config/local/recreate-venv",
    ),
    done("sandbox.update", "API 3", "Changes the settings.", "PATCH /v1/sandbox-config/{sandbox_config_id}"),
    done(
        "sandbox.delete",
        "API 3",
        "Deletes the configuration with its variables (204).",
        "DELETE /v1/sandbox-config/{sandbox_config_id}",
    ),
    diverging(
        "sandbox.variables.list",
        "API 3",
        "The variables without their values.",
        MASKED,
        "GET /v1/sandbox-config/{sandbox_config_id}/environment-variable",
    ),
    diverging(
        "sandbox.variables.create",
        "API 3",
        "Adds a variable, which all custom tools get; the reply has no value.",
        MASKED,
        "POST /v1/sandbox-config/{sandbox_config_id}/environment-variable",
    ),
    diverging(
        "sandbox.variables.update",
        "API 3",
        "Changes a variable; the reply has no value.",
        MASKED,
        "PATCH /v1/sandbox-config/environment-variable/{env_var_id}",
    ),
    done(
        "sandbox.variables.delete",
        "API 3",
        "Deletes a variable (204).",
        "DELETE /v1/sandbox-config/environment-variable/{env_var_id}",
    ),
    done("sandbox.variables.precedence", "RT 10", "A variable of an agent wins over one of the sandbox configuration."),
    diverging("admin.users.list", "API 3", "The one user of the caller's tenant.", TENANT, "GET /v1/admin/users/"),
    diverging("admin.orgs.list", "API 3", "The caller's tenant as an organization.", TENANT, "GET /v1/admin/orgs/"),
)
