"""The index of memory as it is deployed, and what is not deployed without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hibernaut.adapters.table.dynamodb_requests import wire_key
from hibernaut.local.aws_offline.rules import fits
from hibernaut.schemas.base import JsonObject
from hibernaut.store.table import blob_keys, keys
from hibernaut.wiring.engines.memory_index import PREFIX
from infra.search_settings import Search, search_in, zones_of
from infra.settings import settings_in
from tests.infra.conftest import synthesized
from tests.infra.reading import Template, listed, texts

DOMAIN = "AWS::OpenSearchService::Domain"
MAPPING = "AWS::Lambda::EventSourceMapping"


def domain_of(template: Template) -> JsonObject:
    found: JsonObject = template.only(DOMAIN)["Properties"]
    return found


def told(template: Template, key: keys.Key, name: str = "INSERT") -> bool:
    """Whether the stream tells `index_memory` of a change of this item."""
    (pattern,) = template.feed_of("index_memory")["FilterCriteria"]["Filters"]
    return fits(json.loads(pattern["Pattern"]), {"eventName": name, "dynamodb": {"Keys": wire_key(key)}})


def test_unless_it_is_asked_for_there_is_no_index_and_nothing_that_feeds_one(prod: Template) -> None:
    assert "index_memory" not in prod.functions()
    assert not prod.of_type(DOMAIN)
    assert len(prod.of_type(MAPPING)) == 1  # that of deliver_events
    assert [text for text in texts(prod.resources) if text.startswith("es:")] == []
    assert all("HIBERNAUT_OPENSEARCH" not in made["Environment"]["Variables"] for made in prod.functions().values())


def test_the_domain_is_encrypted_everywhere_and_speaks_https_only(dev: Template) -> None:
    made = domain_of(dev)
    assert made["EncryptionAtRestOptions"] == made["NodeToNodeEncryptionOptions"] == {"Enabled": True}
    assert made["DomainEndpointOptions"]["EnforceHTTPS"] is True
    assert "TLS-1-2" in made["DomainEndpointOptions"]["TLSSecurityPolicy"]
    assert made["EBSOptions"]["VolumeType"] == "gp3"


def test_the_domain_lets_in_nobody_but_the_roles_that_feed_and_search_it(dev: Template) -> None:
    statements = domain_of(dev)["AccessPolicies"]["Statement"]
    allowed = {
        statement["Principal"]["AWS"]["Fn::GetAtt"][0]
        for statement in statements
        if (statement["Effect"], set(statement["Principal"])) == ("Allow", {"AWS"})
    }
    assert allowed == {dev.role_of(name) for name in ("api", "stream", "socket", "advance_turn", "index_memory")}
    assert len(statements) == 9


@pytest.mark.parametrize(
    ("function", "paths"),
    [
        ("api", {"/_msearch": {"es:ESHttpPost"}, f"/{PREFIX}-*/_mapping": {"es:ESHttpGet"}}),
        ("advance_turn", {"/_msearch": {"es:ESHttpPost"}, f"/{PREFIX}-*/_mapping": {"es:ESHttpGet"}}),
        ("index_memory", {f"/{PREFIX}-*": {f"es:ESHttp{verb}" for verb in ("Get", "Post", "Put", "Delete")}}),
        ("stream", {"/_msearch": {"es:ESHttpPost"}, f"/{PREFIX}-*/_mapping": {"es:ESHttpGet"}}),
        ("ingest_file", {}),
    ],
)
def test_a_role_may_ask_of_the_domain_what_its_function_needs(dev: Template, function: str, paths: dict[str, set[str]]) -> None:
    found = {
        next(text for text in texts(statement["Resource"]) if ":domain/" in text).partition("/hibernaut-dev")[2]: set(
            listed(statement["Action"])
        )
        for statement in dev.statements(dev.role_of(function))
        if any(action.startswith("es:") for action in listed(statement["Action"]))
    }
    assert found == paths


def test_whoever_writes_knows_that_there_is_an_index_and_the_cage_does_not(dev: Template) -> None:
    knowing = {name for name, made in dev.functions().items() if "HIBERNAUT_OPENSEARCH" in made["Environment"]["Variables"]}
    assert knowing == set(dev.functions()) - {"run_tool", "run_node", "build_packages"}


def test_the_stream_tells_of_every_pointer_that_is_written_and_of_nothing_else(dev: Template) -> None:
    agent, message = "agent-0199f2c0-7a10-4000-8a5b-3f1e2d4c5b00", "message-0199f2c1-0b20-4000-9c4d-5e6f7a8b9c00"
    for state in ("NEW", "EMBED", "GONE"):
        pointer = keys.unindexed("t", agent, state, message)
        assert told(dev, pointer)
        assert told(dev, pointer, "MODIFY")
        assert not told(dev, pointer, "REMOVE")
    others = (keys.message("t", agent, message), keys.head("t", agent), keys.agent("t", agent), keys.passage("t", "a", "p"))
    assert not any(told(dev, key) for key in others)


def test_what_the_stream_gives_up_is_a_dead_letter_and_taken_again_by_a_clock(dev: Template) -> None:
    made = dev.feed_of("index_memory")
    assert made["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert made["BisectBatchOnFunctionError"] is True
    assert made["StartingPosition"] == "TRIM_HORIZON"
    assert 0 < made["MaximumRetryAttempts"] < 10
    (queue,) = dev.of_type("AWS::SQS::Queue")
    assert made["DestinationConfig"]["OnFailure"]["Destination"] == {"Fn::GetAtt": [queue, "Arn"]}
    clocks = [one["Properties"] for one in dev.of_type("AWS::Scheduler::Schedule").values()]
    assert {json.loads(one["Target"]["Input"]).get("retake"): one["ScheduleExpression"] for one in clocks} == {
        None: "rate(1 minute)",
        "all": "rate(5 minutes)",
    }


def test_uploads_and_no_other_blobs_are_told_to_the_function_that_reads_them(dev: Template) -> None:
    (rule,) = (one["Properties"] for one in dev.of_type("AWS::Events::Rule").values() if "aws.s3" in texts(one))
    pattern = rule["EventPattern"]["detail"]["object"]
    assert fits(pattern, {"key": blob_keys.upload_blob("t", "file-1")})
    assert not any(fits(pattern, {"key": key}) for key in (blob_keys.file_blob("t", "f"), blob_keys.text_blob("t", "f", 0)))
    assert blob_keys.of_upload_blob(blob_keys.upload_blob("t", "file-1")) == ("t", "file-1")
    bucket = dev.only("AWS::S3::Bucket")["Properties"]
    assert bucket["NotificationConfiguration"] == {"EventBridgeConfiguration": {"EventBridgeEnabled": True}}
    (target,) = rule["Targets"]
    assert "ingest_file" in dev.resources[target["Arn"]["Fn::GetAtt"][0]]["Properties"]["Handler"]
    assert target["DeadLetterConfig"]["Arn"]["Fn::GetAtt"][0] in dev.of_type("AWS::SQS::Queue")


def test_a_larger_domain_is_spread_over_zones_and_has_its_copies(large: Template) -> None:
    made = domain_of(large)
    assert made["ClusterConfig"]["ZoneAwarenessConfig"] == {"AvailabilityZoneCount": 2}
    assert (made["ClusterConfig"]["InstanceCount"], made["EBSOptions"]["VolumeSize"]) == (2, 20)
    assert large.functions()["index_memory"]["Environment"]["Variables"]["HIBERNAUT_OPENSEARCH_REPLICAS"] == "1"
    assert [zones_of(count) for count in (1, 2, 3, 4, 5, 6)] == [1, 2, 3, 2, 1, 3]


def test_in_a_network_of_its_own_only_those_who_speak_with_the_domain_are_beside_it(large: Template, dev: Template) -> None:
    inside = {name for name, made in large.functions().items() if "VpcConfig" in made}
    assert inside - {"run_tool", "run_node"} == {"api", "stream", "socket", "advance_turn", "index_memory"}
    assert len(domain_of(large)["VPCOptions"]["SubnetIds"]) == 2
    (ingress,) = large.of_type("AWS::EC2::SecurityGroupIngress").values()
    assert (ingress["Properties"]["FromPort"], ingress["Properties"]["ToPort"]) == (443, 443)
    assert "VPCOptions" not in domain_of(dev)
    assert not dev.of_type("AWS::EC2::NatGateway")


@pytest.mark.parametrize("count", [3, 6])
def test_a_domain_in_three_zones_has_a_subnet_in_each(tmp_path: Path, count: int) -> None:
    done = synthesized(tmp_path, "search=domain", "searchVpc=true", f"searchCount={count}", "check=false")
    assert done.returncode == 0, done.stderr
    template = Template(json.loads((tmp_path / "Hibernaut-dev.template.json").read_text(encoding="utf-8")))
    made = domain_of(template)
    assert made["ClusterConfig"]["ZoneAwarenessConfig"] == {"AvailabilityZoneCount": 3}
    subnets = [template.resources[subnet["Ref"]] for subnet in made["VPCOptions"]["SubnetIds"]]
    assert [subnet["Properties"]["AvailabilityZone"]["Fn::Select"][0] for subnet in subnets] == [0, 1, 2]


def test_the_one_model_of_bedrock_is_asked_by_those_who_embed(large: Template, dev: Template) -> None:
    asking = {
        name: next(texts(statement["Resource"]), "")
        for name in large.functions()
        for statement in large.statements(large.role_of(name))
        if listed(statement.get("Action", [])) == ["bedrock:InvokeModel"]
    }
    assert set(asking) == {"api", "stream", "socket", "advance_turn", "index_memory"}
    granted = json.dumps(large.document)
    assert "::foundation-model/amazon.titan-embed-text-v2:0" in granted
    assert "foundation-model/*" not in granted
    assert "bedrock" not in json.dumps(dev.document)


@pytest.mark.parametrize(
    ("context", "text"),
    [
        ({"search": "elastic"}, "no search 'elastic'; there are none, domain, serverless"),
        ({"search": "domain", "searchInstance": "t3.small"}, "must be a type like t3.small.search"),
        ({"search": "domain", "searchCount": "0"}, "searchCount must be a whole number from 1"),
        ({"search": "domain", "searchVolume": "ten"}, "searchVolume must be a whole number from 1"),
        ({"search": "domain", "searchVpc": "yes"}, "searchVpc must be true or false, not 'yes'"),
        ({"dashboard": "1"}, "dashboard must be true or false, not '1'"),
        ({"websockets": "wss"}, "websockets must be true or false, not 'wss'"),
        ({"snapStart": "api"}, "snapStart must be true or false, not 'api'"),
        ({"callers": "203.0.113.7, office"}, "callers must be address ranges like 203.0.113.0/24, not 'office'"),
        ({"callers": "203.0.113.7/24"}, "not '203.0.113.7/24': 203.0.113.7/24 has host bits set"),
        ({"access": "open"}, "access must be addresses or public, not 'open'"),
        ({"access": "public", "callers": "203.0.113.7/32"}, "leave out callers"),
        ({"embedding": "bedrock/claude"}, "no embedding 'bedrock/claude'; of Bedrock there are amazon.titan"),
    ],
)
def test_what_cannot_be_had_is_refused(context: dict[str, str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        settings_in(context)


def test_a_domain_is_small_unless_more_is_asked_for() -> None:
    assert search_in({}) == Search("none")
    assert search_in({"search": "domain"}) == Search("domain", "t3.small.search", 1, 10, vpc=False)
