"""Tests of `domain.agent_files`."""
