"""How often a plain message asks the table: a budget, so that a read which is added is seen. What is read once is carried."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hibernaut.ports.storage.table import Change, Item, Key, Table
from hibernaut.schemas.models.model_call import ModelReply, ModelRequest
from hibernaut.schemas.runs.send import LettaRequest
from hibernaut.services.sending.sending import SendRequest
from tests.support.house import house_in
from tests.support.tables import PassesOn
from tests.support.world import World, data_in

MOST_OPERATIONS = 12
MOST_BEFORE_THE_MODEL = 5
MOST_OF_ANOTHER_WORKER = 7
"""Operations that a worker waits for, one after the other, before it asks the model about a run that another process accepted, as
on AWS: the run, its lease, the agent, the head, the log after the cut, the pinned rows, the blocks and tools.
"""


class Operations(PassesOn):
    """Notes each operation that asks the engine for something."""

    def __init__(self, table: object) -> None:
        super().__init__(table)  # type: ignore[arg-type]
        self.made: list[str] = []

    def get(self, key: Key) -> Item | None:
        self.made.append(f"get {key.sk.partition('#')[0]}")
        return super().get(key)

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        if keys:
            self.made.append("get_many " + " ".join(sorted({key.sk.partition("#")[0] for key in keys})))
        return super().get_many(keys)

    def query(self, pk: str, **options: object) -> list[Item]:  # type: ignore[override]
        self.made.append(f"query {options.get('prefix') or pk.split('#')[1]}")
        return super().query(pk, **options)  # type: ignore[arg-type]

    def write(self, *changes: Change) -> None:
        self.made.append("write " + " ".join(sorted({change.key.sk.partition("#")[0] for change in changes})))
        super().write(*changes)


def test_a_plain_message_stays_within_its_budget_of_table_operations(tmp_path: Path) -> None:
    tables: list[Operations] = []

    def counted(table: object) -> Operations:
        tables.append(Operations(table))
        return tables[0]

    with house_in(tmp_path, counted) as house:  # type: ignore[arg-type]
        agent = house.agent(memory_blocks=[{"label": "human", "value": ""}])

        def send(text: str) -> None:
            body = LettaRequest.model_validate({"input": text})
            run = house.services.sending.accept(SendRequest(agent.id, body, "send_message", digest=text)).run_id
            house.services.sending.start(run, inline=True)
            found = house.services.run_follower.response(run)
            assert found is not None
            assert found.messages

        send("Good morning.")
        (table,) = tables
        table.made.clear()
        send("How are you?")
    told = "\n".join(table.made)
    assert len(table.made) <= MOST_OPERATIONS, told
    commit = max(place for place, made in enumerate(table.made) if made.startswith("write"))
    assert commit <= MOST_BEFORE_THE_MODEL, told


def test_another_process_asks_the_model_after_seven_operations(tmp_path: Path) -> None:
    tables: list[Operations] = []
    before_the_model: list[list[str]] = []

    def counted(table: Table) -> Table:
        tables.append(Operations(table))
        return tables[-1]

    def reply(_request: ModelRequest, _call: int) -> ModelReply:
        before_the_model.append(list(tables[-1].made))
        return ModelReply(text="Good morning.")

    data = data_in(tmp_path, reply)
    accepting = World(data)
    agent_id = accepting.make_agent(blocks={"human": ""}, tools=["memory_insert"])
    run_id = accepting.accept(agent_id, "Good morning.").run_id
    World(data, holder="host:2", wrap=counted).chain.turns.advance(run_id)
    (made,) = before_the_model
    assert len(made) <= MOST_OF_ANOTHER_WORKER, "\n".join(made)
