"""Tool rules: which tools may, must or end what (Letta V1 API, digest 4.9; run-time digest 3)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hibernaut.schemas.base import Json, JsonObject, Schema, Whole


class _Rule(Schema):
    tool_name: str
    prompt_template: str | None = None


class ChildArgNode(Schema):
    name: str
    args: JsonObject | None = None


class InitToolRule(_Rule):
    """Must be the first tool of the run; `args` are filled in for the model."""

    type: Literal["run_first"] = "run_first"
    args: JsonObject | None = None


class TerminalToolRule(_Rule):
    """The run ends after this tool."""

    type: Literal["exit_loop"] = "exit_loop"


class ContinueToolRule(_Rule):
    """The run goes on after this tool."""

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
    """What `tool_name` returned chooses the next tool."""

    type: Literal["conditional"] = "conditional"
    default_child: str | None = None
    child_output_mapping: dict[Json, str] = Field(min_length=1)
    require_output_mapping: bool = False


class MaxCountPerStepToolRule(_Rule):
    """At most `max_count_limit` calls in a run."""

    type: Literal["max_count_per_step"] = "max_count_per_step"
    max_count_limit: Whole


class RequiredBeforeExitToolRule(_Rule):
    """Must have been called before the run may end."""

    type: Literal["required_before_exit"] = "required_before_exit"


class RequiresApprovalToolRule(_Rule):
    """A person must approve each call."""

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
