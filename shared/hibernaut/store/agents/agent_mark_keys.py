"""The keys of the partition t#AGENTSBY (`store.agents.agent_marks`). Any text of a caller becomes a part of a key, and keys sort
as texts do.

    pk           sk                what                                read by
    t#AGENTSBY   FACET#text#agent  mark of an agent                    by name, tag, project …; list of tags
    t#AGENTSBY   BUILD             progress of marking agents (DUE)    lists of agents; the sweep
"""

from __future__ import annotations

import hashlib

from hibernaut.ports.storage.table import Key
from hibernaut.store.table import keys
from hibernaut.store.table.tenants import checked

END = "\x1e"
"""The end of a text in a key. It sorts before every character of an escaped text, so a text sorts before its continuations."""
_ESCAPE = "\x1f"
LONGEST = 900
"""The longest escaped text, in bytes of UTF-8, that a key holds verbatim. Of a longer one the key holds the beginning and a hash,
so long texts with the same beginning sort by their hashes."""
_BEGINNING = 800


def agent_mark(tenant: str, facet: str, text: str, agent_id: str) -> Key:
    return Key(f"{checked(tenant)}#AGENTSBY", f"{agent_marks(facet, text)}{agent_id}")


def agent_marks(facet: str, text: str) -> str:
    """The beginning of the sort keys of all marks with this text. The marks of a facet sort by their texts, then by agent id."""
    return f"{facet}#{key_text(text)}{END}#"


def agent_mark_build(tenant: str) -> Key:
    return Key(f"{checked(tenant)}#AGENTSBY", keys.BUILD)


def key_text(text: str) -> str:
    """The text for a key. Control characters and lone surrogates, which keys or their engines may not take, are escaped."""
    escaped = "".join(one if one >= " " and not "\ud800" <= one <= "\udfff" else f"{_ESCAPE}{ord(one):04x}" for one in text)
    encoded = escaped.encode()
    if len(encoded) <= LONGEST:
        return escaped
    beginning = encoded[:_BEGINNING].decode(errors="ignore")
    return f"{beginning}{_ESCAPE}{hashlib.sha256(encoded).hexdigest()}"
