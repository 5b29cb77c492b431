"""Lets a model write a tool (Letta V1 API, API 3; RT 10.7). The source is parsed and checked; nothing is stored
or run.
"""

from __future__ import annotations

from dataclasses import replace

from hibernaut.domain.budgets import Spending
from hibernaut.domain.tools import tool_generation
from hibernaut.domain.tools.sources import tool_schema
from hibernaut.domain.tools.tool_generation import WrittenTool
from hibernaut.ports.model import ModelReply, ModelRequest, Models, ToolChoice
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.content import TextContent
from hibernaut.schemas.errors import InvalidArgument, InvalidModelResponse
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.models.llm_config import LLMConfig
from hibernaut.schemas.tools.generation import GeneratedTool, GenerateTool
from hibernaut.schemas.tools.tool import Tool
from hibernaut.services.budgets.budget_checks import BudgetChecks
from hibernaut.services.host import Host

SECONDS = 180.0
"""The time limit of one call in seconds."""
ATTEMPTS = 2
"""The number of calls of the model: it receives an unusable source once, with the reason."""


class ToolGeneration:
    """Has a model of the tenant write the source of a tool."""

    def __init__(self, host: Host, models: Models, budgets: BudgetChecks) -> None:
        self._host = host
        self._models = models
        self._budgets = budgets

    def generate(self, request: GenerateTool, *, key_id: str | None = None) -> GeneratedTool:
        """A tool with this name that does what the prompt says. `key_id`: the caller's API key, which the calls are charged to.

        Raises: NotFound (handle), InvalidArgument, BudgetExceeded, ModelError and its subclasses; InvalidModelResponse if the
        model writes no usable source.
        """
        config = self._models.config(request.handle or self._models.default_handle())
        reasons, fault = list(request.validation_errors), ""
        source = request.starter_code or ""
        for _ in range(ATTEMPTS):
            generated = tool_generation.read(self._call_model(config, request, source, reasons, key_id).tool_calls)
            if generated is None:
                fault = "it did not write a source"
                continue
            try:
                return self._generated_tool(request, generated)
            except InvalidArgument as error:
                fault, source = error.detail.removeprefix("INVALID_ARGUMENT: "), generated.source_code
                reasons = [*request.validation_errors, fault]
        raise InvalidModelResponse(f"{config.handle or config.model} has written no usable tool: {fault}; ask again")

    def _call_model(
        self, config: LLMConfig, generation: GenerateTool, source: str, reasons: list[str], key_id: str | None
    ) -> ModelReply:
        """The reply of one call. Raises: BudgetExceeded, ModelError."""
        row = Message(
            id=self._host.ids.new("message"),
            role="user",
            agent_id="",
            content=[TextContent(text=tool_generation.prompt(generation.tool_name, generation.prompt, source, reasons))],
            created_at=self._host.clock.now(),
        )
        # Thinking is off, because a model that thinks refuses a forced call (`anthropic_messages`).
        without_thinking = config.model_copy(update={"enable_reasoner": False})
        model_request = ModelRequest(without_thinking, tool_generation.SYSTEM, [row], timeout=SECONDS)
        forced = replace(model_request, tools=[tool_generation.SPEC], choice=ToolChoice("named", tool_generation.SPEC.name))
        budgets = self._budgets.admit_call(None, key_id)
        reply = self._models.of(config).complete(forced)
        self._budgets.spend(budgets, Spending.of(reply.usage, steps=0))
        return reply

    def _generated_tool(self, request: GenerateTool, generated: WrittenTool) -> GeneratedTool:
        """The tool that the model has written. Raises: InvalidArgument."""
        schema = tool_schema.derive_schema(generated.source_code)
        if schema["name"] != request.tool_name:
            raise InvalidArgument(f"The last function of the source is called {schema['name']}, not {request.tool_name}")
        parameters = schema["parameters"]["properties"]
        arguments: JsonObject = {name: value for name, value in generated.sample_args.items() if name in parameters}
        tool = Tool(
            id=self._host.ids.new("tool"),
            name=request.tool_name,
            description=schema["description"],
            source_type="python",
            source_code=generated.source_code,
            json_schema=schema,
        )
        return GeneratedTool(tool=tool, sample_args=arguments, response=generated.summary or schema["description"])
