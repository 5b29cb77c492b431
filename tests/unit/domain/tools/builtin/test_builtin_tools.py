"""The built-in tools as records."""

from __future__ import annotations

from hibernaut.domain.memory.memory_edits import MEMORY_TOOLS
from hibernaut.domain.tools.builtin.builtin_online_schemas import ONLINE_DEFINITIONS
from hibernaut.domain.tools.builtin.builtin_tools import CREATED_AT, builtin_by_id, builtin_id, builtin_tools
from hibernaut.schemas.ids import creation_time, is_id
from hibernaut.schemas.tools.tool import ToolType

SEARCHING = {"conversation_search", "archival_memory_search"}
IN_FILES = {"grep_files", "semantic_search_files"}

BEYOND = {definition.name: definition for definition in ONLINE_DEFINITIONS}


def test_there_are_the_tools_of_memory_files_and_what_lies_beyond() -> None:
    others = {"send_message", "archival_memory_insert", "open_files"}
    assert builtin_tools().keys() == MEMORY_TOOLS | SEARCHING | IN_FILES | others | BEYOND.keys()


def test_their_types_are_lettas() -> None:
    sleeptime = {"memory_replace", "memory_insert", "memory_rethink", "memory_finish_edits"}
    types = {name: ToolType.LETTA_SLEEPTIME_CORE if name in sleeptime else ToolType.LETTA_MEMORY_CORE for name in MEMORY_TOOLS}
    types |= {name: definition.tool_type for name, definition in BEYOND.items()}
    types |= dict.fromkeys((*IN_FILES, "open_files"), ToolType.LETTA_FILES_CORE)
    for name, tool in builtin_tools().items():
        assert tool.tool_type is types.get(name, ToolType.LETTA_CORE)
        assert tool.tags == [tool.tool_type.value]


def test_ids_are_well_formed_distinct_and_lasting() -> None:
    ids = [tool.id for tool in builtin_tools().values()]
    assert len(set(ids)) == len(ids)
    assert all(is_id(one, "tool") and creation_time(one) == CREATED_AT for one in ids)
    # Agents in tables refer to these ids: this one stands for all.
    assert builtin_id("send_message") == "tool-019b76da-a800-468a-aeda-77cf03370300"


def test_a_tool_is_found_by_its_id() -> None:
    tool = builtin_tools()["memory"]
    assert builtin_by_id(tool.id) is tool
    assert builtin_by_id("tool-019b76da-a800-4000-8000-000000000000") is None


def test_schemas_are_complete() -> None:
    for name, tool in builtin_tools().items():
        schema = tool.json_schema
        assert schema is not None
        assert (schema["name"], schema["description"]) == (name, tool.description)
        parameters = schema["parameters"]
        assert (parameters["type"], set(parameters["required"]) <= parameters["properties"].keys()) == ("object", True)
        for described in parameters["properties"].values():
            assert described["description"]
            assert described["type"] != "array" or described["items"]["type"] in ("string", "object")
        assert "request_heartbeat" not in parameters["properties"]


def test_only_what_edits_no_memory_may_run_at_once() -> None:
    assert {name for name, tool in builtin_tools().items() if tool.enable_parallel_execution} == SEARCHING | IN_FILES | {
        "web_search",
        "fetch_webpage",
        "run_code",
    }


def test_parameters_are_lettas() -> None:
    def named(tool: str) -> tuple[list[str], list[str]]:
        parameters = (builtin_tools()[tool].json_schema or {})["parameters"]
        return list(parameters["properties"]), parameters["required"]

    assert named("send_message") == (["message"], ["message"])
    assert named("conversation_search") == (["query", "roles", "limit", "start_date", "end_date"], [])
    assert named("archival_memory_insert") == (["content", "tags"], ["content"])
    assert named("archival_memory_search") == (
        ["query", "tags", "tag_match_mode", "top_k", "start_datetime", "end_datetime"],
        ["query"],
    )
    assert named("core_memory_append")[1] == ["label", "content"]
    assert named("core_memory_replace")[1] == ["label", "old_content", "new_content"]
    assert named("memory_replace")[1] == ["label", "old_string", "new_string"]
    assert named("memory_insert") == (["label", "new_string", "insert_line"], ["label", "new_string"])
    assert named("memory_rethink")[1] == ["label", "new_memory"]
    assert named("memory_apply_patch")[1] == ["label", "patch"]
    assert named("memory_finish_edits") == ([], [])
    assert named("open_files") == (["file_requests", "close_all_others"], ["file_requests"])
    assert named("grep_files") == (["pattern", "include", "context_lines", "offset"], ["pattern"])
    assert named("semantic_search_files") == (["query", "limit"], ["query"])
    assert named("memory") == (
        [
            "command",
            "path",
            "file_text",
            "description",
            "old_string",
            "new_string",
            "insert_line",
            "insert_text",
            "old_path",
            "new_path",
        ],
        ["command"],
    )
