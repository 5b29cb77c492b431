"""Tool rules (API 4.9; RT 3)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done("rules.first", "RT 3.1", "`run_first`: the first call of a run must be one of these tools."),
    done(
        "rules.arguments",
        "API 4.9",
        "`args` of `run_first` and of `child_arg_nodes` override the model's arguments. A node that names none of the rule's "
        "`children` is 422.",
    ),
    diverging(
        "rules.arguments.misfit",
        "RT 2.4",
        "Arguments of a rule that do not fit the tool are an error return, and the run continues.",
        "V1 ends the run as failed, with the stop reason `invalid_tool_call`.",
    ),
    done("rules.children", "RT 3.1", "`constrain_child_tools`: right after its tool one of the children must be called."),
    done(
        "rules.parent",
        "RT 3.1",
        "`parent_last_tool`: its children can be called only right after its tool, and one of them must be then.",
    ),
    diverging(
        "rules.conditional",
        "RT 3.2",
        "`conditional`: the return of its tool selects the next one; without a match it is `default_child`, or any tool.",
        "V1 reads only returns that are a JSON object with the key `message`.",
    ),
    diverging(
        "rules.count",
        "RT 2.4",
        "`max_count_per_step`: a tool is called at most so often in a run.",
        "V1 counts each call that succeeded twice, so that a limit of 2 allows one.",
    ),
    done("rules.required", "RT 2.4", "`required_before_exit`: the run continues until these tools have been called."),
    diverging(
        "rules.offered",
        "RT 3.1",
        "Every request has all tools of the agent, and tells the provider which may be called now, as far as it takes that. "
        "Another call is not made; its return names the tools that may be called.",
        "V1 sends only the tools that may be called, so that each rule invalidates the provider's prompt cache.",
    ),
)
