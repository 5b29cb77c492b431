"""The input of one attempt at a step, read once at its beginning. This module writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from hibernaut.domain.agents import group_turns
from hibernaut.domain.agents.agent_calls import group_of
from hibernaut.domain.agents.agent_types import spec_of
from hibernaut.domain.budgets import BudgetStanding
from hibernaut.domain.memory.system_prompt import skills_section
from hibernaut.domain.models.tokens import count
from hibernaut.domain.tools.builtin.builtin_tools import builtin_by_id
from hibernaut.domain.turn import approvals, model_requests
from hibernaut.domain.turn.actor import Actor
from hibernaut.domain.turn.turn_values import Turn
from hibernaut.domain.window import sent_messages, window
from hibernaut.ports.model import Models
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.conversation import Head
from hibernaut.schemas.agents.conversation_record import StoredConversation
from hibernaut.schemas.errors import NotFound
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.memory.block import Block, StoredBlock
from hibernaut.schemas.memory.file import Desk
from hibernaut.schemas.memory.passage import Passage
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.tools.tool import Tool, ToolType
from hibernaut.schemas.usage import CalledUsage
from hibernaut.services.budgets.budget_checks import BudgetChecks
from hibernaut.services.models.conversation_model import agent_in
from hibernaut.services.prompt.system_messages import SystemMessages, overlaid
from hibernaut.store.conversations.conversations import LoadedConversation
from hibernaut.store.runs.runs import RunState
from hibernaut.store.stores import TenantStores


@immutable
class DeskChange:
    """The files that the agent had open before the step, and those that are open after its tools."""

    before: Desk
    after: Desk


@immutable
class ToolEffects:
    """The changes that a step's tools make within the step's transaction. `blocks` is the agent's core memory after the tools; a
    block that a tool created has no id yet. `editors`: pairs of a block's id (of its label, if it has none yet) and a tool that
    changed it.
    `used`: what the runs that answered the calls of a group have used.
    """

    blocks: tuple[Block, ...]
    passages: tuple[Passage, ...] = ()
    desk: DeskChange | None = None
    editors: tuple[tuple[str, str], ...] = ()
    used: CalledUsage | None = None

    def with_blocks(self, blocks: Sequence[Block], tool: str) -> ToolEffects:
        """The effects with core memory as a call of `tool` left it."""
        before = {block.id or block.label: block for block in self.blocks}
        edited = [name for block in blocks if before.get(name := block.id or block.label or "") != block]
        editors = dict.fromkeys((*self.editors, *((name, tool) for name in edited)))
        return replace(self, blocks=tuple(blocks), editors=tuple(editors))

    def tools_of(self, name: str) -> list[str]:
        """The tools that changed a block, by its id, or by its label if it has none yet."""
        return [tool for edited, tool in self.editors if edited == name]


@immutable
class StepWork:
    """The input of one attempt, with the state that its commit writes. `after` is the head after the step; `system` is the new
    row of the system message if it was recompiled.

    `agent` is the stored agent; the settings that its conversation overrides are in the turn's actor. `record` is None for the
    agent's default conversation. `standings`: what was used of the run's budgets when the attempt began.
    """

    state: RunState
    agent: StoredAgent
    blocks: tuple[StoredBlock, ...]
    head: Head
    after: Head
    turn: Turn
    system: Message | None = None
    system_text: str = ""
    effects: ToolEffects = field(default_factory=lambda: ToolEffects(()))
    record: StoredConversation | None = None
    standings: tuple[BudgetStanding, ...] = ()


def answered_by(work: StepWork, config: LLMConfig | None) -> StepWork:
    """The work with the configuration of the model that replied. None: the run's own model replied."""
    if config is None:
        return work
    return replace(work, turn=replace(work.turn, actor=replace(work.turn.actor, config=config)))


class StepLoader:
    """Loads the input of one attempt at a step."""

    def __init__(self, stores: TenantStores, prompts: SystemMessages, models: Models, budgets: BudgetChecks) -> None:
        self._conversations = stores.conversations
        self._records = stores.conversation_records
        self._agents = stores.agents
        self._reads = stores.step_reads
        self._policies = stores.tool_policies
        self._sandboxes = stores.sandboxes
        self._prompts = prompts
        self._models = models
        self._budgets = budgets

    def load(self, state: RunState, head: Head | None = None, *, further: Sequence[Message] = ()) -> StepWork:
        """The input of the step. `head`: the conversation's head after the run's acceptance, if this worker accepted the run; it
        saves a read. `further`: messages of a run that is only previewed, behind those of the log. Raises: NotFound if the agent
        or its conversation does not exist.
        """
        run = state.run
        read, record = self._reads.agent(run.agent_id), None
        if run.conversation_id:
            head, record = self._reads.conversation(run.conversation_id)
        conversation = self._conversations.load(run.conversation_id or run.agent_id, head)
        if read is None or conversation is None:
            raise NotFound(f"Agent with ID {run.agent_id} not found")
        if further:
            head = conversation.head.model_copy(update={"messages": conversation.head.messages + len(further)})
            conversation = replace(conversation, head=head, messages=(*conversation.messages, *further))
        agent, archive_ids = read
        block_ids = overlaid(agent.block_ids, record.isolated if record else {})
        budgets = self._budgets.of_run(run.budgets)
        policies = self._policies.now.reading()
        has_custom = any(builtin_by_id(tool_id) is None for tool_id in agent.tool_ids)
        sandbox = self._sandboxes.now.reading() if has_custom else None
        stored_blocks, tools = self._reads.parts(block_ids, agent.tool_ids, budgets, policies, sandbox)
        standings = tuple(budgets.standings()) if budgets else ()
        blocks = [stored_blocks[block_id] for block_id in block_ids if block_id in stored_blocks]
        effective = agent_in(agent, record, self._models)
        actor = replace(self._actor(effective, state, tools), policies=policies.value)
        window.measured(conversation.messages)
        head, system = self._system(effective, state, conversation, blocks, archive_ids)
        messages = (system, *conversation.messages[1:]) if system else conversation.messages
        if actor.spec.clears_buffer or agent.message_buffer_autoclear:
            first = approvals.first_of(messages, run.first_message)
            messages = (messages[0], *(row for row in messages[1:] if first and row.id >= first))
        window.measured(messages[:1])  # the new row, if there is one
        updated = run.options.override_system is None
        messages = sent_messages.as_sent(messages, actor.config.context_window, updated=updated)
        fixed = model_requests.tools_size(actor)
        turn = Turn(
            actor=actor,
            messages=messages,
            steps=run.steps,
            max_steps=run.options.max_steps,
            history=tuple(run.tool_history),
            last_return=run.last_return,
            fixed_tokens=fixed,
            correction=window.correction_for(conversation.head, actor.config.model, messages, fixed),
            compactions=run.compactions,
            overflowed=run.compact_for == "context_window_exceeded",
            out_of_budget=self._budgets.reached(standings) is not None,
        )
        text = run.options.override_system or messages[0].text()
        if run.options.client_skills and not run.options.override_system:
            skills = skills_section(run.options.client_skills, [block.label for block in blocks])
            text = f"{text}\n\n{skills}"
        if text != messages[0].text():
            turn = replace(turn, fixed_tokens=turn.fixed_tokens + count(text) - window.tokens(messages[:1]))
        return StepWork(
            state=state,
            agent=agent,
            blocks=tuple(blocks),
            head=conversation.head,
            after=head,
            turn=turn,
            system=system,
            system_text=text,
            effects=ToolEffects(tuple(blocks)),
            record=record,
            standings=standings,
        )

    def refreshed(self, work: StepWork) -> StepWork:
        """The work with the agent and its blocks read again after a concurrent edit. The turn stays the same.

        Raises: NotFound if the agent does not exist.
        """
        agent = self._agents.get(work.agent.id)
        if agent is None:
            raise NotFound(f"Agent with ID {work.agent.id} not found")
        record = self._record(work.state)
        blocks = tuple(self._prompts.blocks_of(agent, record))
        return replace(work, agent=agent, record=record, blocks=blocks, effects=ToolEffects(blocks))

    def _record(self, state: RunState) -> StoredConversation | None:
        return self._records.get(state.run.conversation_id) if state.run.conversation_id else None

    def _system(
        self,
        agent: StoredAgent,
        state: RunState,
        conversation: LoadedConversation,
        blocks: Sequence[StoredBlock],
        archive_ids: Sequence[str],
    ) -> tuple[Head, Message | None]:
        """The head and the new row of the system message; None if it is current. Updates of memory are inserted at a run's first
        step only: within a run, the returns of its tools report them (invariant 10).
        """
        head, run = conversation.head, state.run
        if run.steps > 0 or run.resolve:
            return head, None
        sources = self._prompts.sources(agent, blocks, archive_ids)
        if not self._prompts.outdated(agent, conversation, blocks, sources):
            return head, None
        in_window = len(conversation.messages)
        compiled = self._prompts.compiled(agent, head, blocks=blocks, in_window=in_window, sources=sources)
        # A message that the next run does not see cannot carry an update.
        forgets = spec_of(agent.agent_type).clears_buffer or agent.message_buffer_autoclear
        update_after = None if forgets else sent_messages.message_for_update(conversation.messages, run.id)
        source, row = self._prompts.succeeding(conversation, agent, compiled, update_after)
        return head.model_copy(update={"compiled": source}), row

    def _actor(self, agent: StoredAgent, state: RunState, found: Mapping[str, Tool]) -> Actor:
        options, resolution = state.run.options, state.run.resolve
        config = agent.llm_config
        if options.override_model:
            config = self._models.config(options.override_model)
        if options.return_logprobs:
            config = config.model_copy(update={"return_logprobs": True, "top_logprobs": options.top_logprobs})
        # A call belongs to whom it belonged when the model made it: this run's client tools take no earlier call of the server's.
        ours = {verdict.call.name for verdict in resolution.verdicts if not verdict.call.client} if resolution else set()
        clients = {
            tool.name: Tool(
                id=f"client:{tool.name}",
                name=tool.name,
                tool_type=ToolType.CUSTOM,
                description=tool.description,
                json_schema={"name": tool.name, "parameters": tool.parameters or {"type": "object", "properties": {}}},
            )
            for tool in options.client_tools or ()
            if tool.name not in ours
        }
        attached = [found[tool_id] for tool_id in agent.tool_ids if tool_id in found]
        if group_turns.is_group(agent.id):
            attached = [group_turns.tool_of_turns()]
        elif group_turns.supervises(state.run):
            attached.append(group_turns.tool_of_supervisor())
        return Actor(
            agent_id=agent.id,
            conversation_id=state.run.conversation_id,
            run_id=state.run.id,
            spec=spec_of(agent.agent_type),
            config=config,
            rules=tuple(agent.tool_rules or ()),
            tools=(*(tool for tool in attached if tool.name not in clients), *clients.values()),
            client_tools=frozenset(clients),
            timezone=agent.timezone,
            group_id=group_of(state.run),
            tags=tuple(agent.tags),
        )
