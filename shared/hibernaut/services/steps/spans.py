"""The spans of runs, steps, model calls and tool calls: their names and facts, and never a text of a conversation.

Names follow OpenTelemetry's semantic conventions for generative AI (`ports.tracing`).
"""

from __future__ import annotations

from datetime import datetime

from hibernaut.ports.model import ModelReply
from hibernaut.ports.tracing import ActiveSpan, Attribute, EndedSpan, SpanContext, known, run_context
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.services.steps.step_work import StepWork

Facts = dict[str, Attribute | None]
OPERATION, MODEL, RUN = "gen_ai.operation.name", "gen_ai.request.model", "hibernaut.run.id"


def step_parent(run: StoredRun) -> SpanContext:
    """The span of the run, which is the parent of its steps in every process."""
    return run_context(run.id, run.traceparent)[0]


def step_span(work: StepWork) -> ActiveSpan:
    """One step of a run."""
    run = work.state.run
    facts: Facts = {
        RUN: run.id,
        "hibernaut.step": run.steps + 1,
        "gen_ai.agent.id": run.agent_id,
        "gen_ai.conversation.id": run.conversation_id or run.agent_id,
    }
    return ActiveSpan("step", attributes=known(facts))


def chat_span(config: LLMConfig) -> ActiveSpan:
    """One model call, with its retries. Fallback models are part of it."""
    facts: Facts = {OPERATION: "chat", "gen_ai.provider.name": config.model_endpoint_type, MODEL: config.model}
    return ActiveSpan(f"chat {config.model}", "client", known(facts))


def note_reply(span: ActiveSpan, reply: ModelReply) -> None:
    """Add the reply's usage and finish reason."""
    usage = reply.usage
    facts: Facts = {
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_input_tokens,
        "hibernaut.finish_reason": reply.finish_reason,
    }
    span.attributes.update(known(facts))


def tool_span(name: str) -> ActiveSpan:
    """One call of a custom tool."""
    return ActiveSpan(f"execute_tool {name}", attributes={OPERATION: "execute_tool", "gen_ai.tool.name": name})


def run_span(run: StoredRun, now: datetime) -> EndedSpan:
    """A run that has ended, from its acceptance on."""
    context, parent = run_context(run.id, run.traceparent)
    facts: Facts = {
        OPERATION: "invoke_agent",
        RUN: run.id,
        "gen_ai.agent.id": run.agent_id,
        "gen_ai.usage.input_tokens": run.usage.prompt_tokens,
        "gen_ai.usage.output_tokens": run.usage.completion_tokens,
        "hibernaut.steps": run.steps,
        "hibernaut.stop_reason": run.stop_reason,
    }
    span = ActiveSpan("invoke_agent", "server", known(facts), error=run.error.code if run.error else "")
    start, end = (int(moment.timestamp() * 1e9) for moment in (run.created_at, now))
    return EndedSpan(span, context, parent, start, max(start, end))
