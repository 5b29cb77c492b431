"""Makes the agents of a template's version: fills its variables, imports its agent file, and records the origin on the agents."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.agent_file import ImportOptions
from hibernaut.schemas.agents.template import CreateTemplateAgents, InitialMessage, StoredTemplate, TemplateAgents
from hibernaut.schemas.base import JsonObject
from hibernaut.schemas.errors import InvalidArgument
from hibernaut.schemas.limits import LONGEST_TEXT
from hibernaut.services.agent_documents.agent_documents import AgentDocuments
from hibernaut.services.records import Records, by_key

_VARIABLE = re.compile(r"\{\{\s*([A-Za-z0-9_]+)\s*\}\}")


class TemplateAgentsFactory:
    """Makes agents from agent files of templates."""

    def __init__(self, records: Records, documents: AgentDocuments) -> None:
        self._records = records
        self._documents = documents

    def make(
        self,
        template: StoredTemplate,
        document: JsonObject,
        request: CreateTemplateAgents,
        *,
        user: str | None,
        key_id: str | None,
    ) -> TemplateAgents:
        """Make the agents of a document, which is changed. Raises: NotFound (an identity), InvalidArgument."""
        identities = self._records.existing_identity_ids(request.identity_ids or ())
        for block in document.get("blocks") or ():
            block["value"] = filled(str(block.get("value") or ""), request.memory_variables or {})
        if request.initial_message_sequence:
            begin(document["agents"][0], request.initial_message_sequence)
        options = ImportOptions(
            override_existing_tools=template.update_existing_tools,
            append_copy_suffix=False,
            name=request.agent_name,
            project_id=template.project_id,
            secrets=request.tool_variables,
        )
        local_ids = [str(agent["id"]) for agent in document["agents"]]
        agent_ids = self._documents.import_(document, options, user=user, key_id=key_id).agent_ids
        deployment = self._records.ids.new("deployment")

        def label(agent: StoredAgent, entity: str) -> StoredAgent:
            return agent.model_copy(
                update={
                    "tags": list(dict.fromkeys([*agent.tags, *(request.tags or ())])),
                    "identity_ids": identities,
                    "template_id": template.id,
                    "base_template_id": template.id,
                    "deployment_id": deployment,
                    "entity_id": entity,
                }
            )

        links = [self._records.identities.must_exist(one) for one in identities]
        for agent_id, entity in zip(agent_ids, local_ids, strict=True):
            self._records.change_agent(agent_id, lambda agent, entity=entity: (label(agent, entity), links), user, by_key(key_id))  # type: ignore[misc]
        return TemplateAgents(agent_ids=agent_ids, deployment_id=deployment)


def filled(text: str, variables: dict[str, str]) -> str:
    """The text with the values of the variables in place of `{{name}}`. A variable without a value stays.

    Raises: InvalidArgument if it would be longer than any block.
    """
    size = len(text) + sum(
        len(variables[found[1]]) - len(found[0]) for found in _VARIABLE.finditer(text) if found[1] in variables
    )
    if size > LONGEST_TEXT:
        raise InvalidArgument(
            f"INVALID_ARGUMENT: With its variables, a block's value would have {size} characters; at most {LONGEST_TEXT} are possible."
        )
    return _VARIABLE.sub(lambda found: variables.get(found[1], found[0]), text)


def variables_of(document: JsonObject) -> list[str]:
    """The names of the variables in the values of the document's blocks, each once, in their order."""
    values = (str(block.get("value") or "") for block in document.get("blocks") or ())
    return list(dict.fromkeys(name for value in values for name in _VARIABLE.findall(value)))


def begin(agent: JsonObject, messages: Sequence[InitialMessage]) -> None:
    """Put messages into the document of an agent, all of them in its window."""
    rows = [
        {"type": "message", "id": f"message-{number}", "role": one.role, "content": [{"type": "text", "text": one.content}]}
        for number, one in enumerate(messages)
    ]
    for row, one in zip(rows, messages, strict=True):
        row |= one.model_dump(include={"name", "otid"}, exclude_none=True)
    agent["messages"], agent["in_context_message_ids"] = rows, [row["id"] for row in rows]
