"""SnapStart by setting: which functions are restored from a snapshot, and that callers invoke the version that has one."""

from __future__ import annotations

import json

from hibernaut.schemas.base import JsonObject
from infra.constructs.functions import SNAPSHOT
from infra.constructs.releases import SHIFTED
from infra.settings import settings_in
from tests.infra.reading import Template


def names(template: Template, kind: str) -> dict[str, str]:
    """The logical ids of these resources by the functions that they belong to."""
    handlers = {
        name: resource["Properties"]["Handler"].replace("/", ".").split(".")[1]
        for name, resource in template.of_type("AWS::Lambda::Function").items()
    }
    return {handlers[resource["Properties"]["FunctionName"]["Ref"]]: name for name, resource in template.of_type(kind).items()}


def test_no_function_has_a_snapshot_unless_one_asks_for_it(dev: Template) -> None:
    assert settings_in({}).snap_start is False
    assert dev.of_type("AWS::Lambda::Version") == {}
    assert [name for name, function in dev.functions().items() if "SnapStart" in function] == []


def test_those_that_a_caller_waits_for_have_one(large: Template) -> None:
    restored = {name: function["SnapStart"] for name, function in large.functions().items() if "SnapStart" in function}
    assert restored == {name: {"ApplyOn": "PublishedVersions"} for name in SNAPSHOT}
    versions, aliases = names(large, "AWS::Lambda::Version"), names(large, "AWS::Lambda::Alias")
    assert set(versions) == set(aliases) == {*SNAPSHOT, *SHIFTED}
    for name, alias in aliases.items():
        properties = large.resources[alias]["Properties"]
        assert properties["Name"] == "live"
        assert properties["FunctionVersion"] == {"Fn::GetAtt": [versions[name], "Version"]}


def test_what_snap_start_excludes_is_not_at_these_functions(large: Template) -> None:
    """AWS Lambda developer guide: no EFS, no ephemeral storage over 512 MB, no provisioned concurrency, no tenant isolation, no
    image.
    """
    for name in SNAPSHOT:
        function: JsonObject = large.functions()[name]
        assert not {"FileSystemConfigs", "EphemeralStorage", "TenancyConfig", "ImageConfig"} & set(function)
        assert function["Runtime"] == "python3.13"
    aliases = large.of_type("AWS::Lambda::Alias").values()
    assert [alias for alias in aliases if "ProvisionedConcurrencyConfig" in alias["Properties"]] == []


def test_callers_invoke_the_version_that_has_the_snapshot(large: Template) -> None:
    aliases = names(large, "AWS::Lambda::Alias")
    machine = large.only("AWS::StepFunctions::StateMachine")["Properties"]
    assert machine["DefinitionSubstitutions"]["AdvanceTurn"] == {"Ref": aliases["advance_turn"]}
    allowed = json.dumps(large.statements(machine["RoleArn"]["Fn::GetAtt"][0]))
    assert json.dumps({"Ref": aliases["advance_turn"]}) in allowed
    uris = [
        json.dumps(method["Properties"]["Integration"].get("Uri")) for method in large.of_type("AWS::ApiGateway::Method").values()
    ]
    assert any(aliases["api"] in uri for uri in uris)
    unqualified = next(
        name
        for name, one in large.of_type("AWS::Lambda::Function").items()
        if one["Properties"]["Handler"].startswith("functions.api.")
    )
    assert [uri for uri in uris if json.dumps({"Fn::GetAtt": [unqualified, "Arn"]}) in uri] == []
    permissions = [one["Properties"]["FunctionName"] for one in large.of_type("AWS::Lambda::Permission").values()]
    assert {"Ref": aliases["api"]} in permissions
