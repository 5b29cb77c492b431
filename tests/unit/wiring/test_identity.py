"""The settings of an identity provider: what they mean, and what is refused with the variable's name."""

from __future__ import annotations

import pytest

from hibernaut.schemas.access.scope import Scope
from hibernaut.wiring.identity import JWT_NAMES, identity_in
from hibernaut.wiring.settings import AwsSettings, BadSetting, EmbeddedSettings

ISSUER = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_AbCdEf"
USUAL = {"HIBERNAUT_JWT_ISSUER": ISSUER, "HIBERNAUT_JWT_AUDIENCE": "app, other"}


def test_both_profiles_read_the_same_rules() -> None:
    for settings in (EmbeddedSettings.from_environment(USUAL), AwsSettings.from_environment(USUAL | {"HIBERNAUT_TABLE": "t"})):
        rules = settings.identity
        assert rules is not None
        assert (rules.issuer, rules.audiences, rules.tenant_claim, rules.scope_claim) == (
            ISSUER,
            ("app", "other"),
            "tenant",
            "scope",
        )
        assert dict(rules.scopes) == {f"hibernaut:{scope}": scope for scope in Scope}
        assert rules.default_scope is None
        assert hash(settings.identity)  # builders are cached by their settings


def test_without_an_issuer_no_token_is_accepted() -> None:
    assert identity_in({}) is None


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        *(
            ({"HIBERNAUT_JWT_ISSUER": "", "HIBERNAUT_JWT_AUDIENCE": "", name: "x"}, f"{name} needs HIBERNAUT_JWT_ISSUER")
            for name in JWT_NAMES[2:]
        ),
        ({"HIBERNAUT_JWT_ISSUER": "http://id.example.com"}, "HIBERNAUT_JWT_ISSUER must be an address"),
        ({"HIBERNAUT_JWT_ISSUER": "https://id.example.com/?a=b"}, "HIBERNAUT_JWT_ISSUER must be an address"),
        ({"HIBERNAUT_JWT_ISSUER": "id.example.com"}, "HIBERNAUT_JWT_ISSUER must be an address"),
        ({"HIBERNAUT_JWT_AUDIENCE": " , "}, "HIBERNAUT_JWT_AUDIENCE must name the audience"),
        ({"HIBERNAUT_JWT_DEFAULT_SCOPE": "admin"}, "HIBERNAUT_JWT_DEFAULT_SCOPE must be write, read or none, not 'admin'"),
        ({"HIBERNAUT_JWT_SCOPES": "editors"}, "HIBERNAUT_JWT_SCOPES must be pairs like editors=write"),
        ({"HIBERNAUT_JWT_SCOPES": "editors=owner"}, "HIBERNAUT_JWT_SCOPES must be pairs like editors=write"),
        ({"HIBERNAUT_JWT_SCOPES": "a=read,a=write"}, "HIBERNAUT_JWT_SCOPES must be pairs like editors=write"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_with_its_name(changed: dict[str, str], named: str) -> None:
    with pytest.raises(BadSetting, match=named):
        EmbeddedSettings.from_environment(USUAL | changed)
