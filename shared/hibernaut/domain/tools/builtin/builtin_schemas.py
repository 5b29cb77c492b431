"""The definitions of the built-in tools for the model: name, description and parameters (RT 5.2, 5.3). Data only."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.immutable import immutable
from hibernaut.schemas.tools.tool import ToolType


@immutable
class Parameter:
    """A parameter of a tool. `choices` are the allowed values of a string, or of a list's items. `items` is the type of a list's
    items if it is not a string.
    """

    name: str
    description: str
    type: Literal["string", "integer", "boolean", "array"] = "string"
    required: bool = True
    choices: tuple[str, ...] = ()
    items: JsonObject | None = None

    def schema(self) -> JsonObject:
        """The JSON schema of the parameter; whether it is required stands in that of the tool."""
        choices: JsonObject = {"enum": list(self.choices)} if self.choices else {}
        if self.type == "array":
            return {"type": "array", "items": self.items or {"type": "string", **choices}, "description": self.description}
        return {"type": self.type, **choices, "description": self.description}


@immutable
class Definition:
    """A built-in tool. `parallel`: several calls of one reply may run at the same time; never true for a tool that edits
    memory.
    """

    name: str
    tool_type: ToolType
    description: str
    parameters: tuple[Parameter, ...] = field(default=())
    parallel: bool = False

    def schema(self) -> JsonObject:
        """The schema that the model sees; without defaults and `additionalProperties`, as in Letta (API 10.2)."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": {
                "type": "object",
                "properties": {parameter.name: parameter.schema() for parameter in self.parameters},
                "required": [parameter.name for parameter in self.parameters if parameter.required],
            },
        }


def _optional(name: str, description: str, type: Literal["string", "integer", "array"] = "string", *choices: str) -> Parameter:
    return Parameter(name, description, type, required=False, choices=choices)


_LABEL = Parameter("label", "The label of the memory block to edit.")
_INSERT_LINE = "The line after which to insert, counted from 1. 0 inserts at the top, -1 at the end. The default is the end."
_NO_NUMBERS = "Never include the line numbers that are shown before the lines of a block."

DEFINITIONS = (
    Definition(
        "send_message",
        ToolType.LETTA_CORE,
        "Send a message to the user. It is the only thing of yours that the user sees.",
        (Parameter("message", "What to say to the user. Any language, line breaks and emoji are fine."),),
    ),
    Definition(
        "conversation_search",
        ToolType.LETTA_CORE,
        "Search the whole history of your conversations, including what is no longer in view. "
        "All conditions that you give must hold. Without a query you get the newest messages.",
        (
            _optional("query", "The words to look for."),
            _optional("roles", "Only messages of these roles.", "array", "assistant", "user", "tool"),
            _optional("limit", "How many messages to return at most. The default is 5.", "integer"),
            _optional(
                "start_date",
                "Only messages from this time on: an ISO 8601 date or time (2026-03-01 or 2026-03-01T14:30). "
                "A date means its first moment; without an offset, your own time zone is meant.",
            ),
            _optional("end_date", "Only messages up to this time, in the same form. A date means its last moment."),
        ),
        parallel=True,
    ),
    Definition(
        "archival_memory_insert",
        ToolType.LETTA_CORE,
        "Store a memory in archival memory, to be found later by its meaning. "
        "Write one self-contained statement or note, which makes sense without this conversation.",
        (
            Parameter("content", "The text to store."),
            _optional("tags", "Short labels by which to filter later, such as a topic or a project.", "array"),
        ),
    ),
    Definition(
        "archival_memory_search",
        ToolType.LETTA_CORE,
        "Search archival memory for what matters to a question, the most relevant first.",
        (
            Parameter("query", "What you look for, in words. Phrases find more than single words."),
            _optional("tags", "Only memories with these tags.", "array"),
            _optional(
                "tag_match_mode",
                "Whether a memory needs any of the tags, or all of them. The default is any.",
                "string",
                "any",
                "all",
            ),
            _optional("top_k", "How many memories to return at most. The default is 5.", "integer"),
            _optional(
                "start_datetime",
                "Only memories from this time on: an ISO 8601 date or time, in your time zone if it has no offset.",
            ),
            _optional("end_datetime", "Only memories up to this time, in the same form."),
        ),
        parallel=True,
    ),
    Definition(
        "core_memory_append",
        ToolType.LETTA_MEMORY_CORE,
        "Add text at the end of a memory block, on a new line. Returns the block's new text.",
        (_LABEL, Parameter("content", "The text to add.")),
    ),
    Definition(
        "core_memory_replace",
        ToolType.LETTA_MEMORY_CORE,
        "Replace a passage of a memory block wherever it occurs. Give an empty new text to delete it. Returns the block's new text.",
        (
            _LABEL,
            Parameter("old_content", "The passage to replace, exactly as it stands in the block."),
            Parameter("new_content", "The text to put in its place."),
        ),
    ),
    Definition(
        "memory",
        ToolType.LETTA_MEMORY_CORE,
        "View and edit your memory blocks. The command says what to do:\n"
        "- view: show the block at `path`, or list all blocks when there is no path.\n"
        "- create: make a new block at `path` with `description` and, if you like, `file_text`.\n"
        "- str_replace: replace the passage `old_string`, which must occur exactly once in the block at `path`, by `new_string`.\n"
        "- insert: insert `insert_text` into the block at `path`, after line `insert_line`.\n"
        "- delete: take the block at `path` out of your memory.\n"
        "- rename: give the block at `old_path` the label `new_path`, or give the block at `path` a new `description`.",
        (
            Parameter("command", "What to do.", choices=("view", "create", "str_replace", "insert", "delete", "rename")),
            _optional("path", "The label of the block. `/memories/` before it is allowed."),
            _optional("file_text", "create: the text of the new block."),
            _optional("description", "create, rename: what belongs in the block."),
            _optional("old_string", f"str_replace: the passage to replace, exactly as it stands in the block. {_NO_NUMBERS}"),
            _optional("new_string", "str_replace: the text to put in its place; empty to delete the passage."),
            _optional("insert_line", f"insert: {_INSERT_LINE[0].lower()}{_INSERT_LINE[1:]}", "integer"),
            _optional("insert_text", "insert: the text to insert."),
            _optional("old_path", "rename: the label that the block has."),
            _optional("new_path", "rename: the label that it shall have."),
        ),
    ),
    Definition(
        "memory_apply_patch",
        ToolType.LETTA_MEMORY_CORE,
        "Change memory blocks by a patch, as in a unified diff. For one block: hunks that begin with a line `@@`, in which each line "
        "begins with a space (context), `-` (removed) or `+` (added). Context and removed lines must stand in the block exactly so, in "
        "one place only; a hunk that only adds is added at the end. For several blocks at once: sections that begin with "
        "`*** Add Block: label` (then, if you like, `Description: text`, then the text), `*** Update Block: label` (then, if you like, "
        "`*** Move to: new label`, then hunks) or `*** Delete Block: label`. Either all of it is applied, or nothing.",
        (
            Parameter("label", "The label of the block to patch. With sections, those of the patch count instead."),
            Parameter("patch", f"The patch. {_NO_NUMBERS}"),
        ),
    ),
    Definition(
        "memory_replace",
        ToolType.LETTA_SLEEPTIME_CORE,
        "Replace a passage of a memory block by another text. The passage must occur exactly once. Returns the block's new text.",
        (
            _LABEL,
            Parameter("old_string", f"The passage to replace, exactly as it stands in the block, with its spaces. {_NO_NUMBERS}"),
            Parameter("new_string", "The text to put in its place; empty to delete the passage."),
        ),
    ),
    Definition(
        "memory_insert",
        ToolType.LETTA_SLEEPTIME_CORE,
        "Insert text into a memory block at a line. Returns the block's new text.",
        (
            _LABEL,
            Parameter("new_string", f"The text to insert. {_NO_NUMBERS}"),
            _optional("insert_line", _INSERT_LINE, "integer"),
        ),
    ),
    Definition(
        "memory_rethink",
        ToolType.LETTA_SLEEPTIME_CORE,
        "Rewrite a memory block as a whole, to put it in order or to condense it. For single changes use the precise tools. "
        "Returns the block's new text.",
        (_LABEL, Parameter("new_memory", "The whole new text of the block: what you leave out is forgotten.")),
    ),
    Definition(
        "memory_finish_edits",
        ToolType.LETTA_SLEEPTIME_CORE,
        "Say that the memory is up to date and that you are done. Call it once, after your last edit.",
    ),
)
