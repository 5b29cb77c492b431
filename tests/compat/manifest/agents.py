"""Agents, their core memory, their tools and their tags (API 2.2, 2.5, 2.6, 2.15, 3 and 4)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    diverging(
        "agents.past",
        "API 2.2",
        "GET /v1/agents/{id}/past and /versions show the agent as it was at a message or a time; POST /v1/agents/{id}/fork makes a new agent from there.",
        "V1 keeps no versions of agents.",
    ),
    diverging(
        "agents.pause",
        "API 2.2",
        "POST /v1/agents/{id}/pause and /resume: a paused agent refuses messages with 409 (`agent_paused`) and finishes what it accepted before.",
        "V1 has no pauses.",
    ),
    done("agents.create", "API 2.2", "Creates an agent and returns it with all relations.", "POST /v1/agents/"),
    done(
        "agents.create.fields",
        "API 4.2",
        "Every field of the request is stored, and returned if AgentState has it.",
    ),
    done("agents.create.configs", "API 2.2", "`llm_config` and `embedding_config` are accepted in place of handles."),
    diverging(
        "agents.create.embedding",
        "API 2.2",
        "An agent that names no embedding has the deployment's default; null means none. With "
        "HIBERNAUT_DEFAULT_EMBEDDING=none there is no default.",
        "V1 has no default unless one is configured, so that memory is found by its words alone; this server includes "
        "an embedding model.",
    ),
    done("agents.create.defaults", "API 2.2", "Without fields: a two-word name, the deployment's models, time zone UTC."),
    done(
        "agents.create.default_source",
        "API 4.2",
        "`include_default_source` creates a folder with the agent's name and embedding, and attaches it.",
    ),
    diverging(
        "agents.create.summarizer",
        "API 2.2",
        "Without `compaction_settings.model` a small current model of the agent's provider summarizes, as openai/gpt-5.4-mini.",
        "V1 names openai/gpt-5-mini and google_ai/gemini-2.5-flash, which their providers shut down or replace in December 2026.",
    ),
    done(
        "agents.create.base_tools", "API 2.2", "Each agent type starts with its base tools, unless `include_base_tools` is false."
    ),
    done("agents.create.rules", "RT 1.2", "Legacy types get default tool rules; letta_v1 only those of the request."),
    done(
        "agents.create.first_messages",
        "API 2.2",
        "Legacy types start with an opening message and a login event; `initial_message_sequence` replaces them, `[]` "
        "means none.",
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
        "An unknown block, tool or folder is 404, two blocks of one label 409; nothing is created.",
        "V1 answers 409 with SQL for some of these, and may leave a broken agent, because it creates an agent in "
        "several transactions.",
    ),
    done(
        "agents.create.multi_agent_tools",
        "RT 1.1",
        "`include_multi_agent_tools` attaches the tools with which agents send messages to each other.",
    ),
    done(
        "agents.create.folders",
        "API 2.2",
        "`folder_ids` (or `source_ids`) attaches folders and the file tools, also on an update.",
    ),
    diverging(
        "agents.create.identities",
        "API 2.2",
        "`identity_ids` names identities, also on an update, which replaces them; an unknown one is 404.",
        "V1 answers 409 with a foreign key's name.",
    ),
    done(
        "agents.create.git_memory",
        "API 2.2",
        "The tag `git-memory-enabled` is kept and changes nothing: memory stays in blocks and `memory.git_enabled` false, as in a V1 that has no git service.",
    ),
    done("agents.retrieve", "API 2.2", "Returns an agent. An unknown one is 404, with the id.", "GET /v1/agents/{agent_id}"),
    done(
        "agents.include",
        "API 1.4",
        "A 1.0 client gets the relations that it names in `include`, older clients get all; `include_relationships` "
        "overrides both. The tags come with the blocks.",
    ),
    diverging(
        "agents.include.written_back",
        "API 1.4",
        "Letta Code (`X-Letta-Source: letta-code`) gets all relations of one agent, because it writes back tools and tags that it has read without `include`.",
        "V1 gives it empty lists, so that Letta Code takes an agent's own tools from it at each start.",
    ),
    done(
        "agents.create.sequence",
        "API 2.2",
        "An assistant's message of `initial_message_sequence` is stored as text, or as a call of `send_message` for "
        "agent types that reply by that tool.",
    ),
    done("agents.rules.once", "RT 3.1", "Equal `tool_rules` are stored once."),
    diverging(
        "agents.secrets",
        "API 4.11",
        "Secrets are listed by their keys. Their values are null, except with `include=agent.secrets` for a key of the scope "
        "`admin`, or for a caller on the machine of a server without keys.",
        "V1 returns the values to every caller.",
    ),
    done(
        "agents.update",
        "API 2.2",
        "Updates the fields of the request; lists and secrets are replaced.",
        "PATCH /v1/agents/{agent_id}",
    ),
    done("agents.update.nulls", "API 2.2", "Null changes nothing."),
    done(
        "agents.update.model",
        "API 2.2",
        "Model fields are merged into the configuration; a new model has its own context window.",
    ),
    done(
        "agents.update.model.fresh",
        "RT 1.5",
        "A new model starts with the default configuration of its handle: thoughts are an argument of tools only if "
        "the request names `reasoning`.",
    ),
    diverging(
        "agents.fallback_models",
        "API 4.1",
        "`fallback_models` (handles, or objects that name classes of failures) are asked in order if the agent's model "
        "fails; the step names the model that replied.",
        "V1 has no such field.",
    ),
    diverging("agents.update.hidden", "API 2.2", "`hidden` is applied.", "V1 accepts the field and ignores it."),
    diverging(
        "agents.update.message_ids",
        "API 2.2",
        "Sets the messages in context: each must exist (404), the first must be the system message (400), no run may "
        "be open (409).",
        "V1 does not check the ids.",
    ),
    diverging(
        "agents.prompt.follows",
        "API 5.6",
        "The prompt of the next run has every change of the agent, its rules, its blocks and its attachments.",
        "V1 includes some of them only after another event rebuilds the prompt.",
    ),
    done("agents.list", "API 2.2", "Lists agents that are not hidden, newest first.", "GET /v1/agents/"),
    done(
        "agents.list.filters",
        "API 2.2",
        "Filters: name, part of a name, tags, project, template, identity, stop reason, creator.",
    ),
    diverging(
        "agents.list.ids",
        "API 2.2",
        "`agent_ids` (at most 200) lists these agents alone, hidden ones too, in the order of the ids; what does not exist is left out.",
        "V1 has no such parameter, and ignores it: the names of the agents of a group or of schedules cost a request each.",
    ),
    done("agents.list.order", "API 2.2", "Orders: creation, last update, last run; agents without a run are last."),
    done("agents.list.cursors", "API 1.5", "Cursors follow the requested order; an unknown cursor is ignored."),
    done(
        "agents.count",
        "API 3",
        "Counts agents with the filters of the list, hidden ones with `show_hidden_agents`.",
        "GET /v1/agents/count",
    ),
    done("agents.list.hidden", "API 2.2", "`show_hidden_agents` adds hidden agents to the list."),
    done(
        "agents.delete",
        "API 2.2",
        "Ends the open runs of an agent and deletes it with its messages and runs; its blocks remain.",
        "DELETE /v1/agents/{agent_id}",
    ),
    done(
        "agents.recompile",
        "API 2.2",
        "Compiles the system prompt again, returns it as a JSON string, and stores it unless `dry_run` is true.",
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
        "Replaces the context by a new system message, with the opening messages of the agent's type; lists still have "
        "the old messages.",
        "PATCH /v1/agents/{agent_id}/reset-messages",
    ),
    done(
        "agents.context",
        "API 3",
        "Counts the tokens of each part of the context window.",
        "GET /v1/agents/{agent_id}/context",
    ),
    done(
        "agents.core_memory",
        "API 3",
        "Returns the Memory object.",
        "GET /v1/agents/{agent_id}/core-memory",
    ),
    done(
        "agents.blocks.retrieve",
        "API 2.5",
        "Returns the agent's block with a label; 404 names the label and the agent. A label may contain slashes.",
        "GET /v1/agents/{agent_id}/core-memory/blocks/{block_label}",
    ),
    done(
        "agents.blocks.update",
        "API 2.5",
        "Updates it; the value may exceed its limit.",
        "PATCH /v1/agents/{agent_id}/core-memory/blocks/{block_label}",
    ),
    done("agents.blocks.list", "API 2.5", "Lists the agent's blocks by id.", "GET /v1/agents/{agent_id}/core-memory/blocks"),
    done(
        "agents.blocks.attach",
        "API 2.5",
        "Attaches a block and returns the agent. An attached block changes nothing; a second block with the same label is 409.",
        "PATCH /v1/agents/{agent_id}/core-memory/blocks/attach/{block_id}",
    ),
    done(
        "agents.blocks.detach",
        "API 2.5",
        "Detaches a block and returns the agent; 404 if it is not attached.",
        "PATCH /v1/agents/{agent_id}/core-memory/blocks/detach/{block_id}",
    ),
    done("agents.tools.list", "API 2.6", "Lists the agent's tools.", "GET /v1/agents/{agent_id}/tools"),
    done("agents.tools.list.limit", "API 2.6", "The default limit is 10."),
    done(
        "agents.tools.attach",
        "API 2.6",
        "Attaches a tool; it may be attached already. A tool that requires approval adds its rule.",
        "PATCH /v1/agents/{agent_id}/tools/attach/{tool_id}",
    ),
    done(
        "agents.tools.detach",
        "API 2.6",
        "Detaches a tool; it need not be attached. Rules that name it remain.",
        "PATCH /v1/agents/{agent_id}/tools/detach/{tool_id}",
    ),
    done(
        "agents.tools.null_or_state",
        "API 1.4",
        "Attach, detach and approval return null to a 1.0 client, and the agent to older clients.",
    ),
    done(
        "agents.tools.approval",
        "API 2.6",
        "Sets or removes the approval rule of a tool; 422 without `requires_approval`.",
        "PATCH /v1/agents/{agent_id}/tools/approval/{tool_name}",
    ),
    done(
        "agents.tools.run",
        "API 2.6",
        "Runs an attached tool with the agent's secrets and memory, outside its conversation.",
        "POST /v1/agents/{agent_id}/tools/{tool_name}/run",
    ),
    done("tags.list", "API 2.15", "Lists the tags of agents in alphabetical order.", "GET /v1/tags/"),
)
