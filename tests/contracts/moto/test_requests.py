"""What every request to moto costs beside its own work."""

from __future__ import annotations

import boto3
import pytest
from botocore.useragent import UserAgentString
from moto import mock_aws

from hibernaut.local.aws_offline.moto.fixes import install


def test_the_text_of_a_user_agent_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[UserAgentString] = []
    build = UserAgentString._build_extra

    def counted(agent: UserAgentString) -> object:
        built.append(agent)
        return build(agent)

    monkeypatch.setattr(UserAgentString, "_build_extra", counted)
    install()
    with mock_aws():
        client = boto3.client("sqs")
        for _ in range(3):
            client.list_queues()
        client.close()
    assert len(built) == len({id(agent) for agent in built})


def test_the_machine_types_of_ec2_are_not_read() -> None:
    install()
    from moto.utilities.utils import load_resource

    assert load_resource("ec2/resources/instance_types.json") == {}
    assert load_resource("ec2/resources/instance_type_offerings/region/eu-central-1.json") == {}
    assert load_resource("ec2/resources/amis.json")
