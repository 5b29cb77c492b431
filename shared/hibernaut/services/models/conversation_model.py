"""The model of a conversation: the agent's, unless the conversation sets its own (RT 15)."""

from __future__ import annotations

from hibernaut.domain.models.model_settings import reasoning_defaults, with_settings
from hibernaut.ports.model import Models
from hibernaut.schemas.agents.agent import StoredAgent
from hibernaut.schemas.agents.conversation_record import StoredConversation
from hibernaut.schemas.models.llm_config import LLMConfig


def agent_in(agent: StoredAgent, record: StoredConversation | None, models: Models) -> StoredAgent:
    """The agent with the model of this conversation. The caller must not store it.

    Raises: InvalidArgument and NotFound for the conversation's model handle.
    """
    if record is None:
        return agent
    config = chosen(agent, record, models)
    return agent if config is agent.llm_config else agent.model_copy(update={"llm_config": config})


def chosen(agent: StoredAgent, record: StoredConversation, models: Models) -> LLMConfig:
    """The agent's model configuration with the conversation's overrides. An overriding model gets the smaller of its own context
    window and the agent's, unless the conversation sets the context window too. Thoughts are arguments of calls only where they
    are for the agent. Raises: InvalidArgument and NotFound for the model handle.
    """
    if (record.model, record.model_settings, record.context_window_limit) == (None, None, None):
        return agent.llm_config
    config = agent.llm_config
    if record.model is not None:
        config = models.config(record.model)
        config = config.model_copy(update={"context_window": min(config.context_window, agent.llm_config.context_window)})
    if record.model_settings is not None:
        config = with_settings(config, record.model_settings)
    if record.context_window_limit is not None:
        config = config.model_copy(update={"context_window": record.context_window_limit})
    return reasoning_defaults(config, agent.agent_type, simulated=bool(agent.llm_config.put_inner_thoughts_in_kwargs))
