"""The overview of a context window: the size of the request that a run would send now (Letta V1 API, digest 4.12).

Sizes are in tokens by our own count (`domain.models.tokens`). A provider's count differs by its wire format and its tokenizer.
"""

from __future__ import annotations

from collections.abc import Sequence

from hibernaut.domain.memory.system_prompt import core_memory_section
from hibernaut.domain.models.tokens import count
from hibernaut.domain.turn import model_requests, window
from hibernaut.domain.turn.actor import Actor, actor_of
from hibernaut.schemas.agent import ContextWindowOverview, StoredAgent
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.message import INTERNAL, Message
from hibernaut.schemas.model_call import ToolSpec
from hibernaut.services.prompt.system_messages import CompiledMessage, SystemMessages, system_row
from hibernaut.services.records import Records
from hibernaut.store.conversations import LoadedConversation


class WindowOverviews:
    """Measures the request that a run would send to the model now."""

    def __init__(self, records: Records, prompts: SystemMessages) -> None:
        self._records = records
        self._prompts = prompts

    def of(self, agent: StoredAgent, loaded: LoadedConversation) -> ContextWindowOverview:
        """The overview of the agent's default conversation."""
        blocks = self._prompts.blocks_of(agent)
        compiled = self._prompts.compiled(agent, loaded.head, blocks=blocks, in_window=len(loaded.messages))
        system = loaded.messages[0]
        if self._prompts.stale(agent, loaded.head, blocks):
            system = system_row(system.id, agent, compiled.text, system.created_at)
        actor = actor_of(agent, self._records.tools_of(agent))
        forgets = actor.spec.clears_buffer or agent.message_buffer_autoclear
        said = () if forgets else loaded.messages[1:]
        window.measured([system, *said])
        messages = window.as_sent([system, *said], actor.config.context_window)
        return _overview(agent, loaded, messages, compiled, _offered(actor))


def _offered(actor: Actor) -> list[ToolSpec]:
    """The tools that the first step of a run offers."""
    names, _, _ = model_requests.plan(actor, (), None)
    return [model_requests.specification(actor, tool) for tool in actor.tools if tool.name in names]


def _overview(
    agent: StoredAgent,
    loaded: LoadedConversation,
    messages: Sequence[Message],
    compiled: CompiledMessage,
    offered: Sequence[ToolSpec],
) -> ContextWindowOverview:
    system, said = messages[0], messages[1:]
    summaries = [row for row in said if row.role == "summary"]
    memory, rules = core_memory_section(compiled.inputs), compiled.inputs.rules_section
    outside = _section(system.text(), "memory_metadata")
    parts = {
        "num_tokens_external_memory_summary": count(outside),
        "num_tokens_core_memory": count(memory),
        "num_tokens_tool_usage_rules": count(rules or ""),
        "num_tokens_directories": count(compiled.inputs.directories or ""),
    }
    sizes = {
        **parts,
        # What stands between the parts belongs to the system prompt, so that the sizes add up to what is sent.
        "num_tokens_system": max(0, window.tokens([system]) - sum(parts.values())),
        "num_tokens_summary_memory": window.tokens(summaries),
        "num_tokens_functions_definitions": sum(model_requests.size_of(tool) for tool in offered),
        "num_tokens_messages": window.tokens([row for row in said if row.role != "summary"]),
    }
    return ContextWindowOverview(
        **sizes,
        context_window_size_max=agent.llm_config.context_window,
        context_window_size_current=sum(sizes.values()),
        num_messages=len(messages),
        num_archival_memory=compiled.inputs.archival_memories,
        num_recall_memory=loaded.head.messages,
        external_memory_summary=outside,
        system_prompt=agent.system,
        core_memory=memory,
        tool_usage_rules=rules,
        directories=compiled.inputs.directories,
        summary_memory="\n".join(row.text() for row in summaries) or None,
        functions_definitions=[_function(tool) for tool in offered] or None,
        messages=[row.model_dump(mode="json", exclude=set(INTERNAL)) for row in messages],
    )


def _section(text: str, tag: str) -> str:
    start, end = text.rfind(f"<{tag}>"), text.rfind(f"</{tag}>")
    return text[start : end + len(tag) + 3] if -1 < start < end else ""


def _function(tool: ToolSpec) -> JsonObject:
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    }
