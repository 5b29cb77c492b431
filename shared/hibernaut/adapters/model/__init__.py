"""Engines of the `Model` port: OpenAI's Chat Completions, Anthropic's Messages, and the scripted demo; and the catalogue that names them.

Each provider's wire format stands in its own module. What they share is how a log's rows become turns (`history`), how bytes are read
(`wire`) and which error a refusal is (`refusals`).
"""
