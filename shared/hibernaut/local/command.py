"""The command `hibernaut`: parses the command line, starts a profile, and reports an error in one line.

Knows the terminal and the exit codes: 0 success, 1 the machine or the server does not allow it, 2 wrong usage (docs/cli.md).
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import NoReturn

from hibernaut import __version__
from hibernaut.adapters.model.dialects import OPENAI
from hibernaut.local import profiles
from hibernaut.local.commands.agents_options import add_agents, run_agents
from hibernaut.local.commands.audit_options import add_audit, run_audit
from hibernaut.local.commands.budgets_options import add_budgets, run_budgets
from hibernaut.local.commands.chat_options import add_chat, add_logs, add_open, run_chat, run_logs, run_open
from hibernaut.local.commands.completion import add_completion, script_of
from hibernaut.local.commands.erase_options import add_erase, run_erase
from hibernaut.local.commands.keys_options import add_keys, run_keys
from hibernaut.local.commands.migrate_options import add_migrate, run_migrate
from hibernaut.local.commands.operations_options import add_doctor, add_redrive, run_doctor, run_redrive
from hibernaut.local.commands.restore_options import add_backups, run_backup, run_restore
from hibernaut.local.profiles import CannotServe, Dev
from hibernaut.local.provider_help import provider_lines
from hibernaut.wiring.settings import BadSetting

PORT = 8283
"""The address that `letta-client` uses with environment="local"."""

DATA_DIR = "folder of the agents' data (default: $HIBERNAUT_DATA, else this system's folder for your data)"
ABOUT = "Hibernaut serves stateful LLM agents with self-editing memory behind the Letta V1 API."
FIRST_STEPS = """\
Start `hibernaut dev`. Then, with `pip install letta-client`:

    from letta_client import Letta
    client = Letta(base_url="http://127.0.0.1:8283")
    agent = client.agents.create(memory_blocks=[{"label": "human", "value": ""}])
    client.agents.messages.create(agent.id, input="Please remember that my dog is called Rex.")
"""

MODELS = f"""\
models:
  Without any key, agents use hibernaut/demo, a small built-in script that needs no network.
  For real models, set the variables of one or more providers before the start:
{provider_lines()}
  {OPENAI.address} points openai/… to any other server that speaks Chat Completions.
  Agents that are created without a model use the first configured provider of this list.

examples:
  hibernaut dev --port 8300 --data-dir ~/agents
  OLLAMA_BASE_URL=http://127.0.0.1:11434 hibernaut dev
  hibernaut dev --profile aws-offline    the AWS stack in this process, from a checkout
"""


OPERATIONS: Mapping[str, Callable[[argparse.Namespace], int | None]] = {
    "chat": run_chat,
    "logs": run_logs,
    "open": run_open,
    "erase": run_erase,
    "agents": run_agents,
    "migrate": run_migrate,
    "keys": run_keys,
    "budgets": run_budgets,
    "audit": run_audit,
    "doctor": run_doctor,
    "redrive": run_redrive,
    "backup": run_backup,
    "restore": run_restore,
}
"""The commands that administer a data folder, a deployed stack or agents. A function returns the exit code; None: 0."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = command_line()
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        words = f"hibernaut {options.command}" if options.command else "hibernaut"
        parser.exit(2, f"hibernaut: unknown: {' '.join(unknown)} ({words} --help lists the options)\n")
    if options.command == "version":
        print(json.dumps({"version": __version__}) if getattr(options, "json", False) else __version__)
        return 0
    if options.command == "completion":
        print(script_of(command_line(), options.shell), end="")
        return 0
    if options.command is None:
        command_line().print_help()
        return 0
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, _interrupted)  # also if the parent ignores the signal, as a shell does for background processes
    if options.command == "reindex":
        return _reindex(options)
    if options.command == "models":
        return _check_models(options)
    if options.command in OPERATIONS:
        return _administer(options)
    return _dev(
        Dev(options.host, options.port, options.data_dir, options.profile, resume=options.resume, verbose=options.verbose)
    )


def _reindex(options: argparse.Namespace) -> int:
    from hibernaut.local.administration import reindexing, reindexing_deployed
    from hibernaut.local.administration.reindexing_deployed import Deployed

    out = sys.stderr if options.json else sys.stdout
    try:
        if options.env or options.function:
            records = reindexing_deployed.reindex(Deployed(function=options.function, env=options.env), out)
        else:
            records = reindexing.reindex(options.data_dir, out)
    except CannotServe as reason:
        return _sorry(reason.code, str(reason))
    except BadSetting as reason:
        return _sorry(2, str(reason))
    if options.json:
        print(json.dumps({"records": records}))
    return 0


def _check_models(options: argparse.Namespace) -> int:
    from hibernaut.local.model_checks.checking import CheckOptions, check_models

    try:
        return check_models(CheckOptions(options.provider, options.model or (), agreed=options.yes, as_json=options.json))
    except KeyboardInterrupt:
        return _sorry(1, "stopped; what was sent until now is billed")
    except CannotServe as reason:
        return _sorry(reason.code, str(reason))
    except BadSetting as reason:
        return _sorry(2, str(reason))


def _administer(options: argparse.Namespace) -> int:
    try:
        return OPERATIONS[options.command](options) or 0
    except CannotServe as reason:
        return _sorry(reason.code, str(reason))
    except BadSetting as reason:
        return _sorry(2, str(reason))


def _dev(options: Dev) -> int:
    try:
        profiles.serve(options)
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
        self.exit(2, f"hibernaut: {message} ({self.prog} --help lists the options)\n")


def command_line() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    form = argparse.RawDescriptionHelpFormatter
    parser = _Parser(prog="hibernaut", description=ABOUT, epilog=FIRST_STEPS, formatter_class=form)
    parser.add_argument("--version", action="version", version=__version__, help="as `hibernaut version`")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="command", parser_class=_Parser)
    dev = commands.add_parser(
        "dev",
        help="serve on http://127.0.0.1:8283, with the agents in your data folder",
        description="Serve the API on this machine until Ctrl-C. The server connects to nothing but the models that you configure, and the pages and callbacks that agents and clients name.",
        epilog=MODELS,
        formatter_class=form,
    )
    dev.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on (default: %(default)s). An address that other machines reach needs an API key: hibernaut keys create",
    )
    dev.add_argument("--port", type=_port, default=PORT, help="port to listen on; 0 takes a free one (default: %(default)s)")
    dev.add_argument("--data-dir", metavar="DIR", help=DATA_DIR)
    dev.add_argument(
        "--verbose",
        action="store_true",
        help="say in the log why requests are refused; the reasons may name values of the requests",
    )
    dev.add_argument("--resume", action="store_true", help="resume the unfinished runs of a data folder that was copied or moved")
    dev.add_argument(
        "--profile", type=_profile, default="embedded", help="embedded or aws-offline (default: %(default)s)", metavar="NAME"
    )
    add_chat(commands, DATA_DIR)
    add_open(commands)
    add_logs(commands)
    again = commands.add_parser(
        "reindex",
        help="rebuild the search index of a data folder or of a deployed stack, also while a server uses it",
        description="Empty the search index of a data folder and rebuild it from the stored records. If a server has the folder open, that server "
        "does the work, and marks searches as incomplete meanwhile. Ctrl-C loses nothing. With --env or --function the function of a "
        "deployed stack rebuilds the stack's index.",
    )
    which = again.add_mutually_exclusive_group()
    which.add_argument("--data-dir", metavar="DIR", help=DATA_DIR)
    which.add_argument(
        "--env", metavar="NAME", help="the stack hibernaut-NAME of your AWS account and region: dev, staging or prod"
    )
    which.add_argument(
        "--function", metavar="NAME", help="the stack's output IndexFunction, if you may not read the stack's outputs"
    )
    again.add_argument(
        "--json", action="store_true", help="print the number of records as JSON, and the progress to the standard error"
    )
    models = commands.add_parser(
        "models", help="check what your providers' models can do for agents", description="Look at models."
    )
    actions = models.add_subparsers(dest="action", metavar="action", required=True, parser_class=_Parser)
    check = actions.add_parser(
        "check",
        help="try what agents need of a model",
        description="Run a dozen checks against real models of the configured providers: tool loops, parallel calls, memory, rules, approvals, "
        "images, structured output, streams. States first what this costs at most, then asks. Exit code 0: all models can serve agents.",
    )
    check.add_argument("provider", nargs="*", help="provider whose default model is checked (default: all that are configured)")
    check.add_argument("--model", action="append", metavar="HANDLE", help="model to check, as provider/model; may be repeated")
    check.add_argument("--yes", action="store_true", help="agree to the costs without being asked")
    check.add_argument("--json", action="store_true", help="print the results as JSON, and the rest to the standard error")
    add_agents(commands)
    add_migrate(commands)
    add_keys(commands, DATA_DIR)
    add_budgets(commands, DATA_DIR)
    add_erase(commands)
    add_audit(commands, DATA_DIR)
    add_doctor(commands, DATA_DIR)
    add_redrive(commands)
    add_backups(commands, DATA_DIR)
    add_completion(commands)
    version = commands.add_parser("version", help="print the version", description="Print the version.")
    version.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _port(text: str) -> int:
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: use a number from 0 to 65535")
    return int(text)


def _profile(text: str) -> str:
    if text not in profiles.PROFILES:
        raise argparse.ArgumentTypeError(f"there is no profile {text!r}: choose {' or '.join(profiles.PROFILES)}")
    return text
