"""The definitions of the file tools for the model (RT 5.5). Data only."""

from __future__ import annotations

from hibernaut.domain.tools.builtin.builtin_schemas import Definition, Parameter
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.tools.tool import ToolType

_REQUEST: JsonObject = {
    "type": "object",
    "properties": {
        "file_name": {"type": "string", "description": "The file's name as it is listed, with its folder."},
        "offset": {"type": "integer", "description": "The line to begin with, counted from 0. The default is the beginning."},
        "length": {"type": "integer", "description": "How many lines to show. The default is as many as fit."},
    },
    "required": ["file_name"],
}

FILE_DEFINITIONS = (
    Definition(
        "open_files",
        ToolType.LETTA_FILES_CORE,
        "Open files, or other parts of open ones, so that you see their lines. The return shows them now, and your context from the next "
        "message on. Only so many files can be open: those that you looked at longest ago are closed to make room.",
        (
            Parameter("file_requests", "The files to open, each with the lines to show.", "array", items=_REQUEST),
            Parameter("close_all_others", "Whether to close all other files. The default is false.", "boolean", required=False),
        ),
    ),
    Definition(
        "grep_files",
        ToolType.LETTA_FILES_CORE,
        "Find the lines of your files in which a regular expression matches, in whatever case. Shows 20 matches at a time.",
        (
            Parameter("pattern", "The regular expression, of at most 1000 characters."),
            Parameter("include", "Only files whose names fit this pattern, such as *.py or notes/*.md.", required=False),
            Parameter("context_lines", "How many lines to show around each match. The default is 1.", "integer", required=False),
            Parameter(
                "offset", "How many matches to pass over: what the last return says to go on with.", "integer", required=False
            ),
        ),
        parallel=True,
    ),
    Definition(
        "semantic_search_files",
        ToolType.LETTA_FILES_CORE,
        "Find the passages of your files that are nearest in meaning to a question, the best first.",
        (
            Parameter("query", "What you look for, in words. Phrases find more than single words."),
            Parameter("limit", "How many passages to return, at most 50. The default is 5.", "integer", required=False),
        ),
        parallel=True,
    ),
)
