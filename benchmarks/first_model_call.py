"""The CPU milliseconds of a new process from the import of `advance_turn` to the end of its first model call, with its turn
engine and a DynamoDB client.

`python benchmarks/first_model_call.py ADDRESS` prints them. ADDRESS is that of a Chat Completions server on loopback. The client
of DynamoDB is made and sends nothing.
"""

from __future__ import annotations

import importlib
import os
import sys
import time

NAMES = ("ENV", "TABLE", "BUCKET", "STATE_MACHINE", "RUN_TOOL")
os.environ |= {f"HIBERNAUT_{name}": "dev" for name in NAMES}

began = time.process_time()
importlib.import_module("functions.advance_turn.handler")

from datetime import UTC, datetime  # noqa: E402  the handler's import is measured, and comes first

from hibernaut.adapters.aws_clients import aws_client  # noqa: E402
from hibernaut.adapters.model.catalogue import Catalogue  # noqa: E402
from hibernaut.adapters.secrets.environment import EnvironmentSecrets  # noqa: E402
from hibernaut.adapters.table.dynamodb import one_attempt  # noqa: E402
from hibernaut.ports.model import ModelRequest  # noqa: E402
from hibernaut.schemas.content import TextContent  # noqa: E402
from hibernaut.schemas.messages.message import Message  # noqa: E402
from hibernaut.wiring import aws  # noqa: E402


def main() -> None:
    secrets = EnvironmentSecrets({"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": sys.argv[1]})
    assert aws.engines().of("default").turns
    aws_client("dynamodb", one_attempt(), endpoint_url="http://127.0.0.1:1")
    models = Catalogue(secrets)
    config = models.config("openai/m")
    row = Message(id="message-1", role="user", content=[TextContent(text="Hello")], agent_id="a", created_at=datetime.now(UTC))
    reply = models.of(config).complete(ModelRequest(config, "Be kind.", [row], timeout=10.0))
    spent = (time.process_time() - began) * 1000
    assert reply.text
    print(spent)


main()
