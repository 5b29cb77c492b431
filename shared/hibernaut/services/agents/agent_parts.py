"""The parts of an agent that creation and update share: blocks, secrets, tool rules, and their validation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from hibernaut.domain.agents import agent_types
from hibernaut.domain.agents.first_messages import Opening
from hibernaut.schemas.agents.agent import StoredAgent, StoredSecret
from hibernaut.schemas.errors import Conflict, InvalidArgument
from hibernaut.schemas.memory.block import CreateBlock, StoredBlock
from hibernaut.schemas.tools.tool import Tool
from hibernaut.schemas.tools.tool_rule import RequiresApprovalToolRule, ToolRule
from hibernaut.services.records import Records

MOST_FILES_OPEN = 1000


def new_block(block_id: str, block: CreateBlock, now: datetime) -> StoredBlock:
    """A new block as it is stored. The labels `human` and `persona` have a default description."""
    fields = block.model_dump(exclude={"tags", "description"})
    description = block.description if block.description is not None else agent_types.default_description(block.label)
    return StoredBlock(**fields, id=block_id, tags=block.tags or [], description=description, created_at=now, updated_at=now)


def new_secrets(
    records: Records, agent_id: str, values: dict[str, str], before: Sequence[StoredSecret], now: datetime
) -> list[StoredSecret]:
    """The secrets of an agent. A secret whose key is in `before` keeps its id."""
    by_key = {secret.key: secret for secret in before}
    return [
        by_key[key].model_copy(update={"value": value, "value_enc": None, "updated_at": now})
        if key in by_key
        else StoredSecret(
            id=records.ids.new("agent-env"), key=key, value=value, agent_id=agent_id, created_at=now, updated_at=now
        )
        for key, value in values.items()
    ]


def approval_rules(tools: Sequence[Tool], rules: Sequence[ToolRule]) -> list[ToolRule]:
    """An approval rule for each tool that requires approval by default and has no such rule yet."""
    ruled = {rule.tool_name for rule in rules if isinstance(rule, RequiresApprovalToolRule)}
    return [
        RequiresApprovalToolRule(tool_name=tool.name)
        for tool in tools
        if tool.default_requires_approval and tool.name and tool.name not in ruled
    ]


def refuse_equal_labels(blocks: Sequence[StoredBlock]) -> None:
    """Raises: Conflict if two of an agent's blocks have the same label."""
    labels = [block.label for block in blocks]
    for label in labels:
        if labels.count(label) > 1:
            raise Conflict(f"CONFLICT: An agent's blocks have different labels: more than one is called '{label}'.")


def checked_files_open(number: int | None) -> int | None:
    """The number itself. Raises: InvalidArgument if it is not from 1 to `MOST_FILES_OPEN`."""
    if number is not None and not 0 < number <= MOST_FILES_OPEN:
        raise InvalidArgument(f"INVALID_ARGUMENT: max_files_open must be from 1 to {MOST_FILES_OPEN}, not {number}.")
    return number


def opening_of(records: Records, agent: StoredAgent, after: str) -> Opening:
    """The parameters of an agent's first messages. Their ids sort after the message `after`."""

    def ids() -> Iterator[str]:
        last = after
        while True:
            last = records.ids.new("message", after=last)
            yield last

    return Opening(
        agent_id=agent.id,
        ids=ids(),
        now=records.clock.now(),
        timezone=agent.timezone,
        model=agent.llm_config.model,
        speaks_by_tool=not agent_types.spec_of(agent.agent_type).text_ends_turn,
    )
