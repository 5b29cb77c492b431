"""The overview of a context window: the size of the request that a run would send now (Letta V1 API, API 4.12).

Sizes are in tokens by our own count (`domain.models.tokens`). A provider's count differs by its wire format and its tokenizer.
Texts are the current ones; sizes are those of what is sent, which may be an older system message with updates of memory (decision
23).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hibernaut.domain.memory.system_prompt import core_memory_section
from hibernaut.domain.models.prices import PriceList
from hibernaut.domain.models.tokens import count
from hibernaut.domain.turn import model_requests
from hibernaut.domain.turn.actor import Actor, actor_of
from hibernaut.domain.window import sent_messages, window
from hibernaut.schemas.agents.agent import ContextWindowOverview, PromptPrice, StoredAgent
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.messages.message import INTERNAL, Message
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.models.model_call import ToolSpec
from hibernaut.services.prompt.system_messages import CompiledMessage, SystemMessages
from hibernaut.services.records import Records
from hibernaut.store.conversations.conversations import LoadedConversation


@immutable
class MeasuredWindow:
    """A window as clients see it. `sent`: its messages as they are sent, without updates of memory; `tokens`: the size of all
    messages that are sent, with the updates.
    """

    shown: Sequence[Message]
    sent: Sequence[Message]
    tokens: int


def prompt_price(prices: PriceList, config: LLMConfig, tokens: int, now: datetime) -> PromptPrice | None:
    """The prices of a prompt of `tokens` for this model; None if they are unknown."""
    billed_by = prices.provider(config.provider_name or config.model_endpoint_type, config.model_endpoint)
    found = prices.prices(billed_by, config.model, now) if billed_by else None
    if found is None:
        return None
    cached = found.cached.at(tokens) if found.cached else None
    return PromptPrice(input=found.input.at(tokens), cached_input=cached, price_list_date=prices.date)


class WindowOverviews:
    """Measures the request that a run would send to the model now."""

    def __init__(self, records: Records, prompts: SystemMessages) -> None:
        self._records = records
        self._prompts = prompts

    def of(self, agent: StoredAgent, conversation: LoadedConversation) -> ContextWindowOverview:
        """The overview of the agent's default conversation."""
        blocks = self._prompts.blocks_of(agent)
        compiled = self._prompts.compiled(agent, conversation.head, blocks=blocks, in_window=len(conversation.messages))
        window.measured(conversation.messages)
        system = conversation.messages[0]
        actor = actor_of(agent, self._records.tools_of(agent))
        forgets = actor.spec.clears_buffer or agent.message_buffer_autoclear
        if compiled.changed or self._prompts.thawed(conversation):
            # The next run's message, which would carry the update, is not known yet.
            _, system = self._prompts.succeeding(conversation, agent, compiled, None if forgets else self._next(agent))
        window.measured([system])
        rows = [system, *(() if forgets else conversation.messages[1:])]
        plain_rows, sent_rows = (
            sent_messages.as_sent(rows, actor.config.context_window, updated=updated) for updated in (False, True)
        )
        return _overview(
            agent, conversation, MeasuredWindow(rows, plain_rows[1:], window.tokens(sent_rows)), compiled, _offered(actor)
        )

    def _next(self, agent: StoredAgent) -> Message:
        """A message that the next run might begin with."""
        return Message(id="message-next", role="user", agent_id=agent.id, created_at=self._records.clock.now())


def _offered(actor: Actor) -> list[ToolSpec]:
    """The tools that the first step of a run offers."""
    names, _, _ = model_requests.plan(actor, (), None)
    return [model_requests.specification(actor, tool) for tool in actor.tools if tool.name in names]


def _overview(
    agent: StoredAgent,
    conversation: LoadedConversation,
    measured_window: MeasuredWindow,
    compiled: CompiledMessage,
    tools: Sequence[ToolSpec],
) -> ContextWindowOverview:
    summaries = [row for row in measured_window.sent if row.role == "summary"]
    memory, rules = core_memory_section(compiled.inputs), compiled.inputs.rules_section
    external_memory = _section(measured_window.shown[0].text(), "memory_metadata")
    parts = {
        "num_tokens_external_memory_summary": count(external_memory),
        "num_tokens_core_memory": count(memory),
        "num_tokens_tool_usage_rules": count(rules or ""),
        "num_tokens_directories": count(compiled.inputs.directories or ""),
    }
    sizes = {
        **parts,
        # The rest belongs to the system prompt, so that the sizes add up to what is sent: what stands between the parts, and what
        # an update has replaced.
        "num_tokens_system": max(0, measured_window.tokens - window.tokens(measured_window.sent) - sum(parts.values())),
        "num_tokens_summary_memory": window.tokens(summaries),
        "num_tokens_functions_definitions": sum(model_requests.size_of(tool) for tool in tools),
        "num_tokens_messages": window.tokens([row for row in measured_window.sent if row.role != "summary"]),
    }
    return ContextWindowOverview(
        **sizes,
        context_window_size_max=agent.llm_config.context_window,
        context_window_size_current=sum(sizes.values()),
        num_messages=len(measured_window.shown),
        num_archival_memory=compiled.inputs.archival_memories,
        num_recall_memory=conversation.head.messages,
        external_memory_summary=external_memory,
        system_prompt=agent.system,
        core_memory=memory,
        tool_usage_rules=rules,
        directories=compiled.inputs.directories,
        summary_memory="\n".join(row.text() for row in summaries) or None,
        functions_definitions=[_function(tool) for tool in tools] or None,
        messages=[row.model_dump(mode="json", exclude=set(INTERNAL)) for row in measured_window.shown],
    )


def _section(text: str, tag: str) -> str:
    start, end = text.rfind(f"<{tag}>"), text.rfind(f"</{tag}>")
    return text[start : end + len(tag) + 3] if -1 < start < end else ""


def _function(tool: ToolSpec) -> JsonObject:
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    }
