"""The solver for tool rules: which tools may or must be called next, which calls end a run, and what the model reads about it.

Knows the rules and the history of a run (the names of its calls); knows neither messages nor models nor how tools run. Sources:
RT 3 and 2.11. Two defects of V1 (API 17) are not repeated: it halves `max_count_per_step`, and its `conditional`
rule reads an envelope in place of the tool's return.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import assert_never

from hibernaut.domain.prompt_tags import escaped
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import InvalidArgument, Unprocessable
from hibernaut.schemas.tools.tool_rule import (
    ChildToolRule,
    ConditionalToolRule,
    ContinueToolRule,
    InitToolRule,
    MaxCountPerStepToolRule,
    ParentToolRule,
    RequiredBeforeExitToolRule,
    RequiresApprovalToolRule,
    TerminalToolRule,
    ToolRule,
)

MODELS_WITH_SEVERAL_FIRST_TOOLS = frozenset({"gpt-4o", "gpt-4o-mini"})
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_CONSTANTS = {"true": True, "false": False, "none": None, "null": None}

_PROMPT_OPENING = "The order and number of your tool calls must keep these rules."


def allowed(rules: Sequence[ToolRule], history: Sequence[str], available: Sequence[str], last_return: str | None) -> list[str]:
    """The names that may be called next, in the order of `available`.

    `history` holds the names called in this run, oldest first; `last_return` is the return of the last call as text. If the rules
    allow nothing, everything available is allowed, as in V1 (API 3.2).
    """
    return list(_within(rules, history, available, last_return)) or list(available)


def _within(rules: Sequence[ToolRule], history: Sequence[str], available: Sequence[str], last: str | None) -> Iterator[str]:
    firsts = {rule.tool_name for rule in rules if isinstance(rule, InitToolRule)}
    if firsts and not history:
        return (name for name in available if name in firsts)
    tests = [test for rule in rules if (test := _restriction(rule, history, last)) is not None]
    return (name for name in available if all(test(name) for test in tests))


def _restriction(rule: ToolRule, history: Sequence[str], last_return: str | None) -> Callable[[str], bool] | None:
    """The condition that the rule puts on the next name; None if it does not apply now."""
    after = bool(history) and history[-1] == rule.tool_name
    match rule:
        case ChildToolRule():
            return _one_of(rule.children) if after else None
        case ParentToolRule():
            return _one_of(rule.children) if after else _none_of(rule.children)
        case ConditionalToolRule():
            return _one_of(children) if after and (children := _chosen(rule, last_return)) is not None else None
        case MaxCountPerStepToolRule():
            return _none_of([rule.tool_name]) if history.count(rule.tool_name) >= rule.max_count_limit else None
        case InitToolRule() | TerminalToolRule() | ContinueToolRule() | RequiredBeforeExitToolRule() | RequiresApprovalToolRule():
            return None
        case _:
            assert_never(rule)


def _one_of(names: Sequence[str]) -> Callable[[str], bool]:
    return lambda name: name in names


def _none_of(names: Sequence[str]) -> Callable[[str], bool]:
    return lambda name: name not in names


def _chosen(rule: ConditionalToolRule, returned: str | None) -> list[str] | None:
    """The child that the return selects; [] if a strict rule maps no child to it, None if any tool is allowed."""
    if returned is not None:
        # An exact match comes first, so that a key "1.0" wins over a key "1" if both are mapped.
        for equal in (_same_text, _same_value):
            for key, child in rule.child_output_mapping.items():
                if equal(key, returned):
                    return [child]
    if rule.require_output_mapping:
        return []
    return [rule.default_child] if rule.default_child else None


def _same_text(key: Json, returned: str) -> bool:
    return str(key) == returned


def _same_value(key: Json, returned: str) -> bool:
    """Whether key and return mean the same value. Keys are strings and returns are text, so `true`, `5` and `null` are compared
    as JSON values.
    """
    left, right = _read(str(key)), _read(returned)
    return type(left) is type(right) and left == right


def _read(text: str) -> float | bool | str | None:
    text = text.strip()
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    return float(text) if _NUMBER.fullmatch(text) else text


def must_call(rules: Sequence[ToolRule], history: Sequence[str]) -> bool:
    """Whether the model must answer with a tool call (API 3.3)."""
    if not history:
        return any(isinstance(rule, InitToolRule) for rule in rules)
    return any(
        isinstance(rule, ChildToolRule | ConditionalToolRule | ParentToolRule) and rule.tool_name == history[-1] for rule in rules
    )


def prefilled(rules: Sequence[ToolRule], history: Sequence[str]) -> dict[str, JsonObject]:
    """The arguments that the rules prefill for the next call, by tool; they override the model's. Of two rules the later one
    wins.
    """
    arguments: dict[str, JsonObject] = {}
    for rule in rules:
        if isinstance(rule, InitToolRule) and not history and rule.args:
            arguments[rule.tool_name] = dict(rule.args)
        if isinstance(rule, ChildToolRule) and history and history[-1] == rule.tool_name:
            arguments.update({node.name: dict(node.args) for node in rule.child_arg_nodes or () if node.args})
    return arguments


def uncalled_required(rules: Sequence[ToolRule], history: Sequence[str], available: Sequence[str]) -> list[str]:
    """The attached tools that must still be called before the run may end, in the order of the rules."""
    required = dict.fromkeys(rule.tool_name for rule in rules if isinstance(rule, RequiredBeforeExitToolRule))
    return [name for name in required if name in available and name not in history]


def ends_run(rules: Sequence[ToolRule], name: str) -> bool:
    """Whether a rule makes the tool terminal: its call ends the run, unless a required tool is missing."""
    return any(isinstance(rule, TerminalToolRule) and rule.tool_name == name for rule in rules)


def continues(rules: Sequence[ToolRule], name: str) -> bool:
    """Whether a rule makes the run continue after a call of the tool that requests no heartbeat."""
    return any(isinstance(rule, ContinueToolRule) and rule.tool_name == name for rule in rules)


def has_child_like(rules: Sequence[ToolRule], name: str) -> bool:
    """Whether a rule for this tool makes V1's heartbeat loop continue; a rule that limits the count is one of them (digest
    2.11).
    """
    return any(
        isinstance(rule, ChildToolRule | ConditionalToolRule | MaxCountPerStepToolRule) and rule.tool_name == name
        for rule in rules
    )


def needs_approval(rules: Sequence[ToolRule], name: str) -> bool:
    """Whether a rule requires approval before the tool is called. Tool policies are not looked at."""
    return any(isinstance(rule, RequiresApprovalToolRule) and rule.tool_name == name for rule in rules)


def violation(name: str, allowed: Sequence[str], rules: Sequence[ToolRule], history: Sequence[str]) -> str:
    """The error text for the model after a call that the rules forbid (API 2.4)."""
    text = f"[ToolConstraintError] Cannot call {name}, valid tools include: {list(allowed)}."
    hints = list(dict.fromkeys(hint for rule in rules if (hint := _hint(rule, name, history))))
    if not hints:
        return text
    return "\n".join([f"{text}\n** Hint: Possible rules that were violated:", *(f"- {hint}" for hint in hints)])


def _hint(rule: ToolRule, name: str, history: Sequence[str]) -> str | None:
    after = bool(history) and history[-1] == rule.tool_name
    match rule:
        case InitToolRule() if not history and rule.tool_name != name:
            return f"{rule.tool_name} must be called before any other tool"
        case ChildToolRule() if after and name not in rule.children:
            return _sentence(rule)
        case ParentToolRule() if after is not (name in rule.children):
            return _sentence(rule)
        case ConditionalToolRule() if after:
            return _sentence(rule)
        case MaxCountPerStepToolRule() if name == rule.tool_name and history.count(name) >= rule.max_count_limit:
            return _sentence(rule)
        case _:
            return None


def _sentence(rule: ToolRule) -> str | None:
    """The rule in words; None for rules that the model need not know (API 3.1)."""
    match rule:
        case TerminalToolRule():
            return f"Calling {rule.tool_name} finishes your response: nothing can follow it."
        case ContinueToolRule():
            return f"Calling {rule.tool_name} does not finish your response: carry on after it."
        case ChildToolRule():
            return f"Directly after {rule.tool_name}, call one of: {', '.join(rule.children)}."
        case ParentToolRule():
            return f"Call {', '.join(rule.children)} only directly after {rule.tool_name}."
        case ConditionalToolRule():
            return f"What {rule.tool_name} returns decides which tool comes directly after it."
        case MaxCountPerStepToolRule():
            return f"Call {rule.tool_name} no more than {rule.max_count_limit} time(s) in one response."
        case InitToolRule() | RequiredBeforeExitToolRule() | RequiresApprovalToolRule():
            return None
        case _:
            assert_never(rule)


def prompt_section(rules: Sequence[ToolRule], labels: Sequence[str | None] = ()) -> str | None:
    """The section of the system message with the rules (API 3.4); None if no rule is to be shown.

    `labels` are the labels of the blocks in the same message.
    """
    sentences = list(dict.fromkeys(sentence for rule in rules if (sentence := _sentence(rule))))
    if not sentences:
        return None
    elements = (f"<tool_rule>\n{escaped(sentence, labels)}\n</tool_rule>" for sentence in sentences)
    return "\n".join(["<tool_usage_rules>", _PROMPT_OPENING, *elements, "</tool_usage_rules>"])


def each_once(rules: Sequence[ToolRule]) -> list[ToolRule]:
    """The rules in their order without those that mean the same as an earlier one."""
    first: dict[str, ToolRule] = {}
    for rule in rules:
        first.setdefault(_meaning(rule), rule)
    return list(first.values())


def _meaning(rule: ToolRule) -> str:
    """What two equal rules share: everything but the `prompt_template`, which no prompt shows, and the order of children and of a
    mapping.
    """
    fields = rule.model_dump(mode="json", exclude={"prompt_template"})
    if isinstance(rule, ChildToolRule | ParentToolRule):
        fields["children"] = sorted(set(rule.children))
    if isinstance(rule, ChildToolRule) and rule.child_arg_nodes:
        fields["child_arg_nodes"] = sorted(json.dumps(node, sort_keys=True) for node in fields["child_arg_nodes"])
    return json.dumps(fields, sort_keys=True)


def check(rules: Sequence[ToolRule], model: str) -> None:
    """Refuse contradictory rules (API 1.2). `model` is a name or a handle.

    Raises: InvalidArgument for several `run_first` rules, except for the models for which V1 accepts them.
    """
    firsts = [rule.tool_name for rule in rules if isinstance(rule, InitToolRule)]
    if len(firsts) > 1 and model.rpartition("/")[2] not in MODELS_WITH_SEVERAL_FIRST_TOOLS:
        raise InvalidArgument(
            f"Only one run_first tool rule is possible with model {model}, not {len(firsts)}: {', '.join(firsts)}"
        )


def check_children(rules: Sequence[ToolRule]) -> None:
    """Refuse arguments for tools that are no children of their rule: they would never be filled in. Raises: Unprocessable."""
    for rule in rules:
        if not isinstance(rule, ChildToolRule):
            continue
        if unknown := [node.name for node in rule.child_arg_nodes or () if node.name not in rule.children]:
            raise Unprocessable(
                f"The child_arg_nodes of the rule for {rule.tool_name} name {', '.join(unknown)}: each must be one of its children."
            )
