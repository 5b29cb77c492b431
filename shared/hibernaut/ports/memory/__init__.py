"""Ports of search and files: the memory index, embedders, readers of files, ingestion."""
