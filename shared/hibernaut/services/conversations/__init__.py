"""Conversations: create, find, update, delete."""
