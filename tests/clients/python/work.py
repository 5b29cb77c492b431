"""What a user of an older Python SDK does later: approvals, background runs, files, shared blocks, several messages at once,
agent files. Run by that SDK's own Python: `work.py URL`.

Knows the SDK and nothing of the server. Prints what it saw as one line of JSON.
"""

import io
import json
import sys
import time

from letta_client import Letta

client = Letta(base_url=sys.argv[1])
OLDEST = not hasattr(client.agents, "update")
"""Whether this is an SDK of the line 0.1."""
PATIENCE = 60.0
"""Seconds until a run or a file must be done."""

CHEER = '''
def cheer(name: str) -> str:
    """
    Cheer somebody on.

    Args:
        name (str): Who is cheered on.

    Returns:
        str: The cheer.
    """
    return "Go, " + name
'''


def kinds(messages):
    return [message.message_type for message in messages]


def until(look):
    """The first true answer."""
    end = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.05)
    return found


def user(text):
    return {"role": "user", "content": text}


seen = {}
agent = client.agents.create(name="worker", memory_blocks=[{"label": "human", "value": ""}], model="hibernaut/demo")

# An approval, granted and then refused.
tool = client.tools.create(source_code=CHEER)
client.agents.tools.attach(agent_id=agent.id, tool_id=tool.id)
if OLDEST:
    client.agents.tools.modify_approval(agent_id=agent.id, tool_name="cheer", requires_approval=True)
else:
    client.agents.tools.update_approval("cheer", agent_id=agent.id, body_requires_approval=True)
seen["approvals"] = []
for approves in (True, False):
    asked = client.agents.messages.create(agent_id=agent.id, messages=[user("Please call cheer with name=Ann")])
    request = asked.messages[-1]
    answer = {"type": "approval", "approve": approves, "approval_request_id": request.id}
    answered = client.agents.messages.create(agent_id=agent.id, messages=[answer])
    seen["approvals"].append([request.message_type, asked.stop_reason.stop_reason, kinds(answered.messages)[-1]])
client.agents.tools.detach(agent_id=agent.id, tool_id=tool.id)

# A run in the background, its messages and its usage; then nothing is left to cancel.
run = client.agents.messages.create_async(agent_id=agent.id, messages=[user("Hello.")])
until(lambda: client.runs.retrieve(run_id=run.id).status == "completed")
seen["background"] = kinds(client.runs.messages.list(run_id=run.id))
seen["tokens"] = client.runs.usage.retrieve(run_id=run.id).total_tokens > 0

# A file that the agent can open.
folder = client.folders.create(name="papers")
paper = io.BytesIO(b"The ferry leaves at half past seven.")
paper.name = "ferry.txt"
client.folders.files.upload(folder_id=folder.id, file=paper)
until(lambda: [one.processing_status for one in client.folders.files.list(folder_id=folder.id)] == ["completed"])
client.agents.folders.attach(agent_id=agent.id, folder_id=folder.id)
files = client.agents.files.list(agent_id=agent.id)
seen["files"] = [one.file_name for one in getattr(files, "files", files)]

# One block of two agents.
shared = client.blocks.create(label="plan", value="Rest.")
friend = client.agents.create(name="friend", memory_blocks=[], model="hibernaut/demo", block_ids=[shared.id])
client.agents.blocks.attach(agent_id=agent.id, block_id=shared.id)
change = client.agents.blocks.modify if OLDEST else client.agents.blocks.update
change(agent_id=friend.id, block_label="plan", value="Work.")
seen["shared"] = client.agents.blocks.retrieve(agent_id=agent.id, block_label="plan").value

# A history at once, and its search by words.
told = [user(f"Line {number} of the tale.") for number in range(60)]
client.agents.messages.create(agent_id=friend.id, messages=told)
log = list(client.agents.messages.list(agent_id=friend.id, limit=100))
seen["history"] = sum(message.message_type == "user_message" for message in log)
client.agents.messages.reset(agent_id=friend.id)

# An agent file, there and back.
exported = client.agents.export_file(agent_id=agent.id)
document = exported if isinstance(exported, str) else json.dumps(exported)
upload = io.BytesIO(document.encode())
upload.name = "worker.af"
imported = client.agents.import_file(file=upload)
seen["copy"] = client.agents.retrieve(agent_id=imported.agent_ids[0]).name

# Templates: the line 0.1 lists them.
if OLDEST:
    for name in ("first", "second"):
        body = {"type": "agent", "agent_id": agent.id, "name": name}
        client._client_wrapper.httpx_client.request("v1/templates", method="POST", json=body)
    pages = [client.templates.list(offset=str(place), limit="1") for place in range(2)]
    seen["templates"] = [[page.templates[0].name, page.templates[0].latest_version, page.has_next_page] for page in pages]
print(json.dumps(seen))
