"""Agents, their core memory, their tools and their tags (digest 2.2, 2.5, 2.6, 2.15, 3 and 4)."""

from __future__ import annotations

from tests.compat.manifest.form import LATER, diverging, done, todo

ROWS = (
    done("agents.create", "API 2.2", "Makes an agent and answers it with all relations.", "POST /v1/agents/"),
    done(
        "agents.create.fields",
        "API 4.2",
        "Every field of the request is taken and shown again where AgentState has a place for it.",
    ),
    done("agents.create.configs", "API 2.2", "`llm_config` and `embedding_config` are taken instead of handles."),
    diverging(
        "agents.create.embedding",
        "API 2.2",
        "An agent that names no embedding has the deployment's default; null means none. With HIBERNAUT_DEFAULT_EMBEDDING=none there is "
        "no default.",
        "V1 has no default unless one is configured, so that memory is found by its words alone; here a model comes with the server.",
    ),
    done("agents.create.defaults", "API 2.2", "Without fields: a two-word name, the deployment's models, time zone UTC."),
    done(
        "agents.create.base_tools", "API 2.2", "Each agent type starts with its base tools, unless `include_base_tools` is false."
    ),
    done("agents.create.rules", "RT 1.2", "Legacy types get default tool rules; letta_v1 only those that were given."),
    done(
        "agents.create.first_messages",
        "API 2.2",
        "Legacy types start with an opening and a login; `initial_message_sequence` stands in its place, `[]` means none.",
    ),
    done(
        "agents.create.model_errors",
        "API 2.2",
        "A handle without a slash is 400, an unknown one 404 with the handles that exist.",
    ),
    diverging(
        "agents.create.bad_name",
        "API 2.2",
        "A name with characters that are not allowed is 400.",
        "V1 answers 500.",
    ),
    diverging(
        "agents.create.unknown_parts",
        "API 2.2",
        "An unknown block, tool or folder is 404, two blocks of one label 409; then nothing at all was made.",
        "V1 answers 409 with SQL for some of these, and may leave a broken agent behind: it makes an agent in several transactions, "
        "we in one.",
    ),
    todo("agents.create.sleeptime", "API 2.2", "`enable_sleeptime` makes a partner that edits memory; it is stored now.", LATER),
    done("agents.create.multi_agent_tools", "RT 1.1", "`include_multi_agent_tools` attaches the tools between agents."),
    done("agents.create.folders", "API 2.2", "`folder_ids` (or `source_ids`) gives folders with their tools, also on an update."),
    todo("agents.create.identities", "API 2.2", "`identity_ids` names identities; the ids are stored and shown now.", LATER),
    todo(
        "agents.create.git_memory",
        "API 2.2",
        "The tag `git-memory-enabled` keeps memory in git; it is a tag like any other now.",
        LATER,
    ),
    done("agents.retrieve", "API 2.2", "Answers one agent; 404 with its id.", "GET /v1/agents/{agent_id}"),
    done(
        "agents.include",
        "API 1.4",
        "A 1.0 client is shown the relations that it names in `include`, others all; `include_relationships` overrides both.",
    ),
    done(
        "agents.create.sequence",
        "API 2.2",
        "An assistant's message of `initial_message_sequence` is text of an agent that speaks by text, else a call of `send_message`.",
    ),
    done("agents.rules.once", "RT 3.1", "Of equal `tool_rules` one is stored."),
    diverging(
        "agents.secrets",
        "API 4.11",
        "Secrets are shown by their keys; values are null, but with `include=agent.secrets` for a caller on the server's own machine.",
        "V1 shows everybody's values to everybody.",
    ),
    done("agents.update", "API 2.2", "Applies what is named; lists and secrets replace.", "PATCH /v1/agents/{agent_id}"),
    done("agents.update.nulls", "API 2.2", "Null changes nothing."),
    done("agents.update.model", "API 2.2", "Model fields are folded into the configuration; a new model brings its own window."),
    done(
        "agents.update.model.fresh",
        "RT 1.5",
        "A new model brings its fresh configuration: thoughts are asked for as an argument only where `reasoning` is named.",
    ),
    diverging(
        "agents.fallback_models",
        "API 4.1",
        "`fallback_models` (handles, or objects with the failures they answer for) answer in order when the agent's own model cannot; the step names who answered.",
        "V1 has no such field.",
    ),
    diverging("agents.update.hidden", "API 2.2", "`hidden` is applied.", "V1 accepts and forgets it."),
    diverging(
        "agents.update.message_ids",
        "API 2.2",
        "Sets the messages in context: each must exist (404), the first must be the system message (400), no run may be open (409).",
        "V1 stores whatever it is given.",
    ),
    diverging(
        "agents.prompt.follows",
        "API 5.6",
        "Every change of an agent, its rules, its blocks or what is attached is in the prompt of the next run.",
        "V1 shows a changed agent and attached blocks only after something else rebuilds the prompt.",
    ),
    done("agents.list", "API 2.2", "Lists agents that are not hidden, newest first.", "GET /v1/agents/"),
    done("agents.list.filters", "API 2.2", "By name, part of a name, tags, project, template, identity, stop reason, maker."),
    done("agents.list.order", "API 2.2", "By making, last change or last run; agents that never ran stand last."),
    done("agents.list.cursors", "API 1.5", "Cursors follow the order asked for; an unknown one is ignored."),
    done(
        "agents.count",
        "API 3",
        "How many agents pass the filters of the list; hidden ones count with `show_hidden_agents`.",
        "GET /v1/agents/count",
    ),
    done("agents.list.hidden", "API 2.2", "With `show_hidden_agents` the list shows them too."),
    done(
        "agents.delete",
        "API 2.2",
        "Deletes an agent with its messages and runs, ending what still runs; its blocks stay.",
        "DELETE /v1/agents/{agent_id}",
    ),
    done(
        "agents.recompile",
        "API 2.2",
        "Answers the system prompt compiled anew as a JSON text, and stores it unless `dry_run`.",
        "POST /v1/agents/{agent_id}/recompile",
    ),
    done(
        "agents.recompile.old",
        "API 3",
        "The deprecated alias does the same.",
        "POST /v1/agents/{agent_id}/system-prompt/recompile",
    ),
    done(
        "agents.reset",
        "API 2.3",
        "The context becomes one fresh system message, or the opening of the type; what was said stays listed.",
        "PATCH /v1/agents/{agent_id}/reset-messages",
    ),
    done(
        "agents.context",
        "API 3",
        "GET /v1/agents/{id}/context measures how the context window is filled.",
        "GET /v1/agents/{agent_id}/context",
    ),
    done(
        "agents.core_memory",
        "API 3",
        "GET /v1/agents/{id}/core-memory answers the Memory object.",
        "GET /v1/agents/{agent_id}/core-memory",
    ),
    done(
        "agents.blocks.retrieve",
        "API 2.5",
        "Answers the agent's block of a label; 404 with both names. Labels may hold slashes.",
        "GET /v1/agents/{agent_id}/core-memory/blocks/{block_label}",
    ),
    done(
        "agents.blocks.update",
        "API 2.5",
        "Changes it, beyond its limit too.",
        "PATCH /v1/agents/{agent_id}/core-memory/blocks/{block_label}",
    ),
    done("agents.blocks.list", "API 2.5", "Lists the agent's blocks by id.", "GET /v1/agents/{agent_id}/core-memory/blocks"),
    done(
        "agents.blocks.attach",
        "API 2.5",
        "Attaches a block and answers the agent; again changes nothing, a second block of one label is 409.",
        "PATCH /v1/agents/{agent_id}/core-memory/blocks/attach/{block_id}",
    ),
    done(
        "agents.blocks.detach",
        "API 2.5",
        "Detaches a block and answers the agent; 404 where it is not attached.",
        "PATCH /v1/agents/{agent_id}/core-memory/blocks/detach/{block_id}",
    ),
    done("agents.tools.list", "API 2.6", "Lists the agent's tools.", "GET /v1/agents/{agent_id}/tools"),
    done("agents.tools.list.limit", "API 2.6", "Ten of them, where no limit is given."),
    done(
        "agents.tools.attach",
        "API 2.6",
        "Attaches a tool, again or not; one that needs approval brings its rule.",
        "PATCH /v1/agents/{agent_id}/tools/attach/{tool_id}",
    ),
    done(
        "agents.tools.detach",
        "API 2.6",
        "Detaches a tool, attached or not; rules that name it stay.",
        "PATCH /v1/agents/{agent_id}/tools/detach/{tool_id}",
    ),
    done("agents.tools.null_or_state", "API 1.4", "The three changes answer null to a 1.0 client, the agent to others."),
    done(
        "agents.tools.approval",
        "API 2.6",
        "Sets or takes away the rule that a person approves; 422 where nothing is asked.",
        "PATCH /v1/agents/{agent_id}/tools/approval/{tool_name}",
    ),
    done(
        "agents.tools.run",
        "API 2.6",
        "Runs an attached tool with the agent's secrets and memory, outside of its conversation.",
        "POST /v1/agents/{agent_id}/tools/{tool_name}/run",
    ),
    done("tags.list", "API 2.15", "Lists the tags of agents in alphabetical order.", "GET /v1/tags/"),
)
