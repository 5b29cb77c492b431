"""Agent files: export and import (API 2.2; RT 12)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done(
        "agents.export",
        "API 2.2",
        "Exports an agent as JSON with an indent of two: settings, the messages in its window, blocks, tools with their source, folders with the "
        "text of their files, skills. Secrets have their names and empty values; ids are local to the file.",
        "GET /v1/agents/{agent_id}/export",
    ),
    done(
        "agents.export.skills",
        "RT 12.2",
        "Exports an agent with the skills of the request.",
        "POST /v1/agents/{agent_id}/export",
    ),
    done("agents.export.conversation", "RT 12.2", "`conversation_id` exports the messages of that conversation."),
    done("agents.export.scrubbed", "RT 12.2", "`scrub_messages` leaves all messages out."),
    done("agents.export.legacy", "API 2.2", "`use_legacy_format=true` is 400; `max_steps` has no effect."),
    diverging(
        "agents.export.settings",
        "RT 12.3",
        "`model_settings`, `compaction_settings`, fallback models and the approval deadline are part of the file.",
        "V1 leaves them out, so that an imported agent has other settings than the exported one.",
    ),
    diverging(
        "agents.export.history",
        "RT 12.2",
        "`full_history=true` exports the whole log; `in_context_message_ids` tells which part of it is the window.",
        "V1 exports at most the window, so that a copied agent cannot recall what was said before.",
    ),
    diverging(
        "agents.export.skills.kept",
        "RT 12.1",
        "Skills that came with an agent's file are exported again.",
        "V1 drops them at the import.",
    ),
    done(
        "agents.import",
        "API 2.2",
        "Creates the agents of a file from a form and returns their ids; names get the suffix `_copy` unless `append_copy_suffix` is false or "
        "`name` is given, which applies to all agents of the file.",
        "POST /v1/agents/import",
    ),
    done("agents.import.model", "RT 12.3", "`model` and `embedding` replace the models of all agents of the file."),
    done(
        "agents.import.deprecated",
        "API 2.2",
        "`override_name`, `override_model_handle`, `override_embedding_handle`, `env_vars_json` and the header `x-override-embedding-model` are "
        "the older names of options.",
    ),
    done("agents.import.double", "RT 12.3", "A file that is JSON text within a JSON text is read."),
    done(
        "agents.import.tools",
        "RT 12.3",
        "Tools are found by their names: existing ones are overwritten, or kept with `override_existing_tools=false`; built-in ones are never "
        "overwritten. Blocks are always new.",
    ),
    done(
        "agents.import.corrupted",
        "API 2.2",
        "A file that cannot be read is 400 with “Corrupted agent file format.” and the reason.",
    ),
    diverging(
        "agents.import.json",
        "API 2.2",
        "The body may also be JSON: the file itself, or an object with the file as `file` and the options beside it.",
        "V1 takes forms only.",
    ),
    diverging(
        "agents.import.notes",
        "RT 12.3",
        "Beside `agent_ids` the answer has `notes`: what was repaired, replaced or left out, with the first place and the number of places.",
        "V1 tells nothing.",
    ),
    diverging(
        "agents.import.legacy",
        "RT 12.4",
        "A file of the older form with a single agent is converted.",
        "V1 answers 400 to files that it wrote itself.",
    ),
    diverging(
        "agents.import.system",
        "RT 12.3",
        "The system message is compiled from the imported memory, also where the file has no messages.",
        "V1 stores the text of the file, which shows another memory, or leaves an agent without any message, which fails at its next one.",
    ),
    diverging(
        "agents.import.strip", "RT 12.3", "`strip_messages` leaves the messages out.", "V1 accepts the option and ignores it."
    ),
    diverging(
        "agents.import.secrets",
        "RT 12.3",
        "`secrets` fill the keys of the file, under their new and old name, and add others; keys without a value are kept and told.",
        "V1 drops the others, and fails if the file has the old name only.",
    ),
    diverging(
        "agents.import.handles",
        "RT 12.3",
        "A model or embedding that is not served here is replaced by the default one, and a note names both.",
        "V1 stores the configuration of the file, address included, and fails at the next message.",
    ),
    diverging(
        "agents.import.repairs",
        "RT 12.3",
        "Calls without a return are closed, returns without a call and references to nothing are left out, null contents are empty, limits of "
        "blocks are raised to their values.",
        "V1 stores them as they are, and providers refuse the next request; dangling references are 500.",
    ),
    diverging(
        "agents.import.whole",
        "RT 12.3",
        "A file is validated before anything is written, and an import that breaks off is completed by the sweep.",
        "V1 leaves what was created before the failure.",
    ),
    done("agents.export.groups", "RT 12.2", "An agent that manages groups is exported with their agents."),
    diverging(
        "agents.import.sleeptime",
        "RT 12.3",
        "Groups of the file are created, and an agent works with its sleep-time agent from its next message on.",
        "V1 writes `enable_sleeptime` as false into files and does not restore it, so that the pair sleeps until it is set again.",
    ),
    diverging(
        "agents.import.keep_ids",
        "RT 12.3",
        "`keep_ids=true`: records keep the ids of the file, those that exist here stay as they are, and what was deleted here is not brought back. A file "
        "without agents is allowed.",
        "V1 gives new ids, so that an import cannot be repeated, and programs that know agents by their ids lose them.",
    ),
    diverging(
        "agents.import.again",
        "RT 12.3",
        "A request that the client repeats (`x-stainless-retry-count` above 0) within 15 minutes gets the agents of the first one.",
        "V1 imports the file again.",
    ),
)
