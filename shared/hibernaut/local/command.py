"""The command `hibernaut`: parses the command line, starts a profile, and reports an error in one line.

Knows the terminal and the exit codes: 0 success, 1 the machine does not allow it, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from hibernaut import __version__
from hibernaut.local import profiles
from hibernaut.local.profiles import CannotServe, Dev
from hibernaut.local.server import loopback
from hibernaut.wiring.settings import BadSetting

PORT = 8283
"""The address that `letta-client` uses with environment="local"."""

DATA_DIR = "where agents are kept (default: $HIBERNAUT_DATA, else this system's folder for your data)"
ABOUT = """\
Hibernaut serves stateful LLM agents with self-editing memory behind the Letta V1 API.

    hibernaut dev        serve on http://127.0.0.1:8283; agents are kept in your data folder
    hibernaut reindex    build the search index of a data folder anew, or of a deployed stack, also while it is served
    hibernaut version    print the version

Then, with `pip install letta-client`:

    from letta_client import Letta
    client = Letta(base_url="http://127.0.0.1:8283")
    agent = client.agents.create(memory_blocks=[{"label": "human", "value": ""}])
    client.agents.messages.create(agent.id, input="Please remember that my dog is called Rex.")
"""

MODELS = """\
models:
  Without any key, agents use hibernaut/demo, a small built-in script that needs no network.
  For a real model set one of these before starting. It also serves agents that are created without a model:
    OPENAI_API_KEY       models as openai/<name>
    OPENAI_BASE_URL      any server that speaks the same: Ollama, vLLM, LM Studio, …
    ANTHROPIC_API_KEY    models as anthropic/<name>

examples:
  hibernaut dev --port 8300 --data-dir ~/agents
  OPENAI_BASE_URL=http://127.0.0.1:11434/v1 hibernaut dev
  hibernaut dev --profile aws-offline    what is deployed to AWS, in this process, from a checkout
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    asked = _parser().parse_args(arguments)
    if asked.command == "version":
        print(__version__)
        return 0
    if asked.command is None:
        _parser().print_help()
        return 0
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, _interrupted)  # also if the parent ignores the signal, as a shell does for background processes
    if asked.command == "reindex":
        return _reindex(asked)
    return _dev(Dev(asked.host, asked.port, asked.data_dir, asked.profile, resume=asked.resume))


def _reindex(asked: argparse.Namespace) -> int:
    from hibernaut.local import reindexing, reindexing_deployed
    from hibernaut.local.reindexing_deployed import Deployed

    try:
        if asked.env or asked.function:
            reindexing_deployed.reindex(Deployed(function=asked.function, env=asked.env))
        else:
            reindexing.reindex(asked.data_dir)
    except CannotServe as reason:
        return _sorry(reason.code, str(reason))
    except BadSetting as reason:
        return _sorry(2, str(reason))
    return 0


def _dev(asked: Dev) -> int:
    if not loopback(asked.host):
        return _sorry(
            2, f"--host {asked.host} would open the server to the network, and no API keys guard it; use 127.0.0.1 or ::1"
        )
    try:
        profiles.serve(asked)
    except KeyboardInterrupt:
        print("\nStopped." if sys.stdout.isatty() else "Stopped.", flush=True)
    except CannotServe as reason:
        return _sorry(reason.code, str(reason))
    except BadSetting as reason:
        return _sorry(2, str(reason))
    return 0


def _interrupted(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _sorry(code: int, text: str) -> int:
    print(f"hibernaut: {text}", file=sys.stderr)
    return code


class _Parser(argparse.ArgumentParser):
    """Reports a wrong argument in one line, without the whole usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"hibernaut: {message} ({self.prog} --help shows what there is)\n")


def _parser() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = _Parser(prog="hibernaut", description=ABOUT, formatter_class=form)
    parser.add_argument("--version", action="version", version=__version__, help="as `hibernaut version`")
    commands = parser.add_subparsers(dest="command", metavar="command", parser_class=_Parser)
    dev = commands.add_parser(
        "dev",
        help="serve on this machine",
        description="Serve the API on this machine until Ctrl-C. Nothing leaves it but calls to the models you configure.",
        epilog=MODELS,
        formatter_class=form,
    )
    dev.add_argument("--host", default="127.0.0.1", help="address to listen on, of this machine only (default: %(default)s)")
    dev.add_argument("--port", type=_port, default=PORT, help="port to listen on; 0 takes a free one (default: %(default)s)")
    dev.add_argument("--data-dir", metavar="DIR", help=DATA_DIR)
    dev.add_argument("--resume", action="store_true", help="go on with the runs of a data folder that comes from elsewhere")
    dev.add_argument(
        "--profile", type=_profile, default="embedded", help="embedded or aws-offline (default: %(default)s)", metavar="NAME"
    )
    again = commands.add_parser(
        "reindex",
        help="build the search index anew",
        description="Empty the search index of a data folder and build it anew from what is stored there. A server that has the folder open "
        "may go on: it does the work, and says meanwhile that searches may be incomplete. Ctrl-C loses nothing. With --env or --function "
        "it is the index of a deployed stack, which its own function builds.",
    )
    which = again.add_mutually_exclusive_group()
    which.add_argument("--data-dir", metavar="DIR", help=DATA_DIR)
    which.add_argument(
        "--env", metavar="NAME", help="the stack hibernaut-NAME of your AWS account and region: dev, staging or prod"
    )
    which.add_argument("--function", metavar="NAME", help="the stack's output IndexFunction, where its outputs may not be read")
    commands.add_parser("version", help="print the version", description="Print the version.")
    return parser


def _port(text: str) -> int:
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: give a number from 0 to 65535")
    return int(text)


def _profile(text: str) -> str:
    if text not in profiles.PROFILES:
        raise argparse.ArgumentTypeError(f"there is no profile {text!r}: choose {' or '.join(profiles.PROFILES)}")
    return text
