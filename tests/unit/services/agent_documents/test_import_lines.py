"""A planned message is stored as it was planned: it is not read and written anew on its way into the table."""

from __future__ import annotations

from hibernaut.services.imports.import_lines import line_of
from hibernaut.store.table import keys
from tests.support.agent_documents import imported
from tests.support.agent_file_parts import call, file_of, message, returned, talked
from tests.support.world import TENANT, World


def test_the_lines_of_a_plan_are_the_bodies_of_its_rows(world: World) -> None:
    spoken = [message(1, "user", 'Grüße\n"2"'), message(2, "assistant", None, tool_calls=[call("c1", door="x")])]
    (agent_id,) = imported(world, file_of(talked(*spoken, returned(3, "c1")))).agent_ids
    items = world.data.table.query(keys.head(TENANT, agent_id).pk, prefix="MSG#")
    rows = world.log(agent_id)
    assert [str(item["role"]) for item in items] == [row.role for row in rows] == ["system", "user", "assistant", "tool"]
    assert [str(item["body"]).encode() for item in items[1:]] == [line_of(row) for row in rows[1:]]
