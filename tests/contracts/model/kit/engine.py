"""The agents under the kit: services over SQLite in a folder, with the real adapters pointed at the kit's servers.

The only module of the kit that knows how the product is wired.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hibernaut.adapters.model.catalogue import Catalogue
from hibernaut.adapters.secrets.environment import EnvironmentSecrets
from hibernaut.adapters.table.sqlite import SqliteTable
from hibernaut.schemas.agents.agent import CreateAgentRequest, UpdateAgent
from hibernaut.schemas.memory.block import BlockUpdate
from hibernaut.schemas.messages.frozen_prompt import PromptMode
from hibernaut.schemas.messages.message import Message
from hibernaut.schemas.models.generation import GenerateRequest
from hibernaut.schemas.runs.run import Run
from hibernaut.schemas.tools.tool import ToolCreate
from hibernaut.schemas.usage import Usage
from hibernaut.services.host import TraceMode
from hibernaut.wiring.api_services import services_over
from tests.support.blobs import MemoryBlobs
from tests.support.clocks import ManualClock
from tests.support.scripted_model import ScriptedRunner
from tests.support.world import Data, World

TOOL = '''def {name}(x: str) -> str:
    """Do {name}.

    Args:
        x (str): what to do it with
    """
    return x
'''


class Engine:
    """A process with one agent. Its clock stands still but for back-offs, and its tools return what they are given."""

    def __init__(
        self, folder: Path, variables: Mapping[str, str], *, system_prompt: PromptMode = "frozen", traces: TraceMode = "off"
    ) -> None:
        self.clock = ManualClock()
        self.models = Catalogue(EnvironmentSecrets(variables))
        table = SqliteTable(folder / "table.db", now=lambda: self.clock.now().timestamp())
        data = Data(table, self.clock, self.models, ScriptedRunner(), MemoryBlobs(self.clock))  # type: ignore[arg-type]
        self.world = World(data, system_prompt=system_prompt, traces=traces)
        self.services = services_over(self.world.stores, self.world.host, self.world.chain)
        self.agent = ""

    def close(self) -> None:
        self.world.data.table.close()  # type: ignore[attr-defined]

    def make_agent(
        self, handle: str, *, tools: Sequence[str] = ("ring", "tell"), schemas: Mapping[str, Any] = {}, **fields: Any
    ) -> None:
        """The agent as the API makes it: base tools, two blocks, and custom tools of these names and with these parameters."""
        for name in tools:
            self.services.tools.save(ToolCreate(source_code=TOOL.format(name=name)))
        for name, parameters in schemas.items():
            schema = {"name": name, "description": f"Do {name}.", "parameters": parameters}
            self.services.tools.save(ToolCreate(source_code=TOOL.format(name=name), json_schema=schema))
        tools = [*tools, *schemas]
        blocks = [{"label": "human", "value": "Ann"}, {"label": "persona", "value": "I am Ada."}]
        asked = {"model": handle, "tools": list(tools), "memory_blocks": blocks, "parallel_tool_calls": True} | fields
        self.agent = self.services.agents.creation.create(CreateAgentRequest.model_validate(asked)).id

    def change_agent(self, **fields: Any) -> None:
        self.services.agents.updates.update(self.agent, UpdateAgent.model_validate(fields))

    @property
    def window(self) -> int:
        """The tokens of the agent's window."""
        return self.world.stores.agents.get(self.agent).llm_config.context_window

    def edit_memory(self, label: str, value: str) -> None:
        """As a client edits a block, outside any run."""
        block = self.world.block(self.agent, label)
        self.services.blocks.update(block.id, BlockUpdate(value=value))

    def send(self, text: str, **options: Any) -> Run:
        return self.run(self.world.send(self.agent, text, **options))

    def answer(self, *items: Mapping[str, object]) -> Run:
        """Answer what waits for an approval or for a client's tool."""
        accepted = self.world.answer(self.agent, *items)
        self.world.workflow.drive()
        return self.run(accepted.run_id)

    def generate(self, prompt: str, schema: Mapping[str, Any]) -> str:
        """The content of the agent's model's answer in this form, as POST …/generate gives it."""
        asked = GenerateRequest.model_validate({"prompt": prompt, "response_schema": schema})
        return self.services.direct_calls.generate(self.agent, asked).content

    def compact(self) -> None:
        """As POST …/summarize does."""
        self.services.compactions.on_request(self.agent)

    def usage(self, run_id: str) -> Usage:
        """What the run used, over all its steps."""
        return self.world.response(run_id).usage

    def run(self, run_id: str) -> Run:
        return self.world.run(run_id).run

    def log(self) -> list[Message]:
        return self.world.log(self.agent)
