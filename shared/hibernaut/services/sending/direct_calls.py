"""Model requests without a run: the preview of an agent's next request, and the completion of a single prompt (API 3).

Nothing is stored, and no tool runs.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from hibernaut.domain.budgets import Spending
from hibernaut.domain.tools.tool_returns import repair_arguments
from hibernaut.domain.turn import model_requests
from hibernaut.ports.model import Model, ModelReply, ModelRequest, Models, ToolChoice, ToolSpec
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.errors import InvalidArgument, InvalidModelResponse
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.models.generation import GenerateRequest, GenerateResponse
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.runs.run import StoredRun
from hibernaut.schemas.runs.send import LettaRequest
from hibernaut.schemas.usage import LettaUsageStatistics
from hibernaut.services.budgets.budget_checks import BudgetChecks
from hibernaut.services.host import Host
from hibernaut.services.records import Records
from hibernaut.services.sending.sending import options_of
from hibernaut.services.steps.step_work import StepLoader
from hibernaut.services.turns.inputs import inputs_of, row_of
from hibernaut.store.runs.runs import RunState

SECONDS = 600.0
"""The time limit of one completion in seconds."""
STRUCTURED = "structured_output"
_FENCE = re.compile(r"```(?:json)?(.*?)```", re.DOTALL)
"""The block in which models put JSON that is part of a text."""


class DirectCalls:
    """Previews an agent's next request, and completes single prompts with its model."""

    def __init__(self, records: Records, host: Host, models: Models, loader: StepLoader, budgets: BudgetChecks) -> None:
        self._records = records
        self._host = host
        self._models = models
        self._loader = loader
        self._budgets = budgets

    def preview(self, agent_id: str, conversation_id: str | None, body: LettaRequest) -> JsonObject:
        """The body that the first step for these messages would send to the provider. It is not sent.

        Raises: NotFound, InvalidArgument, Unprocessable.
        """
        now = self._host.clock.now()
        inputs = inputs_of(body, now)
        if inputs.answer is not None:
            raise InvalidArgument("INVALID_ARGUMENT: A preview takes messages; an approval's answer leads to tools first.")
        run = StoredRun(
            id=self._host.ids.new("run"),
            agent_id=agent_id,
            conversation_id=conversation_id,
            created_at=now,
            options=options_of(body),
        )
        rows, last = list[Message](), self._records.head(conversation_id or agent_id).last_message
        for one in inputs.messages:
            last = self._host.ids.new("message", after=last)
            rows.append(row_of(one, last, run, now))
        run.first_message = rows[0].id
        work = self._loader.load(RunState(run=run), further=rows)
        actor = work.turn.actor
        tools, choice, parallel = model_requests.plan(actor, (), None)
        request = model_requests.model_request(
            actor,
            work.turn.messages,
            work.system_text,
            tools,
            choice=choice,
            parallel=parallel,
            timeout=SECONDS,
        )
        return self._model(actor.config).payload(request)

    def generate(self, agent_id: str, request_body: GenerateRequest, *, key_id: str | None = None) -> GenerateResponse:
        """The reply of the agent's model to one prompt; with a response schema, the JSON of its values. Raises: NotFound (agent,
        handle, provider), BudgetExceeded, ModelError and its subclasses. `key_id`: the caller's API key.
        """
        agent = self._records.agent(agent_id)
        config = self._models.config(request_body.override_model) if request_body.override_model else agent.llm_config
        row = Message(
            id=self._host.ids.new("message"),
            role="user",
            content=[TextContent(text=request_body.prompt)],
            agent_id=agent_id,
            created_at=self._host.clock.now(),
        )
        request = ModelRequest(config, request_body.system_prompt or "", [row], timeout=SECONDS, user=agent_id)
        if request_body.response_schema is not None:
            answer = ToolSpec(STRUCTURED, "Give your answer in this form.", _object(request_body.response_schema))
            # Thinking is off, because a model that thinks refuses a forced call (`anthropic_messages`).
            without_thinking = config.model_copy(update={"enable_reasoner": False})
            forced = ToolChoice("named", STRUCTURED)
            request = replace(request, config=without_thinking, tools=[answer], choice=forced, reply_schema=answer.parameters)
        budgets = self._budgets.admit_call(agent_id, key_id)
        reply = self._model(config).complete(request)
        self._budgets.spend(budgets, Spending.of(reply.usage, steps=0))
        content = reply.text if request_body.response_schema is None else _formed(reply, config)
        return GenerateResponse(content=content, model=config.model, usage=_usage(reply))

    def _model(self, config: LLMConfig) -> Model:
        return self._models.of(config)


def unfenced(text: str) -> str:
    """The text with each block of code in the place of the block with its marks."""
    return _FENCE.sub(lambda fence: fence[1].strip(), text)


def _object(schema: JsonObject) -> JsonObject:
    return {"type": "object", "properties": {}, **schema}


def _formed(reply: ModelReply, config: LLMConfig) -> str:
    """The JSON of an answer with a schema: the arguments of its call, or its text if the model was not forced to call.

    Raises: InvalidModelResponse if neither is a JSON object.
    """
    forced_arguments = next((call.arguments for call in reply.tool_calls if call.name == STRUCTURED), None)
    text = unfenced(reply.text.strip()) if forced_arguments is None else forced_arguments
    arguments = repair_arguments(text)
    if arguments.broken or (forced_arguments is None and not text):
        raise InvalidModelResponse(
            f"{config.handle or config.model}: the answer is not in the form of the response_schema; ask again"
        )
    return json.dumps(arguments.values, ensure_ascii=False)


def _usage(reply: ModelReply) -> LettaUsageStatistics:
    usage = reply.usage
    return LettaUsageStatistics(
        completion_tokens=usage.completion_tokens,
        prompt_tokens=usage.prompt_tokens,
        total_tokens=usage.completion_tokens + usage.prompt_tokens,
        step_count=1,
        cost=usage.cost,
        price_list_date=usage.price_list_date,
    )
