"""The index of memory in a serverless collection, as it is deployed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hibernaut.local.aws_offline.rules import fits
from hibernaut.schemas.base import JsonObject
from hibernaut.wiring.engines.memory_index import PREFIX
from infra.constructs.collection import READING, WRITING
from infra.search_settings import COLLECTION_REGIONS, SEARCH_BY_DEFAULT, Search, check_region, search_in
from infra.settings import settings_in
from tests.infra.conftest import synthesized
from tests.infra.reading import Template, listed, texts

NAME = "hibernaut-dev"
SERVERLESS = "AWS::OpenSearchServerless"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cdk.out")
    done = synthesized(folder, "env=dev", "search=serverless", "dashboard=true")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "Hibernaut-dev.template.json"


@pytest.fixture(scope="module")
def sleeping(file: Path) -> Template:
    return Template(json.loads(file.read_text(encoding="utf-8")))


def made(template: Template, kind: str) -> JsonObject:
    found: JsonObject = template.only(f"{SERVERLESS}::{kind}")["Properties"]
    return found


def policy(template: Template, kind: str) -> Any:
    """The document of a security policy."""
    (found,) = (
        one["Properties"]
        for one in template.of_type(f"{SERVERLESS}::SecurityPolicy").values()
        if one["Properties"]["Type"] == kind
    )
    return json.loads(found["Policy"])


def test_the_group_is_of_the_new_generation_scales_to_nothing_and_is_bounded(sleeping: Template) -> None:
    group = made(sleeping, "CollectionGroup")
    assert (group["Generation"], group["StandbyReplicas"]) == ("NEXTGEN", "ENABLED")
    limits = group["CapacityLimits"]
    assert (limits["MinIndexingCapacityInOcu"], limits["MinSearchCapacityInOcu"]) == (0, 0)
    assert {limits["MaxIndexingCapacityInOcu"], limits["MaxSearchCapacityInOcu"]} <= {1, 2, 4, 8}
    collection = made(sleeping, "Collection")
    assert (collection["Type"], collection["CollectionGroupName"], collection["Name"]) == ("VECTORSEARCH", group["Name"], NAME)


def test_the_collection_is_made_after_what_it_needs_and_goes_with_the_stack(sleeping: Template) -> None:
    collection = sleeping.only(f"{SERVERLESS}::Collection")
    needed = {
        name
        for kind in ("CollectionGroup", "SecurityPolicy", "AccessPolicy")
        for name in sleeping.of_type(f"{SERVERLESS}::{kind}")
    }
    assert set(collection["DependsOn"]) == needed
    assert len(needed) == 4
    assert collection["DeletionPolicy"] == "Delete"


def test_it_is_encrypted_and_its_dashboards_are_closed(sleeping: Template) -> None:
    ours = [{"ResourceType": "collection", "Resource": [f"collection/{NAME}"]}]
    assert policy(sleeping, "encryption") == {"Rules": ours, "AWSOwnedKey": True}
    assert policy(sleeping, "network") == [{"Rules": ours, "AllowFromPublic": True}]


def test_each_role_may_do_with_our_indices_what_its_function_needs_and_nobody_else_anything(sleeping: Template) -> None:
    access = made(sleeping, "AccessPolicy")
    parts = access["Policy"]["Fn::Join"][1]
    document = json.loads("".join(part if isinstance(part, str) else part["Fn::GetAtt"][0] for part in parts))
    allowed = {}
    for entry in document:
        (rule,), (principal,) = entry["Rules"], entry["Principal"]
        assert (rule["ResourceType"], rule["Resource"]) == ("index", [f"index/{NAME}/{PREFIX}-*"])
        allowed[principal] = set(rule["Permission"])
    assert allowed == {
        sleeping.role_of("index_memory"): set(WRITING),
        sleeping.role_of("api"): set(READING),
        sleeping.role_of("stream"): set(READING),
        sleeping.role_of("advance_turn"): set(READING),
    }


def test_four_roles_may_call_this_collection_and_no_other(sleeping: Template) -> None:
    (collection,) = sleeping.of_type(f"{SERVERLESS}::Collection")
    calling = {}
    for name in sleeping.functions():
        for statement in sleeping.statements(sleeping.role_of(name)):
            if any(action.startswith("aoss:") for action in listed(statement.get("Action", []))):
                calling[name] = (statement["Action"], statement["Resource"])
    one = ("aoss:APIAccessAll", {"Fn::GetAtt": [collection, "Arn"]})
    assert calling == dict.fromkeys(("api", "stream", "advance_turn", "index_memory"), one)


def test_whoever_writes_knows_that_there_is_a_collection(sleeping: Template) -> None:
    (collection,) = sleeping.of_type(f"{SERVERLESS}::Collection")
    address = {"Fn::GetAtt": [collection, "CollectionEndpoint"]}
    for name, function in sleeping.functions().items():
        variables = function.get("Environment", {}).get("Variables", {})
        known = (variables.get("HIBERNAUT_OPENSEARCH"), variables.get("HIBERNAUT_OPENSEARCH_SERVICE"))
        assert known == ((None, None) if name in ("run_tool", "run_node", "build_packages") else (address, "aoss")), name
    assert not sleeping.of_type("AWS::OpenSearchService::Domain")
    assert sleeping.document["Outputs"]["CollectionArn"]["Value"] == {"Fn::GetAtt": [collection, "Arn"]}
    assert "AWS/ES" not in texts(sleeping.resources)


def test_the_stream_does_not_tell_of_pointers_that_are_written_already(sleeping: Template) -> None:
    (one,) = sleeping.feed_of("index_memory")["FilterCriteria"]["Filters"]
    pattern = json.loads(one["Pattern"])
    keys = {"pk": {"S": "t#TAIL#a"}, "sk": {"S": "NEW#message-1"}}
    told = {"eventName": "MODIFY", "dynamodb": {"Keys": keys, "NewImage": keys}}
    assert fits(pattern, told)
    assert not fits(pattern, {**told, "dynamodb": {"Keys": keys, "NewImage": {**keys, "written": {"N": "1"}}}})


def test_what_a_collection_does_not_have_is_refused() -> None:
    assert search_in({"search": "serverless"}) == Search("serverless")
    assert settings_in({"search": "serverless"}).search.kind == "serverless"
    for name, value in (("searchVpc", "true"), ("searchCount", "2"), ("searchInstance", "t3.small.search")):
        with pytest.raises(ValueError, match=f"{name} is for search=domain"):
            search_in({"search": "serverless", name: value})


def test_a_region_without_collections_is_refused_by_name_before_anything_is_deployed() -> None:
    for region in (*COLLECTION_REGIONS, None, ""):
        check_region(Search("serverless"), region)
    check_region(Search("domain"), "af-south-1")
    with pytest.raises(ValueError, match=r"no OpenSearch Serverless in af-south-1.*search=domain or search=none.*eu-central-1"):
        check_region(Search("serverless"), "af-south-1")


def test_the_default_is_told_with_its_reason_where_nobody_has_chosen(tmp_path: Path) -> None:
    assert search_in({}).kind == "none"
    done = synthesized(tmp_path, "env=dev", "check=false")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(SEARCH_BY_DEFAULT)
    assert "search=none" in SEARCH_BY_DEFAULT
