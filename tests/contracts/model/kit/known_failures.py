"""Scenarios that fail on a wire because of a known defect. Whoever mends the defect takes the line out: a test that passes fails here.

The defects: 1 OpenAI's reasoning models with tools on Chat Completions. 2 Claude's thinking is bound to what stands before it. 3 the order
of a reply's blocks is lost. 4 sampling parameters on new models and API versions. 5 reasoning is not sent back on Chat Completions.
6 models are missing from lists. 7 forced tools and reasoning switched off. 8 Ollama's window. 9 refusals are not understood. 10 streams.
11 strict schemas. 12 parameters that a server refuses, a foreign model's history, images in errors, too many tools.
13 the beginning of a request changes within a window: the system message is compiled anew after an edit, or tools are left out.
"""

from __future__ import annotations

KNOWN_FAILURES: dict[str, dict[str, int]] = {}
"""Provider -> scenario -> the defect that shows first."""
