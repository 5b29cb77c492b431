"""OpenAI's Chat Completions, and compatible servers."""
