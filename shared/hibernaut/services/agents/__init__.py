"""Agents and their parts: create, find, update, delete."""
