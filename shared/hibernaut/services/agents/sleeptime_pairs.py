"""The pair of an agent and its sleep-time agent: its parts, and the changes of its separation (RT 9.1 and 9.4).

The two share all blocks of the agent. The sleep-time agent has one more, which describes its task. Must not know when it works.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.agents.prompts import MEMORY_PERSONA
from hibernaut.ports.storage.table import Change
from hibernaut.schemas.agents.agent import AgentType, CreateAgentRequest, StoredAgent
from hibernaut.schemas.agents.group import SLEEPING, ManagerType, StoredGroup, TranscriptProgress
from hibernaut.schemas.limits import LONGEST_NAME
from hibernaut.schemas.memory.block import CreateBlock
from hibernaut.services.records import Records
from hibernaut.store.versions.version_store import Edit

EVERY = 5
"""After how many turns a new sleep-time agent works."""
MOST_BEFORE = 50
"""The number of messages from before the pair existed, the newest ones, that the sleep-time agent receives."""
BUFFER = {"max_message_buffer_length": 30, "min_message_buffer_length": 15}
"""The message buffer of a voice agent's group."""
SUFFIX = "-sleeptime"
LABEL = "memory_persona"
"""The label of the block that describes the task of a sleep-time agent."""
SLEEPERS = frozenset({AgentType.SLEEPTIME, AgentType.VOICE_SLEEPTIME})


def request_for(main: StoredAgent) -> CreateAgentRequest:
    """The request that creates the sleep-time agent of `main`."""
    kind = AgentType.VOICE_SLEEPTIME if main.agent_type is AgentType.VOICE_CONVO else AgentType.SLEEPTIME
    return CreateAgentRequest(
        name=f"{main.name[: LONGEST_NAME - len(SUFFIX)]}{SUFFIX}",
        agent_type=kind,
        block_ids=main.block_ids,
        memory_blocks=[CreateBlock(label=LABEL, value=MEMORY_PERSONA)],
        llm_config=main.llm_config,
        reasoning=main.llm_config.enable_reasoner,
        embedding_config=main.embedding_config,
        fallback_models=main.fallback_models,
        timezone=main.timezone,
        project_id=main.project_id,
    )


def group_of(group_id: str, main: StoredAgent, sleeper_id: str, first_messages: TranscriptProgress | None) -> StoredGroup:
    """The group of a new pair. `first_messages`: the part of the agent's own conversation that the sleep-time agent receives
    first.
    """
    voice = main.agent_type is AgentType.VOICE_CONVO
    turns = {} if voice else {"sleeptime_agent_frequency": EVERY, "turns_counter": -1}
    return StoredGroup(
        **turns,
        **(BUFFER if voice else {}),
        id=group_id,
        manager_type=ManagerType.VOICE_SLEEPTIME if voice else ManagerType.SLEEPTIME,
        manager_agent_id=main.id,
        agent_ids=[sleeper_id],
        description="",
        project_id=main.project_id,
        progress={} if first_messages is None else {main.id: first_messages},
    )


def earlier_span(records: Records, agent_id: str) -> TranscriptProgress | None:
    """The newest messages of an agent that gets a sleep-time agent later; None: there are none but the system message."""
    rows = records.conversations.page(agent_id, limit=MOST_BEFORE + 1, descending=True)
    return TranscriptProgress(after=rows[-1].id, upto=rows[0].id) if len(rows) > 1 else None


def sleeping_group(records: Records, agent: StoredAgent) -> StoredGroup | None:
    """The sleep-time group that the agent manages, or None. An agent that manages no group costs no read."""
    group = records.groups.get(agent.managed_group_id) if agent.managed_group_id else None
    return group if group is not None and group.manager_type in SLEEPING else None


def sleepers_of(records: Records, agent: StoredAgent) -> Sequence[StoredAgent]:
    """The existing sleep-time agents of an agent, in the order of its group."""
    group = sleeping_group(records, agent)
    found = records.agents.get_many(group.agent_ids) if group else {}
    return [found[each] for each in group.agent_ids if each in found and found[each].agent_type in SLEEPERS] if group else []


def sharing(records: Records, agent: StoredAgent, block_id: str, edit: Edit) -> list[Change]:
    """The changes that attach a block of the agent to its sleep-time agents that lack it. `edit`: its author."""
    changes, token = list[Change](), records.ids.token()
    for sleeper in sleepers_of(records, agent):
        if block_id not in sleeper.block_ids and sleeper.agent_type is AgentType.SLEEPTIME:
            after = sleeper.model_copy(update={"block_ids": [*sleeper.block_ids, block_id], "updated_at": records.clock.now()})
            changes += [*records.agents.change(sleeper, after, token, edit), records.blocks.attach(block_id, sleeper.id)]
    return changes


def parting(records: Records, agent: StoredAgent, token: str, edit: Edit) -> list[Change]:
    """The changes of the sleep-time groups of an agent that is deleted. `edit`: the author of the deletion.

    The group is deleted with its manager, and with its last sleep-time agent; in the latter case the manager has no sleep-time
    agent any more.
    """
    changes: list[Change] = []
    links = records.groups.of_agent(agent.id)
    ids = dict.fromkeys([*(links.id_of(link) for link in links.all()), *records.groups.managed_by(agent.id)])
    for group in records.groups.get_many(list(ids)).values():
        if group.manager_type not in SLEEPING:
            continue
        remaining = [each for each in group.agent_ids if each != agent.id]
        if group.manager_agent_id != agent.id and remaining:
            changes += records.groups.change(group, group.model_copy(update={"agent_ids": remaining}), token)
            continue
        changes += records.groups.delete(group)
        if group.manager_agent_id != agent.id:
            changes += unmanaged(records, group, token, edit, enable_sleeptime=False)
    return changes


def unmanaged(records: Records, group: StoredGroup, token: str, edit: Edit, **fields: object) -> list[Change]:
    """The change of a group's manager when the group is deleted; empty if the manager is deleted, or refers to another group.
    `fields`: further changes of it.
    """
    manager = records.agents.get(group.manager_agent_id or "")
    if manager is None or manager.managed_group_id != group.id:
        return []
    other_groups = records.groups.get_many([each for each in records.groups.managed_by(manager.id) if each != group.id])
    sleeptime_ids = [each.id for each in other_groups.values() if each.manager_type in SLEEPING]
    after = manager.model_copy(update={"managed_group_id": max(sleeptime_ids or other_groups, default=None), **fields})
    return [*records.agents.change(manager, after, token, edit)]
