"""Groups of agents, and agents with sleep-time agents (API 3 and 4.11; RT 9)."""

from __future__ import annotations

from tests.compat.manifest.form import diverging, done

ROWS = (
    done(
        "groups.list",
        "API 3",
        "The groups, oldest first, by manager type and project; hidden ones only if asked for.",
        "GET /v1/groups/",
    ),
    done("groups.count", "API 3", "Counts groups, hidden ones included.", "GET /v1/groups/count"),
    done("groups.of_agent", "API 3", "The groups that an agent is in, newest first.", "GET /v1/agents/{agent_id}/groups"),
    done("groups.create", "API 3", "Creates a group; shared blocks go to its agents and its manager.", "POST /v1/groups/"),
    diverging(
        "groups.create.id",
        "API 3",
        "A group may have an `id` of the caller: a group that has it is returned as it is.",
        "V1 has no such field, so a request that is sent twice makes two groups.",
    ),
    done("groups.retrieve", "API 3", "Retrieves a group.", "GET /v1/groups/{group_id}"),
    done("groups.update", "API 3", "Changes what is not null; another manager type is 400.", "PATCH /v1/groups/{group_id}"),
    done("groups.delete", "API 3", "Deletes a group and leaves its agents.", "DELETE /v1/groups/{group_id}"),
    done(
        "groups.blocks.attach",
        "API 3",
        "Adds a block to a group's shared blocks; its agents do not get it.",
        "PATCH /v1/groups/{group_id}/blocks/attach/{block_id}",
    ),
    done(
        "groups.blocks.detach",
        "API 3",
        "Removes a block from a group's shared blocks.",
        "PATCH /v1/groups/{group_id}/blocks/detach/{block_id}",
    ),
    done("groups.members", "API 3", "An agent that does not exist is 404; one that is deleted later stays in `agent_ids`."),
    done("groups.managed", "API 4.1", "`multi_agent_group` and `managed_group` of an agent are the group that it manages."),
    done(
        "groups.messages.list",
        "API 3",
        "The log of a group: the messages to it, and what its agents have said, each under its name and `sender_id`.",
        "GET /v1/groups/{group_id}/messages",
    ),
    done(
        "groups.messages.reset",
        "API 3",
        "The agents of the group forget what they were not told yet; the log keeps all messages.",
        "PATCH /v1/groups/{group_id}/reset-messages",
    ),
    diverging(
        "groups.messages.update",
        "API 3",
        "Always 405.",
        "A log is append-only; V1 rewrites the message.",
        "PATCH /v1/groups/{group_id}/messages/{message_id}",
    ),
    diverging(
        "groups.messages.send",
        "RT 9.4",
        "`POST /v1/groups/{group_id}/messages`, also `/stream`, `/async` and `/cancel`: the agents take turns as the manager type says; each turn is a run.",
        "V1 has retired these routes; groups other than those of sleep-time agents are data there.",
    ),
    diverging(
        "groups.messages.missing",
        "RT 9.4",
        "A message to a group with a deleted agent is 404 with its id. An agent that fails, is paused or waits for an approval is told in the log, and "
        "the others go on.",
        "V1 told nothing of that.",
    ),
    diverging(
        "groups.update.shared_blocks",
        "API 3",
        "A PATCH with `shared_block_ids` replaces the list of the group.",
        "V1 accepts the field and ignores it.",
    ),
    diverging(
        "groups.manager.deleted",
        "RT 9.4",
        "The manager of a group can be deleted; the group keeps its id.",
        "V1 answers 500, unless it is a sleep-time group.",
    ),
    done(
        "sleeptime.pair",
        "RT 9.1",
        "`enable_sleeptime`, when an agent is created or updated, makes `<name>-sleeptime`, which shares all blocks, and their group with the frequency 5 "
        "and the counter -1.",
    ),
    diverging(
        "sleeptime.pair.embedding",
        "RT 9.1",
        "The pair is made in one transaction, also for an agent without an embedding model.",
        "V1 makes no pair for such an agent, and answers nothing.",
    ),
    done(
        "sleeptime.blocks",
        "RT 4.1",
        "A block that is attached to an agent is attached to its sleep-time agent; a detached one stays there.",
    ),
    done(
        "sleeptime.deletion",
        "RT 9.4",
        "The sleep-time agent goes with its agent; deleting it deletes the group and clears `enable_sleeptime`.",
    ),
    done(
        "sleeptime.turns", "RT 9.2", "The first turn and every n-th after it start a background run; null: every turn; 0: none."
    ),
    done("sleeptime.run_ids", "RT 9.3", "`usage.run_ids` of a reply lists the runs; their metadata has the `run_type` of V1."),
    diverging(
        "sleeptime.counted",
        "RT 9.2",
        "A turn is counted in the transaction that ends it, whatever its stop reason.",
        "V1 counts afterwards, and loses turns at a crash; it does not count a blocking turn that failed.",
    ),
    diverging(
        "sleeptime.transcript",
        "RT 9.3",
        "The transcript has everything since the last one, in several runs if it is long. Lines after the first of a message are indented.",
        "V1 tells at most 50 messages before the newest turn, loses the others, and without a frequency the user's messages.",
    ),
    diverging(
        "sleeptime.one_at_a_time",
        "RT 9.3",
        "A sleep-time agent that is still working takes the next transcript afterwards.",
        "V1 starts a second run beside the first.",
    ),
)
