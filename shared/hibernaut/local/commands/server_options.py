"""The options of commands that speak to a server: its address and a key."""

from __future__ import annotations

import argparse

from hibernaut.local.commands.agents_options import HOME, KEY
from hibernaut.local.commands.texts import address, key_of
from hibernaut.local.remote.agent_server import AgentServer

JSON = "print JSON"


def add_server(command: argparse.ArgumentParser, *, default: str | None = HOME) -> None:
    """Add --url and --key."""
    default_text = f"(default: {HOME})" if default else f"(default: {HOME}, or a server that is started for this command)"
    command.add_argument("--url", default=default, type=address, help=f"address of the server {default_text}")
    command.add_argument("--key", default="", metavar="KEY", help=KEY)


def server_of(options: argparse.Namespace) -> AgentServer:
    """The server that the options name. Raises: BadSetting."""
    return AgentServer(options.url or HOME, key_of(options.key))
