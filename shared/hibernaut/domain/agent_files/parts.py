"""The parts of an agent in an agent file, repaired so that they can be stored: names, labels, rules, blocks, tools, files,
skills.

Pure. A part that cannot be repaired is left out, with a note; one that the agent cannot do without is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from hibernaut.domain.agent_files.documents import corrupted
from hibernaut.domain.agent_files.notes import ImportNotes
from hibernaut.domain.tools.builtin.builtin_tools import builtin_tools
from hibernaut.domain.tools.mcp.mcp_tools import McpFacts, facts_of
from hibernaut.domain.tools.sources import tool_sources
from hibernaut.schemas.agents.agent_file import AgentFileSkill
from hibernaut.schemas.base import Json, JsonObject
from hibernaut.schemas.errors import HibernautError
from hibernaut.schemas.json_schema import size_problem_of
from hibernaut.schemas.limits import LONGEST_TEXT
from hibernaut.schemas.memory.block import CreateBlock
from hibernaut.schemas.names import LONGEST_LABEL, is_plain, label_fault
from hibernaut.schemas.tools.tool import DEFAULT_RETURN_LIMIT, LARGEST_SOURCE, MAX_NAME, Tool, ToolType
from hibernaut.schemas.tools.tool_rule import ToolRule

_NOT_IN_A_NAME = re.compile(r"[^\w '\-]+")
_RULE: TypeAdapter[ToolRule] = TypeAdapter(ToolRule)
M = TypeVar("M", bound=BaseModel)


def agent_name(value: Json, place: str, notes: ImportNotes) -> str | None:
    """The name with a hyphen for each run of characters that no name may have; None if the file has none."""
    if not isinstance(value, str) or not value.strip():
        return None
    name = _NOT_IN_A_NAME.sub("-", value)
    if name != value:
        notes.add("repaired", "agent_name", place, "Characters of agents' names that are not allowed were replaced by hyphens.")
    return name


def read_as(model: type[M], value: JsonObject, place: str) -> M:
    """The value as a model. Raises: InvalidArgument that names the first field that does not fit."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        location = ".".join(str(part) for part in (place[:100], *first["loc"]))
        raise corrupted(f"{location}: {first['msg']}.") from None


def tool_rules(value: Json, place: str, notes: ImportNotes) -> list[ToolRule]:
    """The rules of known types."""
    rules = []
    for rule in value if isinstance(value, list) else []:
        try:
            rules.append(_RULE.validate_python(rule))
        except ValidationError:
            notes.add("left_out", "tool_rule", place, "Tool rules of no known form were left out.")
    return rules


def block(raw: JsonObject, place: str, labels: Collection[str], notes: ImportNotes) -> CreateBlock:
    """A block with a label that is valid and not taken, and with a limit that its value keeps. Raises: InvalidArgument."""
    raw_label = raw.get("label")
    label = _label(raw_label if isinstance(raw_label, str) else "")
    if label != raw_label:
        notes.add("repaired", "block_label", place, "Labels of blocks that are missing or not allowed were replaced.")
    free = (
        label
        if label not in labels
        else next(new for number in range(2, len(labels) + 3) if (new := f"{label}_{number}") not in labels)
    )
    if free != label:
        notes.add("repaired", "block_label_twice", place, "Of blocks of one agent with one label, the later ones were numbered.")
    fields = {name: one for name, one in raw.items() if name in CreateBlock.model_fields and one is not None}
    fields["value"] = value = str(raw.get("value") or "").replace("\x00", "")
    if len(value) > LONGEST_TEXT:
        raise corrupted(f"{place[:100]}.value has {len(value)} characters, and at most {LONGEST_TEXT} are allowed.")
    metadata = raw.get("metadata", raw.get("metadata_"))
    fields["metadata"] = metadata if isinstance(metadata, dict) else {}
    created = read_as(CreateBlock, {**fields, "label": free}, place)
    if len(value) > created.limit:
        created.limit = len(value)
        notes.add("repaired", "block_limit", place, "Limits of blocks that are shorter than their values were raised to them.")
    return created


def _label(raw_label: str) -> str:
    plain = "".join(one if is_plain(one) else "-" for one in raw_label)[:LONGEST_LABEL]
    return plain if plain and label_fault(plain) is None else f"block_{plain}"


def tool(raw: JsonObject, place: str, notes: ImportNotes) -> Tool | None:
    """A tool with the id "", or a built-in one with its own id; None if this server cannot have it."""
    schema = raw["json_schema"] if isinstance(raw.get("json_schema"), dict) else None
    name = raw.get("name") or (schema or {}).get("name")
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME:
        notes.add("left_out", "tool_name", place, f"Tools without a name of 1 to {MAX_NAME} characters were left out.")
        return None
    kind = raw.get("tool_type", ToolType.CUSTOM)
    kind = ToolType(kind) if kind in list(ToolType) else ToolType.CUSTOM
    if (builtin := builtin_tools().get(name)) is not None:
        if not kind.startswith("letta_"):
            notes.add("replaced", "tool_builtin", place, f"The tool {name} is this server's own one.")
        return builtin
    if kind.startswith("letta_"):
        notes.add(
            "left_out", "tool_unknown", place, f"The tool {name} is built into Letta and not into this server. It was left out."
        )
        return None
    if kind is ToolType.CUSTOM:
        schema = _custom_schema(raw, schema, name, place, notes)
    elif kind is not ToolType.EXTERNAL_MCP and not raw.get("source_code"):
        notes.add(
            "repaired", "tool_without_server", place, f"The tool {name} has no server here: its calls answer with an error."
        )
    if kind is ToolType.EXTERNAL_MCP:
        notes.add(
            "repaired",
            "tool_without_server",
            place,
            f"The tool {name} needs its MCP server: add it here under the name that the file has for it.",
        )
    if schema is None or size_problem_of(schema):
        notes.add(
            "left_out", "tool_schema", place, f"The tool {name} has no schema that can be offered to a model. It was left out."
        )
        return None
    return _stored_tool(raw, name, kind, schema)


def _custom_schema(raw: JsonObject, schema: JsonObject | None, name: str, place: str, notes: ImportNotes) -> JsonObject | None:
    """The schema of a custom tool: given, or read from its source."""
    source = raw.get("source_code")
    if not isinstance(source, str) or not source.strip() or len(source) > LARGEST_SOURCE:
        notes.add("left_out", "tool_source", place, f"The tool {name} has no source of 1 to {LARGEST_SOURCE} characters.")
        return None
    if schema is not None:
        return schema
    try:
        derived = tool_sources.derive_schema(source, raw.get("source_type"), name)
    except HibernautError:
        return None
    notes.add("repaired", "tool_schema_derived", place, f"The schema of the tool {name} was derived from its source.")
    return derived


def _stored_tool(raw: JsonObject, name: str, kind: ToolType, schema: JsonObject) -> Tool:
    limit = raw.get("return_char_limit")
    stored = Tool(id="", tool_type=kind, name=name, json_schema=schema)
    stored.return_char_limit = limit if isinstance(limit, int) and 1 <= limit <= 1_000_000 else DEFAULT_RETURN_LIMIT
    for field in ("description", "source_type", "source_code"):
        if isinstance(value := raw.get(field), str):
            setattr(stored, field, value)
    stored.tags = [tag for tag in raw.get("tags") or [] if isinstance(tag, str)]
    stored.enable_parallel_execution = bool(raw.get("enable_parallel_execution"))
    if isinstance(raw.get("default_requires_approval"), bool):
        stored.default_requires_approval = raw["default_requires_approval"]
    if isinstance(raw.get("args_json_schema"), dict):
        stored.args_json_schema = raw["args_json_schema"]
    if isinstance(metadata := raw.get("metadata_", raw.get("metadata")), dict):
        stored.metadata_ = metadata
    if kind is ToolType.EXTERNAL_MCP:
        # The server of this name here, if there is one, is another record than that of the file.
        facts = facts_of(stored)
        stored.metadata_ = {**(stored.metadata_ or {}), **McpFacts("", facts.server_name, facts.tool_name).metadata()}
    try:
        requirements = {one: raw.get(one) for one in ("pip_requirements", "npm_requirements")}
        read = Tool.model_validate({"id": "", **requirements})
    except ValidationError:
        return stored
    return stored.model_copy(update={one: getattr(read, one) for one in requirements})


def skills(raw: Sequence[JsonObject], notes: ImportNotes) -> list[AgentFileSkill]:
    """The skills that have a file SKILL.md or the address of a source."""
    read = []
    for at, one in enumerate(raw):
        try:
            read.append(AgentFileSkill.model_validate(one))
        except ValidationError:
            notes.add(
                "left_out", "skill", f"skills[{at}]", "Skills without a file SKILL.md and without a source_url were left out."
            )
    return read
