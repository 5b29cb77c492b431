"""One script of scenarios, run on every wire: each drives a real agent and asserts that no request broke a rule of its provider.

A scenario is a function of a `Stage`. What it asserts beyond the rules: every reply was asked for, the last one reached the user,
and the conversation goes on afterwards.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.contracts.model.kit.scenarios import conversations, failures, settings
from tests.contracts.model.kit.stage import Stage

Scenario = Callable[[Stage], None]
SCENARIOS: tuple[Scenario, ...] = (
    conversations.plain,
    conversations.tool_loop,
    conversations.parallel_calls,
    conversations.interleaved_thinking,
    conversations.memory_edits,
    conversations.edit_before_an_answer,
    conversations.narrowing_rule,
    conversations.forced_tool,
    conversations.compaction,
    conversations.approval,
    conversations.system_message,
    conversations.image_in_a_return,
    conversations.long_life,
    failures.refusal,
    failures.overflow,
    failures.image_refused,
    failures.broken_off,
    failures.rate_limit,
    failures.clear_errors,
    failures.fallback,
    failures.change_of_model,
    settings.sampling,
    settings.reasoning_off,
    settings.reasoning_by_default,
    settings.answer_in_a_form,
    settings.formed_replies,
    settings.log_probabilities,
    settings.strict_schemas,
    settings.many_tools,
    settings.listed_models,
    settings.window,
    settings.usage,
    settings.whole_replies,
    settings.warm_prefix,
    settings.warm_after_an_edit,
)
NEEDS: dict[Scenario, str] = {settings.many_tools: "at_most_128_tools", settings.strict_schemas: "strict_schemas_are_closed"}
"""Scenario -> the rule without which it proves nothing: it runs on the providers that have it."""
