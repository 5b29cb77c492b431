"""OpenAI's Chat Completions and Responses, and compatible servers."""
