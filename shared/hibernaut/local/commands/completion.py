"""`hibernaut completion bash|zsh|fish`: scripts that complete the command line, written from its parser, so that they know every
option.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping
from typing import TypeVar

SHELLS = ("bash", "zsh", "fish")
EXAMPLES = """\
examples:
  hibernaut completion bash > ~/.local/share/bash-completion/completions/hibernaut
  echo 'source <(hibernaut completion zsh)' >> ~/.zshrc
  hibernaut completion fish > ~/.config/fish/completions/hibernaut.fish
"""
_BASH = """\
_hibernaut() {{
    local place="" word words="" value="" i
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${{COMP_WORDS[i]}}"
        if [ -n "$value" ]; then value=""; continue; fi
        case "$place $word" in
{steps}
            *" "-*) case " {valued} " in *" $word "*) value=1 ;; esac ;;
        esac
    done
    case "$place" in
{words}
    esac
    if [ -n "$value" ]; then COMPREPLY=(); else COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}")); fi
}}
complete -o default -F _hibernaut hibernaut
"""
_HEAD = {"bash": "", "zsh": "autoload -U +X bashcompinit && bashcompinit\n"}
"""zsh completes by functions of bash after this line."""
Parser = TypeVar("Parser", bound=argparse.ArgumentParser)


def add_completion(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    completion = commands.add_parser(
        "completion",
        help="print a script that completes this command in bash, zsh or fish",
        description="Print a script that completes commands, options and their values.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    completion.add_argument("shell", choices=SHELLS)


def script_of(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script for a shell."""
    places = dict(_places(parser, ()))
    return _fish(places) if shell == "fish" else _sh(places, shell)


Place = tuple[str, ...]


def _places(parser: argparse.ArgumentParser, place: Place) -> Iterator[tuple[Place, argparse.ArgumentParser]]:
    """The command and its sub-commands, by their words."""
    yield place, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                yield from _places(child, (*place, name))


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    for action in parser._actions:
        yield from ((option, action) for option in action.option_strings)


def _choices(parser: argparse.ArgumentParser) -> list[str]:
    """The words that a place of the command line may have besides options: sub-commands, and the values of arguments."""
    return [str(one) for action in parser._actions if not action.option_strings for one in action.choices or ()]


def _sh(places: Mapping[Place, argparse.ArgumentParser], shell: str) -> str:
    steps, words = [], []
    valued = {option for one in places.values() for option, action in _options(one) if action.nargs != 0}
    for place, parser in places.items():
        if place:
            steps.append(f'            "{" ".join(place[:-1])} {place[-1]}") place="{" ".join(place)}" ;;')
        completions = [*_choices(parser), *(option for option, _ in _options(parser))]
        words.append(f'        "{" ".join(place)}") words="{" ".join(completions)}" ;;')
    return _HEAD[shell] + _BASH.format(steps="\n".join(steps), words="\n".join(words), valued=" ".join(sorted(valued)))


def _fish(places: Mapping[Place, argparse.ArgumentParser]) -> str:
    lines = ["# Completion of hibernaut for fish. Written by `hibernaut completion fish`."]
    for place, parser in places.items():
        below = [name for name in _choices(parser) if (*place, name) in places]
        conditions = [f"__fish_seen_subcommand_from {name}" for name in place]
        unseen = [f"not __fish_seen_subcommand_from {' '.join(below)}"] if below else []
        when = shlex.quote("; and ".join([*conditions, *unseen]) or "true")
        for name in _choices(parser):
            lines.append(f"complete -c hibernaut -n {when} -f -a {shlex.quote(name)} -d {shlex.quote(_about(parser, name))}")
        for option, action in _options(parser):
            if action.option_strings[0] != option:
                continue
            flags = " ".join(f"-l {one[2:]}" if one.startswith("--") else f"-s {one[1:]}" for one in action.option_strings)
            value = (
                ""
                if action.nargs == 0
                else (f" -x -a {shlex.quote(' '.join(map(str, action.choices)))}" if action.choices else " -r")
            )
            about = shlex.quote(_clipped(action.help))
            lines.append(f"complete -c hibernaut -n {when} {flags}{value} -d {about}")
    return "\n".join(lines) + "\n"


def _about(parser: argparse.ArgumentParser, name: str) -> str:
    """What a sub-command is for."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return next((_clipped(one.help) for one in action._choices_actions if one.dest == name), "")
    return ""


def _clipped(text: str | None) -> str:
    return (text or "").replace("%(default)s", "…").partition(";")[0][:80]
