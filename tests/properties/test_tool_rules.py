"""What each tool rule promises, for any mixture of rules and any history."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hibernaut.domain.tools import tool_rules
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

TOOLS = ["alpha", "beta", "gamma", "delta"]
names = st.sampled_from(TOOLS)
several = st.lists(names, max_size=3)
returns = st.none() | st.sampled_from(["1", "1.0", "true", "True", "None", "hello", ""]) | st.text(max_size=4)
silent = st.one_of(
    st.builds(TerminalToolRule, tool_name=names),
    st.builds(ContinueToolRule, tool_name=names),
    st.builds(RequiredBeforeExitToolRule, tool_name=names),
    st.builds(RequiresApprovalToolRule, tool_name=names),
)
children = st.builds(ChildToolRule, tool_name=names, children=several)
parents = st.builds(ParentToolRule, tool_name=names, children=several)
counts = st.builds(MaxCountPerStepToolRule, tool_name=names, max_count_limit=st.integers(0, 4))
firsts = st.builds(InitToolRule, tool_name=names)
conditionals = st.builds(
    ConditionalToolRule,
    tool_name=names,
    default_child=st.none() | names,
    child_output_mapping=st.dictionaries(
        st.sampled_from(["1", "true", "hello"]) | st.text(max_size=3), names, min_size=1, max_size=3
    ),
    require_output_mapping=st.booleans(),
)
rule: st.SearchStrategy[ToolRule] = st.one_of(silent, children, parents, counts, firsts, conditionals)
rules = st.lists(rule, max_size=6)
histories = st.lists(names, max_size=6)
availables = st.lists(st.sampled_from([*TOOLS, "other"]), unique=True)


@given(rules, histories, availables, returns)
def test_what_is_allowed_is_available_in_its_order_and_never_nothing(
    rules: list[ToolRule], history: list[str], available: list[str], returned: str | None
) -> None:
    allowed = tool_rules.allowed(rules, history, available, returned)
    assert allowed == [name for name in available if name in allowed]
    assert bool(allowed) == bool(available)


@given(st.lists(silent), histories, availables, returns)
def test_rules_that_restrict_nothing_restrict_nothing(
    rules: list[ToolRule], history: list[str], available: list[str], returned: str | None
) -> None:
    assert tool_rules.allowed(rules, history, available, returned) == available


@given(rules, rule, histories, availables, returns)
def test_a_further_rule_only_ever_narrows_what_a_started_run_may_call(
    rules: list[ToolRule], further: ToolRule, history: list[str], available: list[str], returned: str | None
) -> None:
    before = tool_rules.allowed(rules, [*history, "alpha"], available, returned)
    after = tool_rules.allowed([*rules, further], [*history, "alpha"], available, returned)
    assert set(after) <= set(before) or after == available


@given(rules, firsts, availables, returns)
def test_a_run_starts_with_a_first_tool(
    rules: list[ToolRule], first: InitToolRule, available: list[str], returned: str | None
) -> None:
    rules = [*rules, first]
    firsts = {rule.tool_name for rule in rules if isinstance(rule, InitToolRule)}
    allowed = tool_rules.allowed(rules, [], available, returned)
    assert set(allowed) == (firsts & set(available) or set(available))
    assert tool_rules.must_call(rules, [])


@given(children, histories)
def test_right_after_a_parent_only_its_children_may_follow(rule: ChildToolRule, history: list[str]) -> None:
    assert set(tool_rules.allowed([rule], [*history, rule.tool_name], TOOLS, None)) == (set(rule.children) or set(TOOLS))
    assert tool_rules.must_call([rule], [*history, rule.tool_name])


@given(children, histories)
def test_a_child_rule_says_nothing_at_any_other_time(rule: ChildToolRule, history: list[str]) -> None:
    history = [*history, "other"]
    assert tool_rules.allowed([rule], history, TOOLS, None) == TOOLS
    assert not tool_rules.must_call([rule], history)


@given(parents, histories)
def test_a_child_of_a_parent_rule_never_comes_but_right_after_it(rule: ParentToolRule, history: list[str]) -> None:
    allowed = set(tool_rules.allowed([rule], history, [*TOOLS, "other"], None))
    if history[-1:] == [rule.tool_name]:
        assert allowed == set(rule.children) or not rule.children
    else:
        assert allowed.isdisjoint(rule.children)


@given(counts, histories, availables)
def test_a_counted_tool_is_called_exactly_as_often_as_its_limit_says(
    rule: MaxCountPerStepToolRule, history: list[str], available: list[str]
) -> None:
    available = ["other", rule.tool_name]
    used = history.count(rule.tool_name)
    assert (rule.tool_name in tool_rules.allowed([rule], history, available, None)) == (used < rule.max_count_limit)


@given(conditionals, histories, returns)
def test_a_return_chooses_the_next_tool(rule: ConditionalToolRule, history: list[str], returned: str | None) -> None:
    allowed = tool_rules.allowed([rule], [*history, rule.tool_name], TOOLS, returned)
    if returned in rule.child_output_mapping:
        assert allowed == [rule.child_output_mapping[returned]]
    else:
        mapped = set(rule.child_output_mapping.values())
        assert allowed == TOOLS or (len(allowed) == 1 and allowed[0] in mapped | {rule.default_child})


@given(rules, histories, availables)
def test_a_required_tool_is_missed_until_it_is_called(rules: list[ToolRule], history: list[str], available: list[str]) -> None:
    missing = tool_rules.uncalled_required(rules, history, available)
    required = {rule.tool_name for rule in rules if isinstance(rule, RequiredBeforeExitToolRule)}
    assert set(missing) == (required & set(available)) - set(history)
    assert len(missing) == len(set(missing))
    assert tool_rules.uncalled_required(rules, [*history, *missing], available) == []


@given(rules, histories, names)
def test_what_ends_goes_on_and_waits_is_said_by_its_own_rule_alone(rules: list[ToolRule], history: list[str], name: str) -> None:
    own = {rule.type for rule in rules if rule.tool_name == name}
    assert tool_rules.ends_run(rules, name) == ("exit_loop" in own)
    assert tool_rules.needs_approval(rules, name) == ("requires_approval" in own)
    assert tool_rules.continues(rules, name) == ("continue_loop" in own)
    assert tool_rules.has_child_like(rules, name) == bool(own & {"constrain_child_tools", "conditional", "max_count_per_step"})


@given(rules, histories, availables, returns)
def test_every_forbidden_call_is_told_what_is_valid_and_why(
    rules: list[ToolRule], history: list[str], available: list[str], returned: str | None
) -> None:
    allowed = tool_rules.allowed(rules, history, available, returned)
    for name in set(available) - set(allowed):
        text = tool_rules.violation(name, allowed, rules, history)
        assert text.startswith(f"[ToolConstraintError] Cannot call {name}, valid tools include: {allowed}.")
        assert "\n- " in text
