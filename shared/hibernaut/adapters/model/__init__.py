"""Engines of the `Model` port: OpenAI's Chat Completions, Anthropic's Messages, and the scripted demo; and the catalogue of
providers.

Each provider's wire format is in a module of its own. They share the conversion of rows to turns (`history`), the reading of
responses (`http_stream`) and the mapping of errors (`provider_errors`).
"""
