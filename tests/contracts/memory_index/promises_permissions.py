"""What is asked of a collection, against what its data access policy allows. Collected by `test_index`, the one file that starts
OpenSearch.
"""

from __future__ import annotations

import re

from hibernaut.wiring.engines.memory_index import PREFIX, collection_index
from infra.constructs.collection import READING, WRITING
from tests.contracts.memory_index.documents import EAST, SPACE, by_vector, document, query, tombstone
from tests.support.serverless_collection import ServerlessCollection

PERMISSIONS = {
    r"PUT /[^/]+": "aoss:CreateIndex",
    r"DELETE /[^/]+": "aoss:DeleteIndex",
    r"(PUT|POST) /[^/]+/_mapping": "aoss:UpdateIndex",
    r"GET /[^/]+(/_mapping)?": "aoss:DescribeIndex",
    r"POST /[^/]+/(_bulk|_doc)": "aoss:WriteDocument",
    r"DELETE /[^/]+/_doc/[^/]+": "aoss:WriteDocument",
    r"(GET|POST) /[^/]+/_search": "aoss:ReadDocument",
}
"""The permission of each operation (Developer Guide, "Supported OpenSearch API operations and permissions")."""


def needed(collection: ServerlessCollection) -> set[str]:
    found = set()
    for method, path in collection.asked:
        (permission,) = (each for form, each in PERMISSIONS.items() if re.fullmatch(form, f"{method} {path}"))
        assert path.startswith(f"/{PREFIX}-"), "the policy names these indices alone"
        found.add(permission)
    collection.asked.clear()
    return found


def test_a_collection_is_asked_what_the_roles_are_allowed_and_they_are_allowed_no_more(collection: ServerlessCollection) -> None:
    feeding = collection_index(collection.address, 60)
    assert feeding.visible_after > 60
    feeding.drop(SPACE)
    one, _ = feeding.put(SPACE, [document("one", "tea", EAST), document("two", "tea", EAST)])
    feeding.discard(SPACE, [one])
    feeding.remove(SPACE, [tombstone("two")])
    feeding.collect(SPACE, "home")
    assert list(feeding.states(SPACE, "home")) == []
    assert SPACE in feeding.spaces()
    assert needed(collection) == set(WRITING)
    searching = collection_index(collection.address, 60)
    searching.wake()
    searching.search(SPACE, query("tea", EAST))
    assert by_vector(searching, EAST) == []
    searching.spaces()
    assert needed(collection) == set(READING)
    feeding.drop(SPACE)
