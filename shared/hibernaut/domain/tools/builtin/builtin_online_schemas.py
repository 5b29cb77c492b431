"""The definitions of the tools that reach beyond this server: web, code and other agents (RT 5.4, 5.6, 5.7). Data
only.
"""

from __future__ import annotations

from hibernaut.domain.tools.builtin.builtin_schemas import Definition, Parameter
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.tools.tool import ToolType


def _optional_list(name: str, description: str) -> Parameter:
    return Parameter(name, description, "array", required=False)


_CHUNK: JsonObject = {
    "type": "object",
    "properties": {
        "start_index": {"type": "integer", "description": "The number of its first message."},
        "end_index": {"type": "integer", "description": "The number of its last message."},
        "context": {"type": "string", "description": "What it was about."},
    },
    "required": ["start_index", "end_index", "context"],
}
_KINDS = (
    "company",
    "research paper",
    "news",
    "pdf",
    "github",
    "tweet",
    "personal site",
    "linkedin profile",
    "financial report",
)
_OTHER = Parameter("other_agent_id", "The id of the agent to write to: agent- and a UUID.")

ONLINE_DEFINITIONS = (
    Definition(
        "web_search",
        ToolType.LETTA_BUILTIN,
        "Search the web. Returns titles, addresses and summaries of pages, the best first.",
        (
            Parameter("query", "What you look for, in words."),
            Parameter("num_results", "How many results to return, from 1 to 100. The default is 10.", "integer", required=False),
            Parameter("category", "Only pages of this kind.", required=False, choices=_KINDS),
            Parameter("include_text", "Whether to return whole pages too. The default is false.", "boolean", required=False),
            _optional_list("include_domains", "Only pages of these domains."),
            _optional_list("exclude_domains", "No pages of these domains."),
            Parameter("start_published_date", "Only pages published after this ISO 8601 date.", required=False),
            Parameter("end_published_date", "Only pages published before this ISO 8601 date.", required=False),
            Parameter("user_location", "The two letters of the country to search from, such as US.", required=False),
        ),
        parallel=True,
    ),
    Definition(
        "fetch_webpage",
        ToolType.LETTA_BUILTIN,
        "Read a page of the web. Returns its main part as Markdown.",
        (Parameter("url", "The page's address, with http:// or https://."),),
        parallel=True,
    ),
    Definition(
        "run_code",
        ToolType.LETTA_BUILTIN,
        "Run code in a sandbox. Returns its result, what it printed, and its errors. Python programs may call your own tools.",
        (
            Parameter("code", "The code to run."),
            Parameter("language", "The language of the code.", choices=("python", "js", "ts", "r", "java")),
        ),
        parallel=True,
    ),
    Definition(
        "run_code_with_tools",
        ToolType.LETTA_BUILTIN,
        "Run Python code in a sandbox, in which your other tools can be called as functions.",
        (Parameter("code", "The Python code to run."),),
    ),
    Definition(
        "send_message_to_agent_and_wait_for_reply",
        ToolType.LETTA_MULTI_AGENT_CORE,
        "Send a message to another agent and wait for its reply.",
        (Parameter("message", "What to say to the other agent."), _OTHER),
    ),
    Definition(
        "send_message_to_agents_matching_tags",
        ToolType.LETTA_MULTI_AGENT_CORE,
        "Send a message to all agents that have certain tags, and wait for their replies.",
        (
            Parameter("message", "What to say to them."),
            Parameter("match_all", "Tags of which an agent must have all.", "array"),
            Parameter("match_some", "Tags of which an agent must have at least one.", "array"),
        ),
    ),
    Definition(
        "send_message_to_agent_async",
        ToolType.LETTA_MULTI_AGENT_CORE,
        "Send a message to another agent without waiting for a reply.",
        (Parameter("message", "What to say to the other agent."), _OTHER),
    ),
    Definition(
        "search_memory",
        ToolType.LETTA_VOICE_SLEEPTIME_CORE,
        "Look for something that was said earlier, by words or by time.",
        (
            _optional_list("convo_keyword_queries", "Words to look for."),
            Parameter("start_minutes_ago", "How many minutes ago the search begins.", "integer", required=False),
            Parameter("end_minutes_ago", "How many minutes ago it ends.", "integer", required=False),
        ),
    ),
    Definition(
        "store_memories",
        ToolType.LETTA_VOICE_SLEEPTIME_CORE,
        "Store parts of the conversation that are about to leave the view.",
        (Parameter("chunks", "The parts to store.", "array", items=_CHUNK),),
    ),
    Definition(
        "rethink_user_memory",
        ToolType.LETTA_VOICE_SLEEPTIME_CORE,
        "Rewrite what you remember of the user.",
        (Parameter("new_memory", "The whole new text."),),
    ),
    Definition(
        "finish_rethinking_memory",
        ToolType.LETTA_VOICE_SLEEPTIME_CORE,
        "Say that the memory of the user is up to date.",
    ),
)

_VOICE = "The voice tools are dead in Letta's V1 server too: use conversation_search, memory_rethink and memory_finish_edits."
UNAVAILABLE = {
    "run_code_with_tools": "This server does not run run_code_with_tools: the Python programs of run_code may call the agent's own tools.",
    "search_memory": _VOICE,
    "store_memories": _VOICE,
    "rethink_user_memory": _VOICE,
    "finish_rethinking_memory": _VOICE,
}
"""The return of a call to a tool that this server does not run: what to use instead."""
