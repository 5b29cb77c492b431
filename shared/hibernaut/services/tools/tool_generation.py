"""Lets a model write a tool (Letta V1 API, digest 3; run-time digest 10.7). What it writes is read and checked; nothing is stored or run."""

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
"""How often the model is asked: a source that cannot be used is shown to it once, with the reason."""


class ToolGeneration:
    """Asks a model of the tenant for the source of a tool."""

    def __init__(self, host: Host, models: Models, budgets: BudgetChecks) -> None:
        self._host = host
        self._models = models
        self._budgets = budgets

    def generate(self, asked: GenerateTool, *, key_id: str | None = None) -> GeneratedTool:
        """A tool with this name that does what the prompt says. `key_id`: the caller's API key, which the calls are charged to.

        Raises: NotFound (handle), InvalidArgument, BudgetExceeded, ModelError and its subclasses; InvalidModelResponse if the model writes no usable source.
        """
        config = self._models.config(asked.handle or self._models.default_handle())
        reasons, why = list(asked.validation_errors), ""
        source = asked.starter_code or ""
        for _ in range(ATTEMPTS):
            written = tool_generation.read(self._asked(config, asked, source, reasons, key_id).tool_calls)
            if written is None:
                why = "it did not write a source"
                continue
            try:
                return self._made(asked, written)
            except InvalidArgument as error:
                why, source = error.detail, written.source_code
                reasons = [*asked.validation_errors, why]
        raise InvalidModelResponse(f"{config.handle or config.model} has written no usable tool: {why}; ask again")

    def _asked(self, config: LLMConfig, asked: GenerateTool, source: str, reasons: list[str], key_id: str | None) -> ModelReply:
        """The reply of one call. Raises: BudgetExceeded, ModelError."""
        row = Message(
            id=self._host.ids.new("message"),
            role="user",
            agent_id="",
            content=[TextContent(text=tool_generation.prompt(asked.tool_name, asked.prompt, source, reasons))],
            created_at=self._host.clock.now(),
        )
        # Thinking is off, because a model that thinks refuses a forced call (`anthropic_messages`).
        quick = config.model_copy(update={"enable_reasoner": False})
        request = ModelRequest(quick, tool_generation.SYSTEM, [row], timeout=SECONDS)
        forced = replace(request, tools=[tool_generation.SPEC], choice=ToolChoice("named", tool_generation.SPEC.name))
        budgets = self._budgets.admit_call(None, key_id)
        reply = self._models.of(config).complete(forced)
        self._budgets.spend(budgets, Spending.of(reply.usage, steps=0))
        return reply

    def _made(self, asked: GenerateTool, written: WrittenTool) -> GeneratedTool:
        """The tool that the model has written. Raises: InvalidArgument."""
        schema = tool_schema.derive_schema(written.source_code)
        if schema["name"] != asked.tool_name:
            raise InvalidArgument(f"The last function of the source is called {schema['name']}, not {asked.tool_name}")
        known = schema["parameters"]["properties"]
        arguments: JsonObject = {name: value for name, value in written.sample_args.items() if name in known}
        tool = Tool(
            id=self._host.ids.new("tool"),
            name=asked.tool_name,
            description=schema["description"],
            source_type="python",
            source_code=written.source_code,
            json_schema=schema,
        )
        return GeneratedTool(tool=tool, sample_args=arguments, response=written.summary or schema["description"])
