"""The keys of the table, and the access patterns that they serve. No other module builds a key, but the modules `*_keys.py`
beside the repositories: each begins with a list of its keys as this one does. `blob_keys` has the keys of blobs.

`t` is the tenant; each key function validates its name (`store.table.tenants`). `c` is a conversation (`conv-…`, or an agent's id
for its default conversation). Shards are two hex digits.

    pk                 sk                  what                                   read by
    t#AGENT#agent      AGENT               the agent (index LISTS)                retrieve, load of a step
    t#AGENT#agent      RUN#run             list row of a run (index LISTS)        runs of an agent, newest first
    t#AGENT#agent      CONV#conv           list row of a conversation (both)      conversations of an agent
    t#AGENT#agent      LASTRUN#conv        its newest run (LISTS, DUE)            order by last run
    t#AGENT#agent      ARCH#archive        link from an agent to an archive       searches, inserts, start of a run
    t#AGENT#agent      LASTRUN             its newest run (index LISTS)           states, order by last run
    t#AGENTS           agent               list row of an agent                   list, count, filters
    t#BLOCK#block      BLOCK               the block                              retrieve, load of a step
    t#BLOCKAGENTS      block#agent         link from a block to an agent          agents of a block, counts of all blocks
    t#BLOCKS           block               list row of a block                    list, count, filters
    t#TOOL#tool        TOOL                a custom tool, or a built-in's changes retrieve, load of a step
    t#TOOL#tool        AGENT#agent         link from a tool to an agent           deletion of a tool
    t#TOOLS            tool                list row of a tool                     list, count, filters
    t#TOOLNAMES        name                the tool with this name                upsert by name, names of an agent's tools
    t#CONV#c           HEAD                owner, log version, window             every step and request
    t#CONV#c           RECORD              the conversation, unless a default one retrieve, load of a step
    t#CONV#c           FORK#conv           a fork that shares rows of this log    deletion: rows to keep
    t#CONV#c           MSG#message         a row of the log (index LISTS)         list by cursor, the window's tail
    t#CONV#c           QUEUE#run           a waiting run                          handover
    t#CONV#c           PRINT#hash          fingerprint of a request (ttl)         re-sent requests
    t#CONV#c           OTID#otid           the run of this message (ttl)          re-sent messages
    t#RUN#run          RUN                 the run (DUE, LISTS while open)        every step and request; the sweep
    t#RUN#run          JOURNAL             the reply of the step in flight (ttl)  a later attempt, cancel
    t#RUN#run          CLAIM#n#hash        an outside call and its result (ttl)   a later attempt, cancel
    t#RUN#run          PENDING             the approval it requests (both)        answers, cancel; the sweep
    t#RUN#run          STEP#step           a step (index LISTS)                   steps of a run
    t#RUN#run          EV#seq              a batch of events (ttl)                followers
    t#TAIL#place       NEW#id, GONE#id     not in the index, deleted (LISTS)      searches; the indexer
    t#TAIL#place       EMBED#id            embedding pending (LISTS)              the indexer
    t#TAIL#place       AGAIN#id            embedding failed, retry later (LISTS)  the indexer
    t#TAIL#place       NEW#id#ANEW         not in the index, by a rebuild (LISTS) searches; the indexer
    t#GONE#c           GONE                tombstone of an agent, a conversation (DUE)  its deletion; the sweep
    t#REINDEX          STATE               the newest build of the index          searches
    t#REINDEX          DOUBLES             the newest removal of doubles from it  the indexer
    COLLECTION         BLOBS               cursor of the blob collector           the collector (no tenant: it serves all)
    t#APIKEYS          key                 list row of an API key                 list, retrieve
    t#SOCKETS          connection          an open WebSocket connection (ttl)     the number of a tenant's connections
    t#ARCH#archive     PASSAGE#passage     a passage                              archival search
    t#ARCHIVES         archive             list row of an archive                 list, searches of everything
    t#FILE#file        PASSAGE#passage     a piece of a file                      search in files
    t#FILE#file        FILE                the file (index DUE in ingestion)      retrieve, ingestion; the sweep
    t#FOLDER#folder    FOLDER              the folder                             retrieve, the prompt
    t#FOLDER#folder    FILE#file           list row of a file                     files of a folder, of an agent
    t#FOLDER#folder    NAME#name           the file with this name                uploads
    t#FOLDER#folder    AGENT#agent         link from a folder to an agent         agents of a folder
    t#FOLDERS          folder              list row of a folder                   list, count
    t#FOLDERNAMES      name                the folder with this name              uniqueness of names
    t#AGENT#agent      DESK                the files that it has open             the prompt, file tools
    t#ARCH#archive     ARCHIVE             the archive                            retrieve
    t#ARCH#archive     AGENT#agent         link from an archive to an agent       agents of an archive, its deletion
    t#ARCH#archive     TAG#tag             the number of passages with the tag    the prompt
    t#PROVIDERS        provider            a provider with a key of the tenant's  list, retrieve, calls of its models
    t#PROVIDERNAMES    name                the provider with this name            uniqueness of names
    t#SANDBOX          LOCAL               the sandbox's settings and variables   calls of custom tools; administration

    index DUE    DUE#shard        due_ms#id       due runs, files, approvals, deletions: the sweep (no tenant: it serves all)
    index DUE    t#CONVSMESSAGED#agent, t#CONVSMESSAGEDNEVER#agent  time#conv, conv  conversations by last message
    index LISTS  t#CONVSBYMSG#shard, t#CONVSUNSAID#shard            time#conv, conv  conversations of a tenant by last message
    index DUE    t#CONVSBYRUN#shard, t#CONVSUNRUN#shard             time#conv, conv  conversations of a tenant by last run
    index LISTS  t#CONVSRAN#agent, t#CONVSRANNEVER#agent            time#conv, conv  conversations by last run
    index DUE    t#AGENTMSGS#agent  message      rows of an agent's conversations other than its default one
    index LISTS  t#RUNS#shard     run             runs of a tenant; t#OPENRUNS#shard: those that have not ended
    index LISTS  t#APPROVALS#shard  run           approvals of a tenant that wait for an answer
    index LISTS  t#STEPS#shard    step            steps of a tenant; a step by its id
    index LISTS  t#TAIL#shard     NEW#id          pointers of a tenant
    index LISTS  t#MSGS#shard     message         messages of a tenant; a message by its id
    index LISTS  t#CONVS#shard    conv            list rows of the conversations of a tenant
    index LISTS  t#AGENTSUPDATED#shard, t#AGENTSRAN#shard  time#agent  agents by last change, by last run (none: AGENTSNEW)
"""

from __future__ import annotations

import hashlib

from hibernaut.ports.storage.table import Key
from hibernaut.store.table.shards import known_shards_of, shard_of, shards
from hibernaut.store.table.tenants import checked

PENDING = "PENDING"
"""The sort key of an approval that a run requests."""
GONE = "GONE"
"""The sort key of the tombstone of a deletion that may be incomplete."""
BUILD = "BUILD"
"""The sort key of how far a list of older records is built."""
FILE, RUN = "FILE", "RUN"
"""The sort keys of a file and of a run."""
LAST_RUN = "LASTRUN"
"""The sort key of the item of an agent's newest run."""
LONGEST_NAME = 100
"""The longest caller's text, in characters, that a key holds verbatim. A key holds the hash of a longer one."""


def agent(tenant: str, agent_id: str) -> Key:
    return Key(f"{checked(tenant)}#AGENT#{agent_id}", "AGENT")


def last_run(tenant: str, agent_id: str) -> Key:
    return Key(f"{checked(tenant)}#AGENT#{agent_id}", LAST_RUN)


def conversation_last_run(row: Key) -> Key:
    """The key of the item of the newest run of the conversation with this list row."""
    return Key(row.pk, f"{LAST_RUN}#{last_part(row.sk)}")


def agent_and_archives(tenant: str, agent_id: str) -> tuple[Key, str, str]:
    """The agent's key, and the exclusive bounds of the sort keys of the agent and its links to archives, and of nothing else."""
    return agent(tenant, agent_id), "AGEN", "ARCH$"


def agent_row(tenant: str, agent_id: str) -> Key:
    return Key(f"{checked(tenant)}#AGENTS", agent_id)


def run_row(tenant: str, agent_id: str, run_id: str) -> Key:
    return Key(f"{checked(tenant)}#AGENT#{agent_id}", f"RUN#{run_id}")


def block(tenant: str, block_id: str) -> Key:
    return Key(f"{checked(tenant)}#BLOCK#{block_id}", "BLOCK")


def block_agent(tenant: str, block_id: str, agent_id: str) -> Key:
    return Key(f"{checked(tenant)}#BLOCKAGENTS", f"{block_id}#{agent_id}")


def block_row(tenant: str, block_id: str) -> Key:
    return Key(f"{checked(tenant)}#BLOCKS", block_id)


def tool(tenant: str, tool_id: str) -> Key:
    return Key(f"{checked(tenant)}#TOOL#{tool_id}", "TOOL")


def tool_agent(tenant: str, tool_id: str, agent_id: str) -> Key:
    return Key(f"{checked(tenant)}#TOOL#{tool_id}", f"AGENT#{agent_id}")


def tool_row(tenant: str, tool_id: str) -> Key:
    return Key(f"{checked(tenant)}#TOOLS", tool_id)


def tool_name(tenant: str, name: str) -> Key:
    return Key(f"{checked(tenant)}#TOOLNAMES", name)


def head(tenant: str, conversation: str) -> Key:
    return Key(f"{checked(tenant)}#CONV#{conversation}", "HEAD")


def message(tenant: str, conversation: str, message_id: str) -> Key:
    return Key(f"{checked(tenant)}#CONV#{conversation}", f"MSG#{message_id}")


def conversation(tenant: str, conversation_id: str) -> Key:
    return Key(f"{checked(tenant)}#CONV#{conversation_id}", "RECORD")


def conversation_row(tenant: str, agent_id: str, conversation_id: str) -> Key:
    return Key(f"{checked(tenant)}#AGENT#{agent_id}", f"CONV#{conversation_id}")


def fork(tenant: str, source: str, conversation_id: str) -> Key:
    """The key is in the partition of the shared log."""
    return Key(f"{checked(tenant)}#CONV#{source}", f"FORK#{conversation_id}")


def queued(tenant: str, conversation: str, run_id: str) -> Key:
    return Key(f"{checked(tenant)}#CONV#{conversation}", f"QUEUE#{run_id}")


def fingerprint(tenant: str, conversation: str, digest: str) -> Key:
    return Key(f"{checked(tenant)}#CONV#{conversation}", f"PRINT#{digest}")


def otid(tenant: str, conversation: str, value: str) -> Key:
    """An otid may have any length. The hash replaces an otid of more than LONGEST_NAME characters."""
    name = value if len(value) <= LONGEST_NAME else hashlib.sha256(value.encode()).hexdigest()
    return Key(f"{checked(tenant)}#CONV#{conversation}", f"OTID#{name}")


def run(tenant: str, run_id: str) -> Key:
    return Key(f"{checked(tenant)}#RUN#{run_id}", RUN)


def journal(tenant: str, run_id: str) -> Key:
    return Key(f"{checked(tenant)}#RUN#{run_id}", "JOURNAL")


def approval(tenant: str, run_id: str) -> Key:
    return Key(f"{checked(tenant)}#RUN#{run_id}", PENDING)


def claim(tenant: str, run_id: str, step: int, call_id: str) -> Key:
    """`step`: the number of the run's committed steps. The key holds a hash of the call id, which may have any length."""
    return Key(
        f"{checked(tenant)}#RUN#{run_id}",
        f"CLAIM#{step}#{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}",
    )


def step(tenant: str, run_id: str, step_id: str) -> Key:
    return Key(f"{checked(tenant)}#RUN#{run_id}", f"STEP#{step_id}")


def events(tenant: str, run_id: str, first_seq: int) -> Key:
    return Key(f"{checked(tenant)}#RUN#{run_id}", f"EV#{first_seq:010d}")


def archive(tenant: str, archive_id: str) -> Key:
    return Key(f"{checked(tenant)}#ARCH#{archive_id}", "ARCHIVE")


def archive_row(tenant: str, archive_id: str) -> Key:
    return Key(f"{checked(tenant)}#ARCHIVES", archive_id)


def archive_agent(tenant: str, archive_id: str, agent_id: str) -> Key:
    return Key(f"{checked(tenant)}#ARCH#{archive_id}", f"AGENT#{agent_id}")


def archive_tag(tenant: str, archive_id: str, tag: str) -> Key:
    return Key(f"{checked(tenant)}#ARCH#{archive_id}", f"TAG#{tag}")


def agent_archive(tenant: str, agent_id: str, archive_id: str) -> Key:
    return Key(f"{checked(tenant)}#AGENT#{agent_id}", f"ARCH#{archive_id}")


def passage(tenant: str, archive_id: str, passage_id: str) -> Key:
    return Key(f"{checked(tenant)}#ARCH#{archive_id}", f"PASSAGE#{passage_id}")


def piece(tenant: str, file_id: str, passage_id: str) -> Key:
    return Key(f"{checked(tenant)}#FILE#{file_id}", f"PASSAGE#{passage_id}")


def file(tenant: str, file_id: str) -> Key:
    return Key(f"{checked(tenant)}#FILE#{file_id}", FILE)


def folder(tenant: str, folder_id: str) -> Key:
    return Key(f"{checked(tenant)}#FOLDER#{folder_id}", "FOLDER")


def folder_row(tenant: str, folder_id: str) -> Key:
    return Key(f"{checked(tenant)}#FOLDERS", folder_id)


def folder_name(tenant: str, name: str) -> Key:
    return Key(f"{checked(tenant)}#FOLDERNAMES", name)


def folder_file(tenant: str, folder_id: str, file_id: str) -> Key:
    return Key(f"{checked(tenant)}#FOLDER#{folder_id}", f"FILE#{file_id}")


def folder_file_name(tenant: str, folder_id: str, name: str) -> Key:
    return Key(f"{checked(tenant)}#FOLDER#{folder_id}", f"NAME#{name}")


def folder_agent(tenant: str, folder_id: str, agent_id: str) -> Key:
    return Key(f"{checked(tenant)}#FOLDER#{folder_id}", f"AGENT#{agent_id}")


def provider(tenant: str, provider_id: str) -> Key:
    return Key(f"{checked(tenant)}#PROVIDERS", provider_id)


def provider_name(tenant: str, name: str) -> Key:
    return Key(f"{checked(tenant)}#PROVIDERNAMES", name)


def sandbox(tenant: str) -> Key:
    return Key(f"{checked(tenant)}#SANDBOX", "LOCAL")


def desk(tenant: str, agent_id: str) -> Key:
    return Key(f"{checked(tenant)}#AGENT#{agent_id}", "DESK")


def unindexed(tenant: str, place: str, state: str, first_id: str, *, anew: bool = False) -> Key:
    """`place`: an archive, a folder, or the agent of the log. `state`: `search_outbox.State`. `anew`: written by an index
    build.
    """
    return Key(f"{checked(tenant)}#TAIL#{place}", f"{state}#{first_id}{'#ANEW' if anew else ''}")


def gone(tenant: str, identifier: str) -> Key:
    return Key(f"{checked(tenant)}#GONE#{identifier}", GONE)


def reindexing(tenant: str) -> Key:
    return Key(f"{checked(tenant)}#REINDEX", "STATE")


def doubles_collected(tenant: str) -> Key:
    return Key(f"{checked(tenant)}#REINDEX", "DOUBLES")


def api_key_row(tenant: str, key_id: str) -> Key:
    return Key(f"{checked(tenant)}#APIKEYS", key_id)


def socket_row(tenant: str, connection_id: str) -> Key:
    return Key(f"{checked(tenant)}#SOCKETS", connection_id)


def blob_collection() -> Key:
    return Key("COLLECTION", "BLOBS")


def is_unindexed(key: Key) -> bool:
    """Whether an item is a pointer of the search outbox."""
    return key.pk.split("#", 2)[1:2] == ["TAIL"]


def due(identifier: str, due_ms: int) -> dict[str, str]:
    """The attributes that put an item into the index DUE; `due_ms` in milliseconds since 1970."""
    return {"due_pk": f"DUE#{shard_of('DUE', identifier)}", "due_sk": f"{due_ms:013d}#{identifier}"}


def due_partitions() -> list[str]:
    """The partitions of the index DUE."""
    return [f"DUE#{shard}" for shard in shards("DUE")]


def due_before(now_ms: int) -> str:
    """The exclusive upper bound of the sort keys in the index DUE that are due at `now_ms`."""
    return f"{now_ms + 1:013d}"


def listed(tenant: str, noun: str, identifier: str) -> dict[str, str]:
    """The attributes that put an item into the tenant's sharded list of a noun."""
    return {"list_pk": _list_partition(tenant, noun, shard_of(noun, identifier)), "list_sk": identifier}


def listed_at(tenant: str, noun: str, at: str, identifier: str) -> dict[str, str]:
    """The attributes that put an item into a sharded list in the order of a time."""
    return {"list_pk": _list_partition(tenant, noun, shard_of(noun, identifier)), "list_sk": timed(at, identifier)}


def timed(at: str, identifier: str) -> str:
    """The sort key in a list in the order of a time."""
    return f"{at}#{identifier}"


def conversation_place(tenant: str, noun: str, agent_id: str, conversation_id: str, time: str) -> tuple[str, str]:
    """The place of a conversation in a list of its agent's in the order of a time. Those without a time ("") have a list of their
    own.
    """
    if not time:
        return f"{checked(tenant)}#{noun}NEVER#{agent_id}", conversation_id
    return f"{checked(tenant)}#{noun}#{agent_id}", timed(time, conversation_id)


def due_listed_at(tenant: str, noun: str, at: str, identifier: str) -> dict[str, str]:
    """As `listed_at`, in the index DUE; in the order of the ids if `at` is ""."""
    sk = timed(at, identifier) if at else identifier
    return {"due_pk": _list_partition(tenant, noun, shard_of(noun, identifier)), "due_sk": sk}


def list_partitions(tenant: str, noun: str) -> list[str]:
    """The partitions of a tenant's sharded list."""
    return [_list_partition(tenant, noun, shard) for shard in shards(noun)]


def list_partitions_of(tenant: str, noun: str, identifier: str) -> list[str]:
    """The partitions of a tenant's sharded list in which an id may stand. More than one: an older version may have written it."""
    return [_list_partition(tenant, noun, shard) for shard in known_shards_of(noun, identifier)]


def _list_partition(tenant: str, noun: str, shard: str) -> str:
    return f"{checked(tenant)}#{noun}#{shard}"


def tenant_of(pk: str) -> str:
    """The tenant that a partition key belongs to."""
    return pk.split("#", 1)[0]


def last_part(text: str) -> str:
    """The id at the end of a key part."""
    return text.rsplit("#", 1)[1]
