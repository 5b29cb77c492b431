"""The double of a collection refuses what a collection refuses. Needs no node: what is refused does not reach it."""

from __future__ import annotations

import json

import pytest

from tests.support.serverless_collection import RULES, CollectionRequest, ServerlessCollection

INDEX = "/memory-2-mini"


def asked(method: str, path: str, *lines: object, **parameters: str) -> CollectionRequest:
    body = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    return CollectionRequest(method, path, {name: [value] for name, value in parameters.items()}, {}, body)


def vectors(engine: str, name: str = "hnsw") -> dict[str, object]:
    return {"properties": {"vector": {"type": "knn_vector", "dimension": 4, "method": {"engine": engine, "name": name}}}}


SCRIPTED = {"settings": {"index": {"similarity": {"own": {"type": "scripted", "script": {"source": "1"}}}}}}
BROKEN = {
    "operations": [
        asked("POST", f"{INDEX}/_refresh"),
        asked("POST", "/_msearch", {"index": INDEX}, {}),
        asked("POST", f"{INDEX}/_msearch", {}, {}),
        asked("POST", f"{INDEX}/_delete_by_query", {"query": {"match_all": {}}}),
        asked("POST", f"{INDEX}/_update/one", {"doc": {}}),
        asked("PUT", f"{INDEX}/_doc/one", {}),
        asked("PUT", f"{INDEX}/_create/one", {}),
        asked("GET", "/"),
        asked("GET", "/_cluster/health"),
    ],
    "parameters": [
        asked("POST", f"{INDEX}/_bulk", {"index": {}}, {}, refresh="true"),
        asked("GET", f"{INDEX}/_mapping", ignore_unavailable="true"),
        asked("DELETE", INDEX, master_timeout="1m"),
    ],
    "ids": [
        asked("POST", f"{INDEX}/_bulk", {"index": {"_id": "one"}}, {}),
        asked("POST", "/_bulk", {"create": {"_index": "x", "_id": "one"}}, {}),
    ],
    "updates": [asked("POST", f"{INDEX}/_bulk", {"update": {"_id": "one"}}, {"doc": {}, "doc_as_upsert": True})],
    "versions": [
        asked("POST", f"{INDEX}/_bulk", {"index": {"version": 2, "version_type": "external"}}, {}),
        asked("POST", f"{INDEX}/_bulk", {"delete": {"_id": "given", "version": 2}}),
    ],
    "scripts": [
        asked("PUT", INDEX, SCRIPTED),
        asked("POST", f"{INDEX}/_search", {"query": {"script_score": {"query": {"match_all": {}}, "script": {"source": "1"}}}}),
    ],
    "engine": [
        asked("PUT", INDEX, {"mappings": vectors("lucene")}),
        asked("PUT", f"{INDEX}/_mapping", vectors("nmslib")),
        asked("PUT", f"{INDEX}/_mapping", vectors("faiss", "ivf")),
    ],
}
TAKEN = [
    asked("PUT", INDEX, {"settings": {"index": {"knn": True}}, "mappings": vectors("faiss")}),
    asked("POST", f"{INDEX}/_bulk", {"index": {}}, {"words": "the script of a play, with an _id and an update"}),
    asked("POST", f"{INDEX}/_bulk", {"delete": {"_id": "given"}}),
    asked("POST", f"{INDEX}/_search", {"query": {"match_all": {}}}),
    asked("GET", "/memory-*/_mapping"),
]


@pytest.mark.parametrize("name", [rule.name for rule in RULES])
def test_each_rule_refuses_what_breaks_it_and_says_where_it_comes_from(name: str) -> None:
    collection = ServerlessCollection("http://127.0.0.1:9")
    (rule,) = (rule for rule in RULES if rule.name == name)
    assert rule.source
    for broken in BROKEN[name]:
        refusal = rule.check(broken)
        assert refusal is not None, broken
        status, answer = collection.answer(broken)
        assert status == json.loads(answer)["status"] >= 400
    collection.server.server_close()


def test_what_breaks_no_rule_is_taken() -> None:
    assert BROKEN.keys() == {rule.name for rule in RULES}
    for request in TAKEN:
        assert [rule.name for rule in RULES if rule.check(request) is not None] == []
