"""The tool rules' solver by example: the cases that a property would hide."""

from __future__ import annotations

import re

import pytest

from hibernaut.domain.tools import tool_rules
from hibernaut.schemas.errors import InvalidArgument, Unprocessable
from hibernaut.schemas.tools.tool_rule import (
    ChildArgNode,
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

TOOLS = ["look", "walk", "talk"]


def choice(mapping: dict[object, str], default: str | None = None, strict: bool = False) -> ConditionalToolRule:
    return ConditionalToolRule(
        tool_name="look", child_output_mapping=mapping, default_child=default, require_output_mapping=strict
    )


@pytest.mark.parametrize(
    ("key", "returned"),
    [
        ("yes", "yes"),
        ("true", "True"),
        (True, "True"),
        (False, "false"),
        ("5", "5"),
        (5, "5"),
        (5, "5.0"),
        ("0.5", "5e-1"),
        ("null", "None"),
        (None, "None"),
        ("", ""),
    ],
)
def test_a_conditional_key_matches_what_the_tool_returned(key: object, returned: str) -> None:
    assert tool_rules.allowed([choice({key: "walk"})], ["look"], TOOLS, returned) == ["walk"]


@pytest.mark.parametrize(
    ("key", "returned"),
    [
        ("yes", "Yes"),
        ("1", "true"),
        (1, "True"),
        (True, "1"),
        ("5", "05"),
        ("5", '{"message": "5"}'),
        ("nan", "NaN"),
        (1, "true"),
    ],
)
def test_a_conditional_key_does_not_match_what_only_looks_alike(key: object, returned: str) -> None:
    assert tool_rules.allowed([choice({key: "walk"}, default="talk")], ["look"], TOOLS, returned) == ["talk"]


def test_the_exact_text_wins_over_an_equal_number() -> None:
    assert tool_rules.allowed([choice({"1": "walk", "1.0": "talk"})], ["look"], TOOLS, "1.0") == ["talk"]


def test_a_return_without_a_key_leaves_the_default_or_everything() -> None:
    assert tool_rules.allowed([choice({"a": "walk"}, default="talk")], ["look"], TOOLS, "b") == ["talk"]
    assert tool_rules.allowed([choice({"a": "walk"})], ["look"], TOOLS, "b") == TOOLS
    assert tool_rules.allowed([choice({"a": "walk"})], ["look"], TOOLS, None) == TOOLS


def test_a_strict_conditional_without_a_match_falls_back_to_everything_as_an_empty_set_does() -> None:
    rules = [choice({"a": "walk"}, default="talk", strict=True), MaxCountPerStepToolRule(tool_name="walk", max_count_limit=0)]
    assert tool_rules.allowed(rules, ["look"], TOOLS, "b") == TOOLS


def test_the_first_tool_must_be_attached_to_count() -> None:
    assert tool_rules.allowed([InitToolRule(tool_name="fly")], [], TOOLS, None) == TOOLS


def test_first_tools_count_only_before_the_first_call() -> None:
    rules = [InitToolRule(tool_name="look")]
    assert tool_rules.allowed(rules, [], TOOLS, None) == ["look"]
    assert tool_rules.allowed(rules, ["look"], TOOLS, None) == TOOLS
    assert not tool_rules.must_call(rules, ["look"])


def test_a_counted_tool_and_a_required_one_force_nothing() -> None:
    rules = [MaxCountPerStepToolRule(tool_name="look", max_count_limit=1), RequiredBeforeExitToolRule(tool_name="walk")]
    assert not tool_rules.must_call(rules, [])
    assert not tool_rules.must_call(rules, ["look"])


@pytest.mark.parametrize("rule", [choice({"a": "walk"}), ParentToolRule(tool_name="look", children=["walk"])])
def test_a_call_is_forced_right_after_a_tool_that_constrains_the_next(rule: ConditionalToolRule | ParentToolRule) -> None:
    assert tool_rules.must_call([rule], ["look"])
    assert not tool_rules.must_call([rule], ["look", "talk"])


def test_a_first_tools_arguments_are_filled_in_before_the_first_call_only() -> None:
    rules = [InitToolRule(tool_name="look", args={"far": True}), InitToolRule(tool_name="walk")]
    assert tool_rules.prefilled(rules, []) == {"look": {"far": True}}
    assert tool_rules.prefilled(rules, ["look"]) == {}


def test_a_childs_arguments_are_filled_in_right_after_its_parent() -> None:
    nodes = [ChildArgNode(name="walk", args={"speed": 2}), ChildArgNode(name="talk")]
    earlier = ChildToolRule(tool_name="look", children=["walk"], child_arg_nodes=[ChildArgNode(name="walk", args={"speed": 1})])
    rules = [earlier, ChildToolRule(tool_name="look", children=["walk", "talk"], child_arg_nodes=nodes)]
    assert tool_rules.prefilled(rules, ["look"]) == {"walk": {"speed": 2}}
    assert tool_rules.prefilled(rules, ["look", "talk"]) == {}
    assert tool_rules.prefilled(rules, []) == {}


def test_a_violation_names_the_valid_tools_and_the_rule() -> None:
    rules = [ChildToolRule(tool_name="look", children=["walk"]), TerminalToolRule(tool_name="talk")]
    text = tool_rules.violation("talk", ["walk"], rules, ["look"])
    first, hint, *reasons = text.splitlines()
    assert first == "[ToolConstraintError] Cannot call talk, valid tools include: ['walk']."
    assert hint == "** Hint: Possible rules that were violated:"
    assert reasons == ["- Directly after look, call one of: walk."]


def test_a_violation_that_no_rule_explains_has_no_hint() -> None:
    assert tool_rules.violation("fly", TOOLS, [], []) == (
        "[ToolConstraintError] Cannot call fly, valid tools include: ['look', 'walk', 'talk']."
    )


def test_the_prompt_states_each_rule_that_a_model_can_keep_once() -> None:
    rules = [
        TerminalToolRule(tool_name="end"),
        ContinueToolRule(tool_name="think"),
        ChildToolRule(tool_name="look", children=["walk", "talk"]),
        ParentToolRule(tool_name="ask", children=["pay"]),
        choice({"a": "walk"}),
        MaxCountPerStepToolRule(tool_name="shout", max_count_limit=2),
        MaxCountPerStepToolRule(tool_name="shout", max_count_limit=2),
        InitToolRule(tool_name="first"),
        RequiredBeforeExitToolRule(tool_name="needed"),
        RequiresApprovalToolRule(tool_name="risky"),
    ]
    section = tool_rules.prompt_section(rules)
    assert section is not None
    assert section.startswith("<tool_usage_rules>\n")
    assert section.endswith("\n</tool_usage_rules>")
    assert section.count("<tool_rule>") == 6
    for name in ("end", "think", "look", "ask", "shout"):
        assert re.search(rf"\b{name}\b", section)
    for hidden in ("first", "needed", "risky"):
        assert hidden not in section


def test_rules_that_a_model_need_not_know_make_no_section() -> None:
    assert tool_rules.prompt_section([]) is None
    assert tool_rules.prompt_section([InitToolRule(tool_name="look"), RequiresApprovalToolRule(tool_name="look")]) is None


def test_arguments_are_for_children_of_their_rule() -> None:
    nodes = [ChildArgNode(name="a", args={"x": 1}), ChildArgNode(name="c")]
    good = ChildToolRule(tool_name="look", children=["a", "c"], child_arg_nodes=nodes)
    tool_rules.check_children([good, TerminalToolRule(tool_name="c"), ChildToolRule(tool_name="look", children=["a"])])
    with pytest.raises(Unprocessable, match="look name c"):
        tool_rules.check_children([good.model_copy(update={"children": ["a", "b"]})])


def test_only_one_tool_can_be_first_but_for_two_models() -> None:
    rules = [InitToolRule(tool_name="look"), InitToolRule(tool_name="walk")]
    with pytest.raises(InvalidArgument, match="look, walk"):
        tool_rules.check(rules, "anthropic/claude-x")
    tool_rules.check(rules, "openai/gpt-4o-mini")
    tool_rules.check(rules, "gpt-4o")
    tool_rules.check(rules[:1], "anthropic/claude-x")


@pytest.mark.parametrize(
    ("rule", "same"),
    [
        (TerminalToolRule(tool_name="look"), TerminalToolRule(tool_name="look", prompt_template="x")),
        (ParentToolRule(tool_name="look", children=["a", "b"]), ParentToolRule(tool_name="look", children=["b", "a", "b"])),
        (
            ChildToolRule(
                tool_name="look", children=["a", "b"], child_arg_nodes=[ChildArgNode(name="a"), ChildArgNode(name="b")]
            ),
            ChildToolRule(
                tool_name="look", children=["b", "a"], child_arg_nodes=[ChildArgNode(name="b"), ChildArgNode(name="a")]
            ),
        ),
        (choice({"1": "walk", "2": "talk"}), choice({"2": "talk", "1": "walk"})),
    ],
)
def test_of_rules_that_mean_the_same_the_first_stays(rule: ToolRule, same: ToolRule) -> None:
    (stays,) = tool_rules.each_once([rule, same, rule])
    assert stays is rule


def test_rules_that_differ_in_anything_else_stay() -> None:
    rules = [
        TerminalToolRule(tool_name="look"),
        ContinueToolRule(tool_name="look"),
        TerminalToolRule(tool_name="walk"),
        MaxCountPerStepToolRule(tool_name="look", max_count_limit=1),
        MaxCountPerStepToolRule(tool_name="look", max_count_limit=2),
        InitToolRule(tool_name="look"),
        InitToolRule(tool_name="look", args={"at": "me"}),
        choice({"1": "walk"}),
        choice({"1": "talk"}),
        choice({"1": "walk"}, "talk"),
        ChildToolRule(tool_name="look", children=["a"]),
        ParentToolRule(tool_name="look", children=["a"]),
    ]
    assert tool_rules.each_once(rules) == rules
