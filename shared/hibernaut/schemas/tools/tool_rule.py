"""Tool rules: constraints on the order of tool calls in a run (Letta V1 API, API 4.9; RT 3)."""

from typing import Annotated, Literal

from pydantic import Field

from hibernaut.schemas.base import Json, JsonObject, Schema, Whole


class _Rule(Schema):
    """The fields that all rules share."""

    tool_name: str
    prompt_template: str | None = None


class ChildArgNode(Schema):
    """A child tool of a rule, with arguments to prefill."""

    name: str
    args: JsonObject | None = None


class InitToolRule(_Rule):
    """The tool must be the first call of the run; `args` are prefilled."""

    type: Literal["run_first"] = "run_first"
    args: JsonObject | None = None


class TerminalToolRule(_Rule):
    """The run ends after this tool."""

    type: Literal["exit_loop"] = "exit_loop"


class ContinueToolRule(_Rule):
    """The run continues after this tool."""

    type: Literal["continue_loop"] = "continue_loop"


class ChildToolRule(_Rule):
    """Right after `tool_name` only `children` may be called."""

    type: Literal["constrain_child_tools"] = "constrain_child_tools"
    children: list[str]
    child_arg_nodes: list[ChildArgNode] | None = None


class ParentToolRule(_Rule):
    """`children` may be called only right after `tool_name`."""

    type: Literal["parent_last_tool"] = "parent_last_tool"
    children: list[str]


class ConditionalToolRule(_Rule):
    """The return of `tool_name` selects the next tool."""

    type: Literal["conditional"] = "conditional"
    default_child: str | None = None
    child_output_mapping: dict[Json, str] = Field(min_length=1)
    require_output_mapping: bool = False


class MaxCountPerStepToolRule(_Rule):
    """At most `max_count_limit` calls of the tool in a run."""

    type: Literal["max_count_per_step"] = "max_count_per_step"
    max_count_limit: Whole


class RequiredBeforeExitToolRule(_Rule):
    """The tool must be called before the run may end."""

    type: Literal["required_before_exit"] = "required_before_exit"


class RequiresApprovalToolRule(_Rule):
    """A person must approve each call of the tool."""

    type: Literal["requires_approval"] = "requires_approval"


ToolRule = Annotated[
    InitToolRule
    | TerminalToolRule
    | ContinueToolRule
    | ChildToolRule
    | ParentToolRule
    | ConditionalToolRule
    | MaxCountPerStepToolRule
    | RequiredBeforeExitToolRule
    | RequiresApprovalToolRule,
    Field(discriminator="type"),
]
