"""What a user of an older Python SDK does first, as that SDK's guides write it. Run by that SDK's own Python: `story.py URL`.

Knows the SDK and nothing of the server. Prints what it saw as one line of JSON.
"""

import importlib
import json
import sys

from letta_client import Letta
from pydantic import BaseModel

client = Letta(base_url=sys.argv[1])
OLDEST = not hasattr(client.agents, "update")
"""Whether this is an SDK of the line 0.1."""


def base_tool():
    """Where `BaseTool` lies has moved between releases."""
    for module in ("letta_client.resources.tools", "letta_client.client", "letta_client.tools.client"):
        try:
            return importlib.import_module(module).BaseTool
        except (ImportError, AttributeError):
            continue
    return None


def said(agent_id, text):
    return client.agents.messages.create(agent_id=agent_id, messages=[{"role": "user", "content": text}]).messages


def kinds(messages):
    return [message.message_type for message in messages]


def listed(page):
    return list(page)


def cheer(name: str) -> str:
    """
    Cheer somebody on.

    Args:
        name (str): Who is cheered on.

    Returns:
        str: The cheer.
    """
    return "Go, " + name


class WhistleArguments(BaseModel):
    times: int


seen = {}
agent = client.agents.create(
    name="older",
    memory_blocks=[{"label": "human", "value": ""}, {"label": "persona", "value": "I am kind."}],
    model="hibernaut/demo",
)
seen["first"] = kinds(said(agent.id, "Please remember that my dog is called Rex."))
seen["human"] = client.agents.blocks.retrieve(agent_id=agent.id, block_label="human").value

change = client.agents.blocks.modify if OLDEST else client.agents.blocks.update
change(agent_id=agent.id, block_label="persona", value="I am patient.")
seen["persona"] = client.agents.blocks.retrieve(agent_id=agent.id, block_label="persona").value

stream = client.agents.messages.create_stream if OLDEST else client.agents.messages.stream
pieces = stream(agent_id=agent.id, messages=[{"role": "user", "content": "What do you know about me?"}])
seen["streamed"] = kinds(pieces)
seen["log"] = kinds(listed(client.agents.messages.list(agent_id=agent.id, limit=100)))

made = client.tools.create_from_function(func=cheer)
again = client.tools.upsert_from_function(func=cheer)
seen["function"] = [made.name, made.id == again.id, sorted(made.json_schema["parameters"]["properties"])]
if (BaseTool := base_tool()) is not None:

    class Whistle(BaseTool):
        name: str = "whistle"
        args_schema: type[BaseModel] = WhistleArguments
        description: str = "Whistle."

        def run(self, times: int) -> str:
            return "fiu" * times

    added = client.tools.add(tool=Whistle(id="tool-whistle"))  # newer SDKs want an id and do not send it
    seen["added"] = [added.name, sorted(added.json_schema["parameters"]["properties"])]
client.agents.tools.attach(agent_id=agent.id, tool_id=made.id)
seen["attached"] = "cheer" in [tool.name for tool in client.agents.tools.list(agent_id=agent.id)]

client.agents.passages.create(agent_id=agent.id, text="The spare key hangs behind the clock.")
found = client.agents.passages.search(agent_id=agent.id, query="spare key")
seen["passages"] = [found.count, found.results[0].content]
seen["renamed"] = (client.agents.modify if OLDEST else client.agents.update)(agent_id=agent.id, name="renamed").name
seen["agents"] = [one.name for one in client.agents.list()]
seen["models"] = [model.handle for model in client.models.list()]
seen["runs"] = sum(run.status == "completed" for run in client.runs.list(agent_id=agent.id))
client.agents.delete(agent_id=agent.id)
seen["left"] = len(listed(client.agents.list()))
print(json.dumps(seen))
