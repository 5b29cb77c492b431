"""Whatever the index is asked, on a real node: each request is one that the role of whoever asks is allowed."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

import pytest
from opensearchpy import Transport

from hibernaut.local.aws_offline.offline import OfflineAws
from hibernaut.schemas.memory.search_index import IndexDocument, IndexQuery, Tombstone
from hibernaut.wiring.engines.memory_index import index_of
from hibernaut.wiring.settings import AwsSettings
from tests.functions.test_permissions_used import Call, allowed
from tests.support.opensearch import OpenSearchNode, opensearch_node

__all__ = ["opensearch_node"]
MADE = datetime(2026, 3, 2, tzinfo=UTC)
QUERY = IndexQuery(tenant="t", kind="passage", places=("a",), text="clock", vector=(0.6, 0.8), limit=5)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """Method and path of every request."""
    found: set[tuple[str, str]] = set()
    original = Transport.perform_request

    def noted(self: Any, method: str, url: str, *rest: Any, **more: Any) -> Any:
        found.add((method, url))
        return original(self, method, url, *rest, **more)

    monkeypatch.setattr(Transport, "perform_request", noted)
    return found


def document(name: str) -> IndexDocument:
    return IndexDocument(
        id=f"a/{name}", version=1, kind="passage", tenant="t", place="a", text="A clock.", created_at=MADE, vector=(0.6, 0.8)
    )


def unallowed(aws: OfflineAws, function: str, asked: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The requests that the role of a function does not allow. A method is an action, a path is below the domain."""
    domain = f"arn:aws:es:us-east-1:123456789012:domain/{aws.stack.of_type('AWS::OpenSearchService::Domain')[0].ref}"
    return {
        (method, path)
        for method, path in asked
        if not allowed(aws, Call(function, f"es:ESHttp{method.title()}", f"{domain}{path}"))
    }


def test_searching_and_feeding_ask_what_their_roles_allow(
    aws: OfflineAws, opensearch_node: OpenSearchNode, asked: set[tuple[str, str]]
) -> None:
    def index() -> Any:
        """As a fresh environment makes it."""
        return index_of(AwsSettings(env="dev", table="t", opensearch=opensearch_node.address))

    feeding = index()
    feeding.put("words", [document("one")])
    feeding.put("words", [document("two")])
    feeding.remove("words", [Tombstone(tenant="t", id="a/one", version=2)])
    assert [state.id for state in feeding.states("words", "t")] == ["a/two"]
    assert "words" in feeding.spaces()
    written, searching = set(asked), index()
    asked.clear()
    assert [hit.id for hit in searching.search("words", QUERY).vector] == ["a/two"]
    assert searching.search("nowhere", QUERY).lexical == ()
    searched = set(asked)
    asked.clear()
    feeding.drop("words")
    feeding.remove("words", [Tombstone(tenant="t", id="a/two", version=2)])
    feeding.put("words", [document("three")])
    feeding.drop("words")
    written |= asked
    assert {method for method, _ in written} == {"GET", "POST", "PUT", "DELETE"}
    assert unallowed(aws, "index_memory", written) == set()
    assert {name: unallowed(aws, name, searched) for name in ("api", "stream", "advance_turn")} == {
        name: set() for name in ("api", "stream", "advance_turn")
    }
    assert ("POST", "/_msearch") in searched
    assert unallowed(aws, "summarize", searched) == searched
    assert unallowed(aws, "api", written) >= {one for one in written if one[0] in {"PUT", "DELETE"}}


def test_the_domain_s_own_policy_allows_the_same(aws: OfflineAws) -> None:
    (domain,) = aws.stack.of_type("AWS::OpenSearchService::Domain")
    statements = domain.properties["AccessPolicies"]["Statement"]
    writer = [one for one in statements if re.search("IndexMemory", str(one["Principal"]))]
    assert len(writer) == 1
    assert fnmatchcase("arn:aws:es:us-east-1:123456789012:domain/hibernaut-dev/memory-words/_search", writer[0]["Resource"])
    assert all("*" not in str(one["Principal"]) for one in statements)
