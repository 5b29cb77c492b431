"""A KMS key of one's own for all stored data: what it encrypts, who may use it, and what the page says about its policy."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from infra.artifacts import ROOT
from infra.settings import settings_in
from tests.infra.conftest import OLD_KEY, OWN_KEY
from tests.infra.reading import Template, listed, texts

DOMAIN = "AWS::OpenSearchService::Domain"


def keys_of(template: Template) -> dict[str, list[Any]]:
    """What encrypts each resource with data, by type."""
    found = {
        "AWS::DynamoDB::Table": lambda made: made["SSESpecification"]["KMSMasterKeyId"],
        "AWS::S3::Bucket": lambda made: made["BucketEncryption"]["ServerSideEncryptionConfiguration"][0][
            "ServerSideEncryptionByDefault"
        ]["KMSMasterKeyID"],
        "AWS::Logs::LogGroup": lambda made: made["KmsKeyId"],
        "AWS::SQS::Queue": lambda made: made["KmsMasterKeyId"],
        "AWS::SNS::Topic": lambda made: made["KmsMasterKeyId"],
    }
    return {kind: [of(each["Properties"]) for each in template.of_type(kind).values()] for kind, of in found.items()}


def test_the_key_encrypts_everything_that_is_stored(large: Template, walled: Template) -> None:
    assert [key for keys in keys_of(large).values() for key in keys if key != OWN_KEY] == []
    (own,) = (name for name in walled.of_type("AWS::KMS::Key") if name.startswith("DataKey"))
    found = keys_of(walled)
    assert all(found.values())
    assert [key for keys in found.values() for key in keys if key != {"Fn::GetAtt": [own, "Arn"]}] == []
    assert large.only(DOMAIN)["Properties"]["EncryptionAtRestOptions"]["KmsKeyId"] == OWN_KEY.rpartition("/")[2]
    (policy,) = (
        each["Properties"]["Policy"]
        for each in walled.of_type("AWS::OpenSearchServerless::SecurityPolicy").values()
        if each["Properties"]["Type"] == "encryption"
    )
    assert '"AWSOwnedKey":false' in "".join(texts(policy))
    assert own in "".join(texts(policy))


def test_without_it_aws_s_own_keys_do(dev: Template) -> None:
    text = json.dumps(dev.resources)
    assert "SSESpecification" not in text
    assert "KmsKeyId" not in text
    assert "KmsMasterKeyId" not in text


def uses(template: Template, function: str) -> dict[str, set[str]]:
    """Service -> the actions that the function's role may have it do with the key."""
    through = [one for one in template.statements(template.role_of(function)) if "kms:ViaService" in json.dumps(one)]
    older = [one for one in through if one["Resource"] == OLD_KEY]
    assert [one for one in older if one["Action"] != "kms:Decrypt"] == []
    through = [one for one in through if one not in older]
    assert all(one["Resource"] == OWN_KEY for one in through)
    assert len(older) == len([one for one in through if "sqs." not in json.dumps(one)])
    return {"".join(texts(one["Condition"])).partition(".")[0]: set(listed(one["Action"])) for one in through}


def test_a_role_uses_the_key_through_the_services_of_its_function_alone(large: Template) -> None:
    storing, reading = {"dynamodb", "s3"}, {"dynamodb", "s3", "ssm"}
    assert {name: set(uses(large, name)) for name in large.functions()} == {
        **dict.fromkeys(("api", "stream", "socket", "advance_turn", "summarize"), reading),
        **dict.fromkeys(("request_approval", "close_run"), storing),
        "sweep_runs": {*reading, "sqs"},
        "ingest_file": {*reading, "sqs"},
        "index_memory": {*reading, "sqs"},
        "fire_schedule": {*reading, "sqs"},
        "deliver_events": {"dynamodb", "sqs"},
        "run_tool": set(),
        "run_node": set(),
        "build_packages": {"s3"},
    }
    assert uses(large, "api")["ssm"] == {"kms:Decrypt"}
    assert uses(large, "api")["s3"] == {"kms:Decrypt", "kms:GenerateDataKey"}
    assert not any("CreateGrant" in action for action in uses(large, "api")["dynamodb"])


def test_the_schedules_may_send_to_the_encrypted_queue(large: Template) -> None:
    roles = [name for name in large.of_type("AWS::IAM::Role") if name.startswith(("EveryMinute", "MemoryFeed"))]
    assert len(roles) == 2
    for role in roles:
        assert any("kms:GenerateDataKey" in listed(statement["Action"]) for statement in large.statements(role))


def policy_of(statements: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Service -> actions; the region is left open."""
    return {
        re.sub(r"^logs\..*", "logs", "".join(texts(one["Principal"]["Service"]))): set(listed(one["Action"]))
        for one in statements
        if "Service" in one["Principal"]
    }


def test_the_page_has_the_policy_that_a_key_needs(walled: Template) -> None:
    (key,) = (each for name, each in walled.of_type("AWS::KMS::Key").items() if name.startswith("DataKey"))
    page = (ROOT / "docs" / "aws.md").read_text(encoding="utf-8").partition("### A key of your own")[2]
    shown = json.loads(page.partition("```json\n")[2].partition("```")[0])
    made = key["Properties"]["KeyPolicy"]["Statement"]
    assert policy_of(shown) == policy_of(made)
    assert set(policy_of(made)) == {"logs", "events.amazonaws.com", "cloudwatch.amazonaws.com"}
    assert all("Condition" in one for one in made if "Service" in one["Principal"])


@pytest.mark.parametrize(
    "value", ["alias/mine", "mine", "arn:aws:kms:eu-central-1:123456789012:alias/mine", "STACK", f"{OWN_KEY},stack"]
)
def test_what_names_no_key_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="dataKey must be a key's ARN"):
        settings_in({"dataKey": value})
