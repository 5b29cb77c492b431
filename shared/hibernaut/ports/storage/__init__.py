"""Ports of what is stored: the table, blobs, uploads, ciphers, secrets."""
