"""The tables of a Letta server at its last release: the columns that matter here, with their types. Written after the facts of
V1's schema (letta-ai/letta, `letta/orm`): identifiers are text, configurations and contents JSON, times have a zone, and the
order of a log is a sequence.

The vectors' column has the type `text` here: the type `vector` is an extension of Postgres, and the migration does not read it.
"""

from __future__ import annotations

from tests.support.v1_data import Tables

_EACH = "id text PRIMARY KEY, organization_id text, created_at timestamptz DEFAULT now(), updated_at timestamptz, is_deleted boolean NOT NULL DEFAULT false, _created_by_id text, _last_updated_by_id text"
_AGENT = "REFERENCES agents (id)"
TABLES = {
    "agents": f"""{_EACH}, agent_type text, name text, description text, system text, message_ids json, response_format json, metadata_ json, llm_config json,
        embedding_config json, compaction_settings json, project_id text, template_id text, base_template_id text, tool_rules json,
        message_buffer_autoclear boolean NOT NULL, enable_sleeptime boolean, last_run_completion timestamptz, last_run_duration_ms integer, timezone text,
        max_files_open integer, per_file_view_window_char_limit integer, hidden boolean""",
    "messages": f"""{_EACH}, agent_id text NOT NULL {_AGENT}, role text NOT NULL, text text, content json, model text, name text, tool_calls json,
        tool_call_id text, step_id text, run_id text, otid text, tool_returns json, group_id text, sender_id text, batch_item_id text, is_err boolean,
        approval_request_id text, approve boolean, denial_reason text, approvals json, conversation_id text, sequence_id bigint UNIQUE NOT NULL""",
    "conversations": f"{_EACH}, agent_id text NOT NULL {_AGENT}, summary text, model text, model_settings json, last_message_at timestamptz",
    "conversation_messages": f"""{_EACH}, conversation_id text REFERENCES conversations (id), agent_id text NOT NULL {_AGENT}, message_id text NOT NULL,
        position integer NOT NULL, in_context boolean NOT NULL""",
    "block": f"""{_EACH}, template_name text, description text, label text NOT NULL, is_template boolean NOT NULL, value text NOT NULL, "limit" integer NOT NULL,
        metadata_ json, read_only boolean NOT NULL, preserve_on_migration boolean, hidden boolean, project_id text, tags json, version integer NOT NULL""",
    "tools": f"""{_EACH}, name text NOT NULL, tool_type text NOT NULL, return_char_limit integer, description text, tags json, source_type text, source_code text,
        json_schema json, args_json_schema json, pip_requirements json, npm_requirements json, default_requires_approval boolean,
        enable_parallel_execution boolean, metadata_ json""",
    "sources": f"""{_EACH}, name text NOT NULL, description text, instructions text, embedding_config json, metadata_ json, vector_db_provider text""",
    "archives": f"""{_EACH}, name text NOT NULL, description text, metadata_ json, embedding_config json, vector_db_provider text""",
    "files": f"""{_EACH}, source_id text NOT NULL REFERENCES sources (id), file_name text, original_file_name text, file_path text, file_type text, file_size integer,
        file_creation_date text, file_last_modified_date text, processing_status text NOT NULL, error_message text, total_chunks integer,
        chunks_embedded integer""",
    "file_contents": f"{_EACH}, file_id text UNIQUE NOT NULL REFERENCES files (id), text text NOT NULL",
    "files_agents": f"""{_EACH}, file_id text NOT NULL REFERENCES files (id), agent_id text NOT NULL {_AGENT}, source_id text NOT NULL, file_name text NOT NULL,
        is_open boolean NOT NULL, visible_content text, last_accessed_at timestamptz NOT NULL, start_line integer, end_line integer""",
    "archival_passages": f"""{_EACH}, text text NOT NULL, embedding_config json, metadata_ json, tags json, embedding text,
        archive_id text NOT NULL REFERENCES archives (id)""",
    "identities": f"""{_EACH}, identifier_key text NOT NULL, name text NOT NULL, identity_type text NOT NULL, project_id text, properties json NOT NULL""",
    "groups": f"""{_EACH}, description text NOT NULL, manager_type text NOT NULL, manager_agent_id text, termination_token text, max_turns integer,
        sleeptime_agent_frequency integer, max_message_buffer_length integer, min_message_buffer_length integer, turns_counter integer,
        last_processed_message_id text, hidden boolean, agent_ids json NOT NULL, project_id text""",
    "mcp_server": f"{_EACH}, server_name text NOT NULL, server_type text, server_url text, token text, token_enc text, custom_headers json, stdio_config json",
    "agent_environment_variables": f"{_EACH}, agent_id text NOT NULL {_AGENT}, key text NOT NULL, value text, value_enc text, description text",
    "agents_tags": f"agent_id text {_AGENT}, tag text NOT NULL, PRIMARY KEY (agent_id, tag)",
    "blocks_agents": f"agent_id text {_AGENT}, block_id text REFERENCES block (id), block_label text NOT NULL, PRIMARY KEY (agent_id, block_id, block_label)",
    "blocks_conversations": "conversation_id text REFERENCES conversations (id), block_id text REFERENCES block (id), block_label text NOT NULL",
    "tools_agents": f"agent_id text {_AGENT}, tool_id text REFERENCES tools (id), PRIMARY KEY (agent_id, tool_id)",
    "sources_agents": f"agent_id text {_AGENT}, source_id text REFERENCES sources (id), PRIMARY KEY (agent_id, source_id)",
    "archives_agents": f"agent_id text {_AGENT}, archive_id text REFERENCES archives (id), created_at timestamptz, is_owner boolean, PRIMARY KEY (agent_id, archive_id)",
    "identities_agents": f"identity_id text REFERENCES identities (id), agent_id text {_AGENT}, PRIMARY KEY (identity_id, agent_id)",
    "identities_blocks": "identity_id text REFERENCES identities (id), block_id text REFERENCES block (id), PRIMARY KEY (identity_id, block_id)",
    "groups_agents": f"group_id text REFERENCES groups (id), agent_id text {_AGENT}, PRIMARY KEY (group_id, agent_id)",
    "groups_blocks": "group_id text REFERENCES groups (id), block_id text REFERENCES block (id), PRIMARY KEY (group_id, block_id)",
}
"""The columns of each table, in an order in which they can be created."""


def statements() -> list[str]:
    """The statements that create the tables."""
    return [f"CREATE TABLE {name} ({columns})" for name, columns in TABLES.items()]


def inserts(tables: Tables) -> list[tuple[str, dict[str, object]]]:
    """The statements that insert rows, with their values."""
    made = []
    for name in TABLES:
        for row in tables[name]:
            columns = ", ".join(f'"{column}"' for column in row)
            values = ", ".join(f":{column}" for column in row)
            made.append((f"INSERT INTO {name} ({columns}) VALUES ({values})", row))
    return made
